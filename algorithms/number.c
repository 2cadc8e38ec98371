/* Logarithms of whole numbers; the contract is in number.h. */
#include "algorithms/number.h"

#include <assert.h>
#include <stdint.h>

int pcoll_log2_floor(int value)
{
    int n = 0;

    assert(value >= 1);
    while (value >>= 1)
        n++;
    return n;
}

int pcoll_log_ceil(int value, int radix)
{
    int n = 0;

    for (int64_t reach = 1; reach < value; reach *= radix)
        n++;
    return n;
}
