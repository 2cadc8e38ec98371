/* What this process uses now. */

#ifndef USAGE_H_INCLUDED
#define USAGE_H_INCLUDED

#include <stddef.h>

long usage_resident_kib(void);
size_t usage_shared_bytes(void); /* mapped */
int usage_descriptors(void);

#endif /* USAGE_H_INCLUDED */
