/* Memory that peers may access, and their keys: a key is a length and what UCX packs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offload/ucx_rma/state.h"

struct mapped {
    struct pcoll_ucx_endpoint *endpoint;
    ucp_mem_h memory;
    void *key;
    size_t bytes;
};

static void release(struct mapped *mapped)
{
    if (mapped->key != NULL)
        pcoll_ucx.ucp_rkey_buffer_release(mapped->key);
    if (mapped->memory != NULL)
        pcoll_ucx.ucp_mem_unmap(mapped->endpoint->context, mapped->memory);
    free(mapped);
}

static ucs_status_t map_and_pack(struct mapped *mapped, void *address, size_t bytes)
{
    const ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .address = address,
        .length = bytes,
    };
    ucp_context_h context = mapped->endpoint->context;
    ucs_status_t status = pcoll_ucx.ucp_mem_map(context, &params, &mapped->memory);

    if (status == UCS_OK)
        status = pcoll_ucx.ucp_rkey_pack(context, mapped->memory, &mapped->key, &mapped->bytes);
    return status;
}

enum pcoll_result pcoll_ucx_map(struct pcoll_wire_endpoint *base,
                                const struct pcoll_bootstrap *bootstrap, const char *what,
                                void *address, size_t bytes, struct pcoll_wire_region *region)
{
    struct pcoll_ucx_endpoint *e = pcoll_ucx_endpoint_of(base);
    struct mapped *mapped = calloc(1, sizeof(*mapped));
    char text[120];
    ucs_status_t status;

    if (mapped == NULL)
        return PCOLL_ERR_NOMEM;
    mapped->endpoint = e;
    status = map_and_pack(mapped, address, bytes);
    if (status == UCS_OK && base->key_bytes != 0 &&
        sizeof(uint32_t) + mapped->bytes > base->key_bytes)
        status = UCS_ERR_BUFFER_TOO_SMALL;
    if (status != UCS_OK) {
        snprintf(text, sizeof(text), "cannot register %zu bytes of %s", bytes, what);
        release(mapped);
        return pcoll_ucx_complain(e, bootstrap, text, status);
    }
    *region = (struct pcoll_wire_region){
        .handle = mapped, .desc = mapped->memory, .base = (uint64_t)(uintptr_t)address};
    return PCOLL_OK;
}

void pcoll_ucx_unmap(struct pcoll_wire_endpoint *endpoint, struct pcoll_wire_region *region)
{
    (void)endpoint;
    if (region->handle != NULL)
        release(region->handle);
    *region = (struct pcoll_wire_region){0};
}

void pcoll_ucx_write_key(const struct pcoll_wire_region *region, void *key)
{
    const struct mapped *mapped = region->handle;
    const uint32_t bytes = (uint32_t)mapped->bytes;

    memcpy(key, &bytes, sizeof(bytes));
    memcpy((char *)key + sizeof(bytes), mapped->key, mapped->bytes);
}

enum pcoll_result pcoll_ucx_take_key(const struct pcoll_wire_way *way,
                                     const struct pcoll_bootstrap *bootstrap, const void *key,
                                     uint64_t *key_p)
{
    ucp_rkey_h rkey;
    ucs_status_t status = pcoll_ucx.ucp_ep_rkey_unpack(pcoll_ucx_peer_of(way)->ep,
                                                       (const char *)key + sizeof(uint32_t), &rkey);

    if (status != UCS_OK)
        return pcoll_ucx_complain(pcoll_ucx_endpoint_of(way->endpoint), bootstrap,
                                  "cannot use a peer's key", status);
    *key_p = (uint64_t)(uintptr_t)rkey;
    return PCOLL_OK;
}

void pcoll_ucx_drop_key(uint64_t key)
{
    pcoll_ucx.ucp_rkey_destroy((ucp_rkey_h)(uintptr_t)key);
}

enum pcoll_result pcoll_ucx_measure_key(struct pcoll_ucx_endpoint *e,
                                        const struct pcoll_bootstrap *bootstrap)
{
    struct pcoll_wire_region region = {0};
    void *page = NULL;
    enum pcoll_result result;

    if (posix_memalign(&page, 4096, 4096) != 0)
        return PCOLL_ERR_NOMEM;
    result = pcoll_ucx_map(&e->base, bootstrap, "a page", page, 4096, &region);
    if (result == PCOLL_OK)
        e->base.key_bytes = sizeof(uint32_t) + ((const struct mapped *)region.handle)->bytes;
    pcoll_ucx_unmap(&e->base, &region);
    free(page);
    return result;
}
