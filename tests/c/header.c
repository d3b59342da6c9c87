/* copse.h in strict C11, used as a C program would. */
#include "copse/copse.h"

int header_compiles_as_c11(void);
int header_compiles_as_c11(void) {
  copse_meeting* meeting = 0;
  copse_comm* comm = 0;
  copse_request* request = 0;
  int in = 2, out = 0;
  copse_status status = copse_meeting_create(1, &meeting);
  if (status == COPSE_OK) status = copse_comm_create_threads(meeting, 0, &comm);
  if (status == COPSE_OK) status = copse_allreduce(comm, &in, &out, 1, COPSE_INT32, COPSE_SUM);
  if (status == COPSE_OK) status = copse_start_scan(comm, &in, &out, 1, COPSE_INT32, COPSE_SUM, &request);
  if (status == COPSE_OK) status = copse_wait(&request);
  copse_comm_free(comm);
  copse_meeting_free(meeting);
  return out == 2 ? (int)status : -1;
}
