/* The frame of the test programs for other languages: what frame.f90 declares in Fortran. */

#ifndef GLUE_H_INCLUDED
#define GLUE_H_INCLUDED

#ifdef __cplusplus
extern "C" {
#endif

void frame_begin(void);  /* before MPI_Init: reads the options */
void frame_attach(void); /* after it */
void frame_want(void);   /* before an init, which must create what -want says; frame_got after it */
void frame_got(const char *name);
void frame_fail(const char *name, int step);
void frame_delay(void);
void frame_sum(void); /* before MPI_Finalize */
int frame_end(void);  /* after it: the result */

#ifdef __cplusplus
}
#endif

#endif /* GLUE_H_INCLUDED */
