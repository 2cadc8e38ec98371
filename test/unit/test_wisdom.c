/* Wisdom: rules that outlive a job. No rule of two writers is lost, and whatever goes wrong is
 * named and leaves the file as it was. */
#include "tuning/table/wisdom.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/unit/tables.h"
#include "test/unit/tap.h"

enum { NOBODY = 65534 };

/* A machine under load: naps take `stretch` times as long. */
static int stretch = 1, naps;

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    const long nsec = stretch * wanted->tv_nsec;
    const struct timespec nap = {wanted->tv_sec * stretch + nsec / 1000000000, nsec % 1000000000};

    naps++;
    return clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, left);
}

static char folder[] = "/tmp/pcoll-wisdom-XXXXXX";
static char file[64]; /* in that folder */
static char *message; /* of the last call */
static size_t message_bytes;

/* For a broadcast of so many bytes on so many ranks. */
static struct pcoll_rule rule_of(uint64_t nranks, uint64_t bytes)
{
    return (struct pcoll_rule){.coll = PCOLL_BCAST,
                               .ranks = {nranks, nranks},
                               .bytes = {bytes, bytes},
                               .medium = "shm",
                               .nodes = 1,
                               .level = PCOLL_LEVEL_SAME_CACHE,
                               .algorithm = pcoll_algorithm_find(PCOLL_BCAST, "eager"),
                               .params = {.radix = 2, .path = PCOLL_PATH_TEMP}};
}

static FILE *open_report(void)
{
    free(message);
    return open_memstream(&message, &message_bytes);
}

static enum pcoll_result merge(const char *path, const struct pcoll_rule *rules, size_t n)
{
    struct pcoll_table *base = tables_default();
    FILE *report = open_report();
    const enum pcoll_result result = pcoll_wisdom_merge(path, base, rules, n, report);

    fclose(report);
    pcoll_table_destroy(base);
    return result;
}

/* The number of rules that a table has after the file was read, and those of the file; -1: it was
 * refused. */
static int read_rules(const char *path, struct pcoll_table **table_p)
{
    struct pcoll_table *table = tables_good("least");
    FILE *report = open_report();
    const enum pcoll_result result = pcoll_wisdom_read(path, table, report);
    size_t n;

    fclose(report);
    pcoll_table_rules(table, &n);
    if (table_p)
        *table_p = table;
    else
        pcoll_table_destroy(table);
    return result == PCOLL_OK ? (int)n : -1;
}

static bool has_rule(const char *path, uint64_t nranks, uint64_t bytes)
{
    struct pcoll_table *table;
    const struct pcoll_rule *rules;
    bool found = false;
    size_t n;

    read_rules(path, &table);
    rules = pcoll_table_rules(table, &n);
    for (size_t i = 0; i < n; i++)
        found |= rules[i].coll == PCOLL_BCAST && rules[i].ranks[0] == nranks &&
                 rules[i].bytes[0] == bytes && rules[i].bytes[1] == bytes &&
                 rules[i].level == PCOLL_LEVEL_SAME_CACHE;
    pcoll_table_destroy(table);
    return found;
}

static bool exists(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0;
}

static bool has_draft(const char *path)
{
    char draft[80];

    snprintf(draft, sizeof(draft), "%s.new", path);
    return exists(draft);
}

static void put_text(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");

    if (!out || fputs(text, out) < 0 || fclose(out) != 0)
        exit(2);
}

static char *text_of(const char *path)
{
    char *text = NULL;

    return pcoll_table_read(path, stdout, &text) == PCOLL_OK ? text : strdup("");
}

/* ---- what is kept ---- */

