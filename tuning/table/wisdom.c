/*
 * The new text is written to FILE.new, which then takes FILE's name. Whoever has created FILE.new
 * is alone, on all file systems, also those without locks; it is removed after a failure. A job
 * that dies meanwhile leaves it behind, and a message says so to the next ones.
 */
#include "tuning/table/wisdom.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_LINKS = 40 };
#define WAIT_SECONDS 5.0
#define NAP_NSEC 5000000

/* ---- reading ---- */

static bool is_absent(const char *path)
{
    return access(path, F_OK) != 0 && errno == ENOENT;
}

static enum pcoll_result read_file(const char *path, FILE *report, struct pcoll_table **table_p)
{
    const struct pcoll_identity here = pcoll_identity_here();
    struct pcoll_table *table = NULL;
    char *text = NULL;
    enum pcoll_result result = pcoll_table_read(path, report, &text);

    if (result == PCOLL_OK)
        result = pcoll_table_parse(path, text, report, &table);
    free(text);
    if (result != PCOLL_OK)
        return result;
    if (pcoll_identity_compare(pcoll_table_identity(table), &here, path, "ignored", report) > 0) {
        pcoll_table_destroy(table);
        return PCOLL_ERR_INVALID;
    }
    *table_p = table;
    return PCOLL_OK;
}

/* In reverse order, as each rule goes before all others. */
static enum pcoll_result prefer_all(struct pcoll_table *table, const struct pcoll_rule *rules,
                                    size_t n)
{
    enum pcoll_result result = PCOLL_OK;

    while (n-- > 0 && result == PCOLL_OK)
        result = pcoll_table_prefer(table, &rules[n]);
    return result;
}

enum pcoll_result pcoll_wisdom_read(const char *path, struct pcoll_table *table, FILE *report)
{
    struct pcoll_table *wisdom = NULL;
    const struct pcoll_rule *rules;
    enum pcoll_result result;
    size_t n;

    if (is_absent(path))
        return PCOLL_OK;
    result = read_file(path, report, &wisdom);
    if (result != PCOLL_OK)
        return result;
    rules = pcoll_table_rules(wisdom, &n);
    result = prefer_all(table, rules, n);
    pcoll_table_destroy(wisdom);
    return result;
}

/* ---- writing ---- */

static enum pcoll_result sign(struct pcoll_table *table)
{
    const struct pcoll_identity here = pcoll_identity_here();
    struct pcoll_identity *identity = pcoll_table_identity(table);

    memcpy(identity->processor, here.processor, sizeof(here.processor));
    memcpy(identity->pcoll, here.pcoll, sizeof(here.pcoll));
    identity->cores = here.cores;
    return pcoll_table_describe(table, "The rules that name a medium were found by races "
                                       "(MPIR_CVAR_COLL_OFFLOAD_WISDOM).");
}

/* *table_p becomes what the file is to hold, also after a failure. A new file has no rules of other
 * tables: these may change, and what a wisdom file holds goes before them. */
static enum pcoll_result compose(const char *path, const struct pcoll_rule *rules, size_t n,
                                 FILE *report, struct pcoll_table **table_p)
{
    enum pcoll_result result = PCOLL_OK;

    if (is_absent(path))
        pcoll_table_drop_rules(*table_p);
    else
        result = read_file(path, report, table_p);
    if (result == PCOLL_OK)
        result = prefer_all(*table_p, rules, n);
    return result == PCOLL_OK ? sign(*table_p) : result;
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The descriptor, or -1: see errno. */
static int create(const char *path)
{
    const struct timespec nap = {0, NAP_NSEC};
    const double begin = seconds();
    int fd;

    for (;;) {
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST || seconds() - begin >= WAIT_SECONDS)
            return fd;
        nanosleep(&nap, NULL);
    }
}

/* The text is on the disk, with the permissions of the file that it replaces. */
static bool write_all(const struct pcoll_table *table, int fd, const char *replaced)
{
    FILE *out = fdopen(fd, "w");
    struct stat status;
    bool good;
    int error;

    if (!out) {
        close(fd);
        return false;
    }
    if (stat(replaced, &status) == 0)
        (void)!fchmod(fd, status.st_mode & 0777);
    good = pcoll_table_write(table, out) == PCOLL_OK && fsync(fd) == 0;
    error = errno;
    if (fclose(out) == 0)
        errno = error;
    else
        good = false;
    return good;
}

static enum pcoll_result fail(const char *path, FILE *report)
{
    fprintf(report, "%s: %s\n", path,
            errno == EEXIST ? "another job is writing this, or has died (if none is, remove it)"
                            : strerror(errno));
    return PCOLL_ERR_SYSTEM;
}

/* With the draft, which exists. */
static enum pcoll_result write_file(const char *path, const char *draft, int fd,
                                    struct pcoll_table *base, const struct pcoll_rule *rules,
                                    size_t n, FILE *report)
{
    struct pcoll_table *table = base;
    enum pcoll_result result = compose(path, rules, n, report, &table);

    if (result != PCOLL_OK)
        close(fd);
    else if (!write_all(table, fd, path) || rename(draft, path) != 0)
        result = fail(draft, report);
    if (result != PCOLL_OK)
        unlink(draft);
    if (table != base)
        pcoll_table_destroy(table);
    return result;
}

/* The file behind symbolic links, which need not exist. Returns false if a path is too long. */
static bool follow(const char *path, char file[PATH_MAX])
{
    char link[PATH_MAX];
    size_t used = 0; /* by the folder of a link that is relative to it */

    for (int i = 0; i <= MAX_LINKS; i++) {
        ssize_t length;

        if (snprintf(file + used, PATH_MAX - used, "%s", path) >= (int)(PATH_MAX - used))
            return false;
        length = readlink(file, link, sizeof(link) - 1);
        if (length < 0)
            break;
        link[length] = '\0';
        path = link;
        used = *link != '/' && strrchr(file, '/') ? (size_t)(strrchr(file, '/') + 1 - file) : 0;
    }
    return true;
}

enum pcoll_result pcoll_wisdom_merge(const char *path, struct pcoll_table *base,
                                     const struct pcoll_rule *rules, size_t n, FILE *report)
{
    char file[PATH_MAX], draft[PATH_MAX + 8];
    int fd = -1;

    if (!follow(path, file)) {
        errno = ENAMETOOLONG;
        return fail(path, report);
    }
    snprintf(draft, sizeof(draft), "%s.new", file);
    if (is_absent(file) || access(file, W_OK) == 0)
        fd = create(draft);
    if (fd >= 0)
        return write_file(file, draft, fd, base, rules, n, report);
    return fail(errno == EEXIST ? draft : file, report);
}
