/* A rank that always sees late what has arrived, as on an overloaded machine: before each poll of
 * the provider `sockets` it sleeps while others continue. The library finds our epoll_wait before
 * libc's. Threads of the provider are not slowed: they wait in another way, or progress by
 * themselves. */

#include "adversity.h"
#include <dlfcn.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LATE_USEC = 3000 };

typedef int wait_function(int, struct epoll_event *, int, int);

static int slow;

int epoll_wait(int set, struct epoll_event *events, int room, int timeout)
{
    wait_function *real = (wait_function *)dlsym(RTLD_NEXT, "epoll_wait");

    if (slow && timeout == 0 && syscall(SYS_gettid) == getpid())
        usleep(LATE_USEC);
    return real(set, events, room, timeout);
}

void slow_down(void)
{
    slow = 1;
}
