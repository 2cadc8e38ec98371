/* Reading MPI_T performance variables, and looking for control variables. One session serves the
 * whole run. A handle is bound at first use, and its counter counts from then on. */

#include "check.h"

enum { HANDLES = 16 };

struct handle {
    char name[64];
    int index;
    MPI_T_pvar_handle handle;
};

static MPI_T_pvar_session session;
static struct handle handles[HANDLES];
static int used;

static void open_session(void)
{
    int provided;

    MPI(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    MPI(MPI_T_pvar_session_create(&session));
}

/* Size in bytes of the variable's value; 0 if it is a variable that we do not read. */
static int describe(int index, char *name, int length, int *continuous)
{
    int verbosity, class, binding, readonly, atomic, size = 0, none = 0;
    MPI_Datatype type;
    MPI_T_enum values;

    if (MPI_T_pvar_get_info(index, name, &length, &verbosity, &class, &type, &values, NULL, &none,
                            &binding, &readonly, continuous, &atomic) != MPI_SUCCESS ||
        binding != MPI_T_BIND_NO_OBJECT || type == MPI_DATATYPE_NULL)
        return 0;
    MPI_Type_size(type, &size);
    return size;
}

static struct handle *bind(const char *name)
{
    char found[64];
    int count = 0, one, continuous;
    struct handle *h = &handles[used];

    MPI_T_pvar_get_num(&count);
    for (int i = 0; i < count && used < HANDLES; i++) {
        if (describe(i, found, sizeof(found), &continuous) == 0 || strcmp(found, name) != 0)
            continue;
        snprintf(h->name, sizeof(h->name), "%s", name);
        h->index = i;
        MPI(MPI_T_pvar_handle_alloc(session, i, NULL, &h->handle, &one));
        if (!continuous)
            MPI(MPI_T_pvar_start(session, h->handle));
        used++;
        return h;
    }
    return NULL;
}

static struct handle *lookup(const char *name)
{
    for (int i = 0; i < used; i++)
        if (strcmp(handles[i].name, name) == 0)
            return &handles[i];
    return bind(name);
}

long long check_pvar(const char *name)
{
    union {
        unsigned small;
        unsigned long long large;
    } value = {.large = 0};
    char found[64];
    int continuous;
    struct handle *h;

    if (session == NULL)
        open_session();
    h = lookup(name);
    if (h == NULL)
        return -1;
    MPI(MPI_T_pvar_read(session, h->handle, &value));
    return describe(h->index, found, sizeof(found), &continuous) == 4 ? (long long)value.small
                                                                      : (long long)value.large;
}

int check_has_cvar(const char *name)
{
    int index;

    if (session == NULL)
        open_session();
    return MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS;
}
