#include "tools/gnuplot.h"

#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

enum { PATH_BYTES = 4096 };

bool gnuplot_write(const char *folder, const char *name, const char *suffix,
                   void (*write)(const void *what, FILE *out), const void *what)
{
    char path[PATH_BYTES];
    FILE *out;
    bool good;

    snprintf(path, sizeof(path), "%s/%s.%s", folder, name, suffix);
    out = fopen(path, "w");
    if (out)
        write(what, out);
    good = out && !ferror(out);
    if (out)
        good = fclose(out) == 0 && good;
    if (!good)
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return good;
}

bool gnuplot_run(const char *folder, const char *name)
{
    char script[PATH_BYTES];
    char *const arguments[] = {
        "sh", "-c", "cd \"$1\" && exec gnuplot \"$2\"", "sh", (char *)folder, script, NULL};
    int status = -1;
    pid_t child;

    snprintf(script, sizeof(script), "%s.gp", name);
    if (posix_spawnp(&child, "sh", NULL, NULL, arguments, environ) == 0 &&
        waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    fprintf(stderr,
            "%s: no pictures because gnuplot failed (Debian: gnuplot-nox); run later: gnuplot %s\n",
            folder, script);
    return false;
}
