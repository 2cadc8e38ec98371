/* The two mutexes. */

#include "lock.h"

pthread_mutex_t MPIDI_PCOLL_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t MPIDI_PCOLL_mutex_of_lists = PTHREAD_MUTEX_INITIALIZER;
