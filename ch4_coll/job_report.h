/* What a job got from its persistent collectives: counted and timed if the user wants a report, and
 * printed by MPI_Finalize. */

#ifndef JOB_REPORT_H_INCLUDED
#define JOB_REPORT_H_INCLUDED

#include "call.h"

/* Returns whether the user wants a report. */
bool MPIDI_PCOLL_job_wants_report(void);

/* Returns whether this process can take part in a report of all ranks of the job, and the user
 * wants one. */
bool MPIDI_PCOLL_job_may_report_all(void);

/* All ranks of the communicator can. If these are the ranks of the job, they will. */
void MPIDI_PCOLL_job_reports_all(const MPIR_Comm *comm);

/* Count a new plan, and time its instances from now on if there is memory for that. */
void MPIDI_PCOLL_job_add_plan(const struct MPIDI_PCOLL_call *call, struct MPIDI_PCOLL_plan *plan,
                              const struct pcoll_choice *choice);

/* Count a call that has become no plan. */
void MPIDI_PCOLL_job_add_declined(const struct MPIDI_PCOLL_call *call);

/* For MPI_T: register what is counted. */
void MPIDI_PCOLL_job_pvars_init(void);

/* In MPI_Finalize: report, unless that has been done; on the communicators of which this process is
 * rank 0 if there is no report of all ranks. */
void MPIDI_PCOLL_job_report(void);

/* Once no plan is left: forget everything. */
void MPIDI_PCOLL_job_report_free(void);

#endif /* JOB_REPORT_H_INCLUDED */