static void test_keep(void)
{
    struct pcoll_rule rules[] = {rule_of(2, 8), rule_of(2, 64)};
    struct pcoll_identity here = pcoll_identity_here();
    struct pcoll_table *table = NULL;
    char *text, *said;
    int before;
    bool good;

    tap_ok(read_rules(file, NULL) == 0 && message_bytes == 0 && !exists(file),
           "without a file there are no rules and no message");
    tap_ok(merge(file, rules, 2) == PCOLL_OK && !has_draft(file), "a new file");
    before = read_rules(file, NULL);
    text = text_of(file);
    good = tables_parse(text, &table, &said) == PCOLL_OK;
    free(said);
    tap_ok(has_rule(file, 2, 8) && has_rule(file, 2, 64) && strstr(text, "ofi_rma") && good &&
               pcoll_table_machine(table, "shm"),
           "it is a tuning table with these rules");
    tap_ok(table && strcmp(pcoll_table_identity(table)->processor, here.processor) == 0 &&
               pcoll_table_identity(table)->cores == here.cores,
           "it names this machine");
    pcoll_table_destroy(table);
    free(text);
    rules[1] = rule_of(4, 8);
    tap_ok(merge(file, rules, 2) == PCOLL_OK && read_rules(file, NULL) == before + 1 &&
               has_rule(file, 2, 8) && has_rule(file, 2, 64) && has_rule(file, 4, 8),
           "later rules are added, the same one once");
}

/* The permissions of the file, and a link to it, remain. */
static void test_link(void)
{
    struct pcoll_rule rule = rule_of(5, 8);
    char link_name[80];
    struct stat status;

    snprintf(link_name, sizeof(link_name), "%s/link", folder);
    tap_ok(symlink(file, link_name) == 0 && chmod(file, 0640) == 0 &&
               merge(link_name, &rule, 1) == PCOLL_OK && lstat(link_name, &status) == 0 &&
               S_ISLNK(status.st_mode) && has_rule(file, 5, 8),
           "a link stays a link");
    tap_ok(stat(file, &status) == 0 && (status.st_mode & 0777) == 0640, "permissions stay");
}

/* The file is made where links lead, the last one relative to its own folder. */
static void test_link_to_nothing(void)
{
    struct pcoll_rule rule = rule_of(6, 8);
    char first[80], second[80], made[80], loop[80];
    struct stat status;

    snprintf(first, sizeof(first), "%s/first", folder);
    snprintf(second, sizeof(second), "%s/below", folder);
    snprintf(made, sizeof(made), "%s/below/made", folder);
    mkdir(second, 0700);
    snprintf(second, sizeof(second), "%s/below/second", folder);
    tap_ok(symlink("below/second", first) == 0 && symlink("made", second) == 0 &&
               merge(first, &rule, 1) == PCOLL_OK && lstat(first, &status) == 0 &&
               S_ISLNK(status.st_mode) && lstat(second, &status) == 0 && S_ISLNK(status.st_mode) &&
               lstat(made, &status) == 0 && S_ISREG(status.st_mode) && has_rule(made, 6, 8) &&
               !has_draft(first) && !has_draft(made),
           "links to a file that does not exist stay links");
    snprintf(loop, sizeof(loop), "%s/loop", folder);
    tap_ok(symlink("loop", loop) == 0 && merge(loop, &rule, 1) != PCOLL_OK &&
               strstr(message, "Too many levels") && !has_draft(loop),
           "a link to itself is named");
}

/* The file can be read however many rules there are. */
static void test_many(void)
{
    enum { MANY = PCOLL_TABLE_MAX_RULES + 100 };
    struct pcoll_rule *rules = calloc(MANY, sizeof(*rules));
    char path[80];

    snprintf(path, sizeof(path), "%s/many", folder);
    for (int i = 0; i < MANY; i++) {
        rules[i] = rule_of(INT32_MAX, UINT64_C(1000000000000000000) + (uint64_t)i);
        rules[i].nodes = rules[i].degree = rules[i].cores = INT32_MAX;
        rules[i].level = PCOLL_LEVEL_SAME_CACHE;
        rules[i].memory = PCOLL_MEMORY_PRIVATE;
        memset(rules[i].medium, '"', sizeof(rules[i].medium) - 1);
        rules[i].params.segment = UINT64_C(1000000000000000000);
        rules[i].params.slots = 65536;
        rules[i].params.rails = 64;
    }
    tap_ok(merge(path, rules, MANY) == PCOLL_OK &&
               read_rules(path, NULL) == PCOLL_TABLE_MAX_RULES &&
               has_rule(path, INT32_MAX, rules[0].bytes[0]) &&
               !has_rule(path, INT32_MAX, rules[MANY - 1].bytes[0]),
           "of too many rules the last ones go");
    free(rules);
}

