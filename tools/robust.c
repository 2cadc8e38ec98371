#include "tools/robust.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define FAR 5          /* median distances */
#define FEW 6          /* fewer samples have no interval of their own */
#define TWO_SIDED 0.98 /* half of 1.96 standard deviations of the binomial distribution */

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static double median(const double *sorted, int n)
{
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

/* The median of |sample - middle|. It walks inwards from both ends of `sorted`, the farther end
 * first. */
static double median_distance(const double *sorted, int n, double middle)
{
    int first = 0, last = n - 1;

    for (int i = 0; i < n / 2 && first < last; i++) {
        if (middle - sorted[first] > sorted[last] - middle)
            first++;
        else
            last--;
    }
    return fmax(middle - sorted[first], sorted[last] - middle);
}

struct estimate estimate_of(double *samples, int n)
{
    struct estimate estimate = {0};
    double middle, reach;
    int first = 0, last = n - 1, wide;

    qsort(samples, (size_t)n, sizeof(*samples), by_value);
    middle = median(samples, n);
    reach = FAR * median_distance(samples, n, middle);
    while (first < last && middle - samples[first] > reach)
        first++;
    while (last > first && samples[last] - middle > reach)
        last--;
    estimate.used = last - first + 1;
    estimate.rejected = n - estimate.used;
    estimate.value = median(samples + first, estimate.used);
    wide = estimate.used < FEW
               ? estimate.used
               : (int)ceil(estimate.used / 2.0 + TWO_SIDED * sqrt(estimate.used)) - 1;
    if (wide > estimate.used - 1)
        wide = estimate.used - 1;
    estimate.low = samples[last - wide];
    estimate.high = samples[first + wide];
    return estimate;
}

struct estimate estimate_join(const struct estimate *sittings, int n)
{
    struct estimate joined = {.low = sittings[0].low, .high = sittings[0].high};
    double values[16];
    const int count = n < 16 ? n : 16;

    for (int i = 0; i < count; i++) {
        values[i] = sittings[i].value;
        joined.low = fmin(joined.low, sittings[i].low);
        joined.high = fmax(joined.high, sittings[i].high);
        joined.used += sittings[i].used;
        joined.rejected += sittings[i].rejected;
    }
    qsort(values, (size_t)count, sizeof(*values), by_value);
    joined.value = median(values, count);
    return joined;
}

bool estimate_is_tight(const struct estimate *estimate, double relative, double absolute)
{
    const double half = (estimate->high - estimate->low) / 2;

    return half <= absolute || half <= relative * fabs(estimate->value);
}

double estimate_round(double number)
{
    char text[40];

    snprintf(text, sizeof(text), "%.4g", number);
    return strtod(text, NULL);
}
