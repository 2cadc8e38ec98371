/*
 * The media of this build, in the order in which they are tried: if one is unavailable, the next
 * of the same library, or of none, that reaches all ranks follows. A network without a library,
 * which only the user can have named, is followed by what is used if the user names none.
 */
#ifndef PCOLL_MEDIA_H
#define PCOLL_MEDIA_H

#include <stdbool.h>

#include "offload/medium.h"

extern const struct pcoll_medium *const pcoll_media[];
extern const int pcoll_nmedia;

#define PCOLL_MEDIA_BYTES 256 /* enough for the names of all media, in messages */

/* The number in the table of the medium with that name, or PCOLL_NONE. */
int pcoll_media_find(const char *name);

/* The number of the medium that is used if the user names none, or PCOLL_NONE. */
int pcoll_media_auto(bool one_node, const char *provider);

/* The number of the medium to try next if medium `number` is unavailable, or PCOLL_NONE. */
int pcoll_media_next(int number, bool one_node, const char *provider);

/* The wire of that medium, or of another one over the same library, or NULL. */
const struct pcoll_wire *pcoll_media_wire(const struct pcoll_medium *medium);

/* Returns whether the medium can carry plans between these ranks. */
bool pcoll_media_reaches(const struct pcoll_medium *medium, bool one_node);

/* Writes "ofi_trigger, ofi_rma, shm"; returns `text`. */
const char *pcoll_media_names(char text[PCOLL_MEDIA_BYTES]);

/* Poll all media. */
void pcoll_media_poll(void);

/* Returns how many unbound plans of all media are left for peers to unbind. */
int pcoll_media_lingering(void);

/* Destroy the unbound plans of all media, at the end of the process. */
void pcoll_media_finalize(void);

#endif /* PCOLL_MEDIA_H */