/* ---- others at the same time ---- */

static bool all_end_well(int n)
{
    bool good = true;

    for (int i = 0; i < n; i++) {
        int status;

        good &= wait(&status) > 0 && status == 0;
    }
    return good;
}

static void test_writers(void)
{
    enum { WRITERS = 6, RULES = 15 };
    int found = 0;
    bool good;

    for (int w = 0; w < WRITERS; w++)
        if (fork() == 0) {
            for (int i = 0; i < RULES; i++) {
                const struct pcoll_rule rule = rule_of(100 + (uint64_t)w, (uint64_t)i);

                if (merge(file, &rule, 1) != PCOLL_OK)
                    _exit(1);
            }
            _exit(0);
        }
    good = all_end_well(WRITERS);
    for (int w = 0; w < WRITERS; w++)
        for (int i = 0; i < RULES; i++)
            found += has_rule(file, 100 + (uint64_t)w, (uint64_t)i);
    tap_ok(good && found == WRITERS * RULES, "no rule of %d writers is lost (%d)", WRITERS, found);
}

/* Somebody removes the draft whenever there is one. */
static void test_lost_draft(void)
{
    struct pcoll_rule rule = rule_of(50, 0);
    int kept = 0, lost = 0, wrong = 0;
    const pid_t self = getpid();
    char draft[80];
    pid_t remover;

    snprintf(draft, sizeof(draft), "%s.new", file);
    remover = fork();
    while (remover == 0 && getppid() == self)
        unlink(draft);
    if (remover == 0)
        _exit(0);
    for (int i = 0; i < 100; i++) {
        rule.bytes[0] = rule.bytes[1] = (uint64_t)i;
        if (merge(file, &rule, 1) == PCOLL_OK)
            kept++;
        else if (strstr(message, draft))
            lost++;
        wrong += !has_rule(file, 2, 8);
    }
    kill(remover, SIGKILL);
    waitpid(remover, NULL, 0);
    printf("# %d drafts lost\n", lost);
    tap_ok(kept + lost == 100 && wrong == 0, "a draft that is lost is named, and no file");
}

/* A job has died while it wrote. */
static void test_stale_draft(void)
{
    struct pcoll_rule rule = rule_of(51, 0);
    char draft[80];

    snprintf(draft, sizeof(draft), "%s.new", file);
    put_text(draft, "{");
    stretch = 40;
    naps = 0;
    tap_ok(merge(file, &rule, 1) != PCOLL_OK && strstr(message, draft) &&
               strstr(message, "another job") && exists(draft) && !has_rule(file, 51, 0),
           "another job's draft is named, and left");
    tap_ok(naps <= 26, "the wait counts time, not naps: %d of 0.2 s in 5 s", naps);
    stretch = 1;
    unlink(draft);
    tap_ok(merge(file, &rule, 1) == PCOLL_OK, "after it has been removed all is well");
}

/* ---- what cannot be read or written ---- */

/* Neither reading nor merging does anything to the path but say what is wrong. */
static void refused(const char *path, const char *what, const char *why)
{
    struct pcoll_rule rule = rule_of(2, 8);
    bool good = read_rules(path, NULL) == -1 && strstr(message, path) && strstr(message, why);

    if (!good)
        printf("# read: %s\n", message);
    good = merge(path, &rule, 1) != PCOLL_OK && strstr(message, path) && strstr(message, why) &&
           !has_draft(path) && good;
    if (!tap_ok(good, "%s", what))
        printf("# merge: %s\n", message);
}

static void test_no_files(void)
{
    char path[80];
    struct pcoll_rule rule = rule_of(2, 8);

    snprintf(path, sizeof(path), "%s/d", folder);
    mkdir(path, 0700);
    refused(path, "a directory", "directory");
    snprintf(path, sizeof(path), "%s/fifo", folder);
    mkfifo(path, 0600);
    refused(path, "a FIFO", "not a regular file");
    snprintf(path, sizeof(path), "%s/nothing/file", folder);
    tap_ok(merge(path, &rule, 1) != PCOLL_OK && strstr(message, "No such file"), "no such folder");
}

