/* Re-shards by one call: right each time, prepared once for each description, refused on all ranks
 * alike. */
#include "runtime/reshard.h"
#include "tests/open_device.h"

#include <pthread.h>

enum { RANKS = 3, SIDE = 6, ROUNDS = 3, TIMEOUT_MS = 60000 };

static const char rows[] = "mesh(a=3): P(a, None) o row_major";
static const char *const others[] = {"mesh(a=3): P(None, a) o row_major",
                                     "mesh(a=3): P(None, a) o col_major"};

typedef struct member {
  llrt_device *device;
  int rank;
  void **signals;
  void *sources[RANKS], *destinations[2][RANKS];
  bool differs; /* describes something else, and nothing after that */
  llrt_status status;
  char said[300];
  int kept, wrong;
} member;

static int32_t element(int row, int column) { return 100 * row + column; }

/* Elements of the rank's columns that are not what they should be. */
static int count_wrong(const member *m, int which) {
  const int32_t *part = m->destinations[which][m->rank];
  enum { COLUMNS = SIDE / RANKS };
  int wrong = 0;
  for (int row = 0; row < SIDE; row++)
    for (int column = 0; column < COLUMNS; column++)
      wrong += part[which ? column * SIDE + row : row * COLUMNS + column] !=
               element(row, m->rank * COLUMNS + column);
  return wrong;
}

static llrt_status call(member *m, llrt_comm *comm, int which) {
  static const int64_t shape[2] = {SIDE, SIDE};
  llrt_sharding source, destination;
  const llrt_reshard_desc desc = {.source = &source,
                                  .destination = &destination,
                                  .shape = shape,
                                  .source_dtype = LLRT_I32,
                                  .destination_dtype = m->differs ? LLRT_F32 : LLRT_I32};
  const llrt_reshard_run_params params = {.sources = m->sources,
                                          .destinations = m->destinations[which]};
  llrt_sharding_parse(rows, NULL, 2, shape, &source);
  llrt_sharding_parse(others[which], NULL, 2, shape, &destination);
  llrt_status status = llrt_reshard_into(comm, &desc, &params, NULL);
  if (status) snprintf(m->said, sizeof m->said, "%s", llrt_last_error());
  return status;
}

static void *member_main(void *data) {
  member *m = data;
  llrt_comm *comm = NULL;
  const llrt_comm_params params = {
      .rank = m->rank, .ranks = RANKS, .signals = m->signals, .timeout_ms = TIMEOUT_MS};
  m->status = llrt_comm_create(m->device, &params, &comm);
  for (int i = 0; i < 2 * ROUNDS && !m->status; i++) {
    for (int k = 0; k < SIDE * SIDE / RANKS; k++) /* what is compared is this call's */
      ((int32_t *)m->destinations[i % 2][m->rank])[k] = -1;
    m->status = call(m, comm, i % 2);
    if (!m->status) m->wrong += count_wrong(m, i % 2);
  }
  for (llrt_reshard *one = comm ? comm->kept : NULL; one; one = one->next) m->kept++;
  llrt_comm_destroy(&comm);
  return NULL;
}

/* Ranks of one host, which meet before and behind each call. */
static void run_all(member *members, int differing) {
  opened_device host = open_device("host");
  pthread_t thread[RANKS];
  static int32_t source[RANKS][SIDE * SIDE / RANKS] __attribute__((aligned(16)));
  static int32_t destination[2][RANKS][SIDE * SIDE / RANKS] __attribute__((aligned(16)));
  void *signals[RANKS];
  size_t bytes;
  cr_assert_eq(llrt_comm_signal_bytes(RANKS, &bytes), LLRT_OK);
  for (int r = 0; r < RANKS; r++) {
    cr_assert_eq(llrt_memory_allocate(host.device, bytes, &signals[r]), LLRT_OK);
    memset(signals[r], 0, bytes);
    for (int i = 0; i < SIDE * SIDE / RANKS; i++)
      source[r][i] = element(r * (SIDE / RANKS) + i / SIDE, i % SIDE);
  }
  for (int r = 0; r < RANKS; r++) {
    members[r] =
        (member){.device = host.device, .rank = r, .signals = signals, .differs = r == differing};
    for (int other = 0; other < RANKS; other++) {
      members[r].sources[other] = source[other];
      for (int which = 0; which < 2; which++)
        members[r].destinations[which][other] = destination[which][other];
    }
    cr_assert_eq(pthread_create(&thread[r], NULL, member_main, &members[r]), 0);
  }
  for (int r = 0; r < RANKS; r++) pthread_join(thread[r], NULL);
  for (int r = 0; r < RANKS; r++) llrt_memory_free(host.device, signals[r]);
  close_device(&host);
}

Test(reshard_into, each_description_is_prepared_once) {
  member members[RANKS];
  run_all(members, -1);
  for (int r = 0; r < RANKS; r++) {
    cr_expect_eq(members[r].status, LLRT_OK, "rank %d: %s", r, members[r].said);
    cr_expect_eq(members[r].wrong, 0, "rank %d: %d wrong", r, members[r].wrong);
    cr_expect_eq(members[r].kept, 2, "rank %d keeps %d", r, members[r].kept);
  }
}

Test(reshard_into, what_differs_is_refused_on_all_ranks) {
  member members[RANKS];
  run_all(members, 1);
  for (int r = 0; r < RANKS; r++) {
    cr_expect_eq(members[r].status, LLRT_INVALID_ARGUMENT, "rank %d: %s", r,
                 llrt_status_name(members[r].status));
    cr_expect(strstr(members[r].said, "described something else"), "rank %d: %s", r,
              members[r].said);
    cr_expect_eq(members[r].kept, 0);
  }
}

Test(reshard_into, nothing_is_an_argument_by_name) {
  llrt_comm *comm = (llrt_comm *)(uintptr_t)64; /* looked at after all others */
  const llrt_reshard_desc desc = {.size = sizeof desc};
  cr_expect_eq(llrt_reshard_into(NULL, NULL, NULL, NULL), LLRT_INVALID_ARGUMENT);
  cr_expect(strstr(llrt_last_error(), "comm is NULL"));
  cr_expect_eq(llrt_reshard_into(comm, NULL, NULL, NULL), LLRT_INVALID_ARGUMENT);
  cr_expect(strstr(llrt_last_error(), "desc is NULL"));
  cr_expect_eq(llrt_reshard_into(comm, &desc, NULL, NULL), LLRT_INVALID_ARGUMENT);
  cr_expect(strstr(llrt_last_error(), "params is NULL"));
}
