#include "usage.h"

#include "check.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

long usage_resident_kib(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1)
        check_fail(__FILE__, __LINE__, "no /proc/self/statm");
    if (file != NULL)
        fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

size_t usage_shared_bytes(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long from, to;
    char line[512];
    size_t bytes = 0;

    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
        if (strstr(line, " rw-s ") != NULL && sscanf(line, "%lx-%lx", &from, &to) == 2)
            bytes += to - from;
    if (maps != NULL)
        fclose(maps);
    return bytes;
}

int usage_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;

    while (folder != NULL && readdir(folder) != NULL)
        count++;
    if (folder != NULL)
        closedir(folder);
    return count;
}