static void test_wrong_texts(void)
{
    char path[80], *text = text_of(file);
    static const char other[] =
        "{\"pcoll_tuning\": 1, \"machine\": {\"cores\": 12345},\n"
        "\"media\": {\"shm\": {\"L\": 1, \"o\": 1, \"g\": 1, \"G\": 1, \"rma\": 1, "
        "\"copy\": 1, \"call\": 1, \"turn\": 1}}}\n";
    char *after;

    snprintf(path, sizeof(path), "%s/text", folder);
    text[strlen(text) / 2] = '\0';
    put_text(path, text);
    refused(path, "a truncated file", "the table");
    after = text_of(path);
    tap_ok(strcmp(after, text) == 0, "it is as it was");
    free(after);
    put_text(path, "{\"pcoll_tuning\": 2}\n");
    refused(path, "another schema", "pcoll_tuning");
    put_text(path, "");
    refused(path, "an empty file", "the table");
    put_text(path, other);
    refused(path, "another machine", "12345 cores");
    after = text_of(path);
    tap_ok(strcmp(after, other) == 0, "it is as it was");
    free(after);
    free(text);
}

/* Run by a user who may read the folder only; root becomes nobody. */
static int without_permission(void)
{
    struct pcoll_rule rule = rule_of(60, 0);
    char path[80];
    bool good;

    if (geteuid() == 0 && setuid(NOBODY) != 0)
        return 2;
    good = merge(file, &rule, 1) != PCOLL_OK && strstr(message, file) &&
           strstr(message, "Permission denied");
    snprintf(path, sizeof(path), "%s/absent", folder);
    good = good && merge(path, &rule, 1) != PCOLL_OK && strstr(message, "Permission denied");
    return good ? 0 : 1;
}

static void test_permission(void)
{
    pid_t child;
    int status = 0;

    chmod(folder, 0555);
    chmod(file, 0444);
    child = fork();
    if (child == 0)
        _exit(without_permission());
    waitpid(child, &status, 0);
    tap_ok(status == 0, "no permission (%d)", status);
    chmod(folder, 0700);
    chmod(file, 0600);
    tap_ok(!has_rule(file, 60, 0), "nothing is written");
}

/* A file system of two pages, on which the file of one page has no room beside itself. */
static int on_a_full_disk(void)
{
    struct pcoll_rule rules[400];
    char path[80];
    int before;

    if (unshare(CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER)) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", folder, "tmpfs", 0, "size=16k") != 0)
        return 77;
    snprintf(path, sizeof(path), "%s/full", folder);
    for (int i = 0; i < 400; i++)
        rules[i] = rule_of(2, (uint64_t)i);
    if (merge(path, rules, 10) != PCOLL_OK)
        return 2;
    before = read_rules(path, NULL);
    if (merge(path, rules, 400) == PCOLL_OK || !strstr(message, "No space left") || has_draft(path))
        return 3;
    return read_rules(path, NULL) == before ? 0 : 4;
}

static void test_full_disk(void)
{
    const pid_t child = fork();
    int status = 0;

    if (child == 0)
        _exit(on_a_full_disk());
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        tap_ok(1, "a full disk # skip mounts nothing");
    else
        tap_ok(status == 0, "a full disk is named, and the file is as it was (%d)", status);
}

int main(void)
{
    char command[80];

    alarm(300);
    if (!mkdtemp(folder))
        return 2;
    snprintf(file, sizeof(file), "%s/wisdom.json", folder);
    test_keep();
    test_link();
    test_link_to_nothing();
    test_many();
    test_writers();
    test_lost_draft();
    test_stale_draft();
    test_no_files();
    test_wrong_texts();
    test_permission();
    test_full_disk();
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    free(message);
    return system(command) == 0 ? tap_done() : 2;
}
