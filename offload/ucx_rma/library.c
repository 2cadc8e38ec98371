/* Loading UCX; the contract is in library.h. */
#include "offload/ucx_rma/library.h"

#include "offload/ucx_rma/foreign.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libucp.so.0"
/* The first version whose active messages have headers and may complete at once. */
#define MIN_MAJOR 1
#define MIN_MINOR 11

struct pcoll_ucx pcoll_ucx;

static bool is_loaded;

static void report(const struct pcoll_bootstrap *bootstrap, const char *what)
{
    char text[300];

    snprintf(text, sizeof(text), "UCX: %.280s", what);
    bootstrap->report(bootstrap->context, text);
}

/* UCX takes signals and malloc over unless it is told not to before it starts, and there is no
 * other way to tell. */
void pcoll_ucx_set_environment(void)
{
    setenv("UCX_HANDLE_ERRORS", "none", 0);
    setenv("UCX_MEM_EVENTS", "no", 0);
    setenv("UCX_WARN_UNUSED_ENV_VARS", "no", 0);
    pcoll_ucx_set_segments();
}

/* Returns the name of a function that the library lacks, or NULL. */
static const char *find_functions(void *library)
{
#define FIND(function)                                                                             \
    do {                                                                                           \
        void *found = dlsym(library, #function);                                                   \
        if (found == NULL)                                                                         \
            return #function;                                                                      \
        memcpy(&pcoll_ucx.function, &found, sizeof(found));                                        \
    } while (0);
    PCOLL_UCX_FUNCTIONS(FIND)
#undef FIND
    return NULL;
}

static bool is_too_old(void)
{
    unsigned major, minor, release;

    pcoll_ucx.ucp_get_version(&major, &minor, &release);
    return major < MIN_MAJOR || (major == MIN_MAJOR && minor < MIN_MINOR);
}

enum pcoll_result pcoll_ucx_load(const struct pcoll_bootstrap *bootstrap)
{
    const char *missing;
    char text[200];
    void *library;

    if (is_loaded)
        return PCOLL_OK;
    library = dlopen(LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    if (library == NULL) {
        pcoll_ucx_set_environment();
        library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    }
    if (library == NULL) {
        report(bootstrap, dlerror());
        return PCOLL_ERR_INVALID;
    }
    missing = find_functions(library);
    if (missing == NULL && !is_too_old()) {
        is_loaded = true;
        return PCOLL_OK;
    }
    if (missing != NULL)
        snprintf(text, sizeof(text), LIBRARY " has no %s: version %d.%d or later is needed",
                 missing, MIN_MAJOR, MIN_MINOR);
    else
        snprintf(text, sizeof(text), "version %s is too old: %d.%d or later is needed",
                 pcoll_ucx.ucp_get_version_string(), MIN_MAJOR, MIN_MINOR);
    report(bootstrap, text);
    dlclose(library);
    return PCOLL_ERR_INVALID;
}
