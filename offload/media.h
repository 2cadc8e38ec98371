/*
 * The media of this build.  They stand in the order in which they are tried: one that is
 * unavailable is followed by the next that reaches all ranks.
 */
#ifndef PCOLL_MEDIA_H
#define PCOLL_MEDIA_H

#include "offload/medium.h"

extern const struct pcoll_medium *const pcoll_media[];
extern const int pcoll_nmedia;

#define PCOLL_MEDIA_BYTES 256 /* for the names of all media, in messages */

/* The number of a medium in the table, or PCOLL_NONE: of that name; that carries plans where nobody
 * asks for another; to try when `number` is unavailable. */
int pcoll_media_find(const char *name);
int pcoll_media_auto(int one_node, const char *provider);
int pcoll_media_next(int number, int one_node);

/* Can it carry plans between these ranks at all? */
int pcoll_media_reaches(const struct pcoll_medium *medium, int one_node);

/* "ofi_trigger, ofi_rma, shm"; returns `text`. */
const char *pcoll_media_names(char text[PCOLL_MEDIA_BYTES]);

/* As the functions of each medium. */
void pcoll_media_poll(void);
int pcoll_media_lingering(void);
void pcoll_media_finalize(void);

#endif /* PCOLL_MEDIA_H */
