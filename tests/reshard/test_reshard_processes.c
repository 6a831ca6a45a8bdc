/* Ranks that are processes, whose memory is shared: host devices, rows to columns. One of them that
 * ends before its time is an error in all others. */
#include "tests/open_device.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Kernels are compiled by a communicator that is patient, so that no rank is late for that. */
enum { RANKS = 4, ROWS = 32, COLUMNS = 64, PATIENT_MS = 60000, TIMEOUT_MS = 2000, RUNS = 20 };

/* What all processes see at one address. */
typedef struct common {
  _Alignas(64) char signals[2][RANKS][4096];
  _Alignas(64) float source[RANKS][ROWS / RANKS][COLUMNS];
  _Alignas(64) float destination[RANKS][COLUMNS / RANKS][ROWS]; /* by columns */
} common;

static common *share(void) {
  common *c = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  cr_assert_neq(c, MAP_FAILED);
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++)
      c->source[i / (ROWS / RANKS)][i % (ROWS / RANKS)][j] = (float)(i * COLUMNS + j);
  return c;
}

/* A rank that runs so many times; one that is to end does so behind the first. */
static llrt_status run_with(llrt_device *device, common *c, int turn, int rank, int runs,
                            bool ends) {
  const int64_t shape[2] = {ROWS, COLUMNS};
  void *signals[RANKS], *sources[RANKS], *destinations[RANKS];
  for (int r = 0; r < RANKS; r++) {
    signals[r] = c->signals[turn][r];
    sources[r] = c->source[r];
    destinations[r] = c->destination[r];
  }
  const llrt_comm_params params = {.rank = rank,
                                   .ranks = RANKS,
                                   .signals = signals,
                                   .timeout_ms = turn ? TIMEOUT_MS : PATIENT_MS};
  llrt_sharding source, destination;
  const llrt_reshard_desc desc = {.source = &source,
                                  .destination = &destination,
                                  .shape = shape,
                                  .source_dtype = LLRT_F32,
                                  .destination_dtype = LLRT_F32};
  llrt_comm *comm = NULL;
  llrt_reshard *reshard = NULL;
  llrt_status status =
      llrt_sharding_parse("mesh(a=4): P(a, None) o row_major", NULL, 2, shape, &source);
  if (!status)
    status = llrt_sharding_parse("mesh(a=4): P(None, a) o col_major", NULL, 2, shape, &destination);
  if (!status) status = llrt_comm_create(device, &params, &comm);
  if (!status) status = llrt_reshard_prepare(comm, &desc, NULL, &reshard);
  for (int i = 0; i < runs && !status; i++) {
    if (ends && i == 1) _exit(0);
    status = llrt_reshard_run(reshard, sources, destinations, NULL);
  }
  llrt_reshard_destroy(&reshard);
  llrt_comm_destroy(&comm);
  return status;
}

static llrt_status run_rank(common *c, int rank, bool ends) {
  opened_device host = open_device("host");
  llrt_status status = run_with(host.device, c, 0, rank, 1, false);
  if (!status) status = run_with(host.device, c, 1, rank, RUNS, ends);
  close_device(&host);
  return status;
}

/* Exit status of each rank: its llrt_status. */
static void run_processes(common *c, int ending, int status[RANKS]) {
  pid_t child[RANKS];
  for (int r = 0; r < RANKS; r++) {
    child[r] = fork();
    cr_assert_geq(child[r], 0);
    if (child[r] == 0) _exit((int)run_rank(c, r, r == ending));
  }
  for (int r = 0; r < RANKS; r++) {
    int how;
    cr_assert_eq(waitpid(child[r], &how, 0), child[r]);
    status[r] = WIFEXITED(how) ? WEXITSTATUS(how) : -1;
  }
}

Test(reshard_processes, rows_to_columns) {
  common *c = share();
  int status[RANKS];
  run_processes(c, -1, status);
  for (int r = 0; r < RANKS; r++) cr_expect_eq(status[r], LLRT_OK);
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++)
      cr_assert_eq(c->destination[j / (COLUMNS / RANKS)][j % (COLUMNS / RANKS)][i],
                   (float)(i * COLUMNS + j));
  munmap(c, sizeof *c);
}

Test(reshard_processes, one_ends) {
  common *c = share();
  int status[RANKS];
  run_processes(c, 2, status);
  for (int r = 0; r < RANKS; r++) cr_expect_eq(status[r], r == 2 ? LLRT_OK : LLRT_DEVICE);
  munmap(c, sizeof *c);
}
