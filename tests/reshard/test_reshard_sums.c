/* More summands than one launch adds: rounds, in the mesh's order, rounded to the destination's
 * type once. On the host, a thread for each rank. */
#include "tests/open_device.h"

#include <pthread.h>

enum { RANKS = 18, SIDE = 6, TIMEOUT_MS = 120000 };

typedef struct world {
  llrt_device *device;
  llrt_dtype dtype;
  void *signals[RANKS], *sources[RANKS], *destinations[RANKS];
  llrt_status status[RANKS];
  char said[RANKS][200];
} world;

typedef struct member {
  world *of;
  int rank;
} member;

static llrt_status run_rank(world *w, int rank) {
  static const int64_t shape[2] = {SIDE, SIDE};
  llrt_sharding source, destination;
  const llrt_comm_params params = {
      .rank = rank, .ranks = RANKS, .signals = w->signals, .timeout_ms = TIMEOUT_MS};
  const llrt_reshard_desc desc = {.source = &source,
                                  .destination = &destination,
                                  .shape = shape,
                                  .source_dtype = LLRT_F32,
                                  .destination_dtype = w->dtype};
  llrt_comm *comm = NULL;
  llrt_reshard *reshard = NULL;
  llrt_status status = llrt_sharding_parse("mesh(a=18): P(None, None, partial(a)) o row_major",
                                           NULL, 2, shape, &source);
  if (!status)
    status =
        llrt_sharding_parse("mesh(b=2) + 3: P(None, b) o col_major", NULL, 2, shape, &destination);
  if (!status) status = llrt_comm_create(w->device, &params, &comm);
  if (!status) status = llrt_reshard_prepare(comm, &desc, NULL, &reshard);
  for (int i = 0; i < 2 && !status; i++)
    status = llrt_reshard_run(reshard, w->sources, w->destinations, NULL);
  if (status) snprintf(w->said[rank], sizeof w->said[rank], "%s", llrt_last_error());
  llrt_reshard_destroy(&reshard);
  llrt_comm_destroy(&comm);
  return status;
}

static void *member_main(void *data) {
  const member *m = data;
  m->of->status[m->rank] = run_rank(m->of, m->rank);
  return NULL;
}

static void run_world(world *w, llrt_device *device, llrt_dtype dtype,
                      float (*value)(int rank, int element)) {
  pthread_t thread[RANKS];
  member members[RANKS];
  size_t bytes;
  *w = (world){.device = device, .dtype = dtype};
  llrt_comm_signal_bytes(RANKS, &bytes);
  for (int r = 0; r < RANKS; r++) {
    cr_assert_eq(llrt_memory_allocate(device, bytes, &w->signals[r]), LLRT_OK);
    cr_assert_eq(llrt_memory_allocate(device, 4 * SIDE * SIDE, &w->sources[r]), LLRT_OK);
    cr_assert_eq(llrt_memory_allocate(device, 4 * SIDE * SIDE, &w->destinations[r]), LLRT_OK);
    memset(w->signals[r], 0, bytes);
    for (int i = 0; i < SIDE * SIDE; i++) ((float *)w->sources[r])[i] = value(r, i);
  }
  for (int r = 0; r < RANKS; r++) {
    members[r] = (member){w, r};
    cr_assert_eq(pthread_create(&thread[r], NULL, member_main, &members[r]), 0);
  }
  for (int r = 0; r < RANKS; r++) pthread_join(thread[r], NULL);
  for (int r = 0; r < RANKS; r++) cr_assert_eq(w->status[r], LLRT_OK, "%s", w->said[r]);
}

static void free_world(world *w) {
  for (int r = 0; r < RANKS; r++) {
    llrt_memory_free(w->device, w->signals[r]);
    llrt_memory_free(w->device, w->sources[r]);
    llrt_memory_free(w->device, w->destinations[r]);
  }
}

/* 1e8 of the first and the last rank go at the end alone: what is between them is lost in f32,
 * but for an order in which it was added before. */
static float far_apart(int rank, int element) {
  if (rank == 0) return 1e8f;
  if (rank == RANKS - 1) return -1e8f;
  return (float)(element % 3);
}

Test(reshard_sums, the_mesh_s_order) {
  opened_device host = open_device("host");
  world w;
  run_world(&w, host.device, LLRT_F32, far_apart);
  for (int b = 0; b < 2; b++)
    for (int i = 0; i < SIDE * SIDE / 2; i++) {
      int column = b * (SIDE / 2) + i / SIDE, row = i % SIDE;
      float sum = 0;
      for (int r = 0; r < RANKS; r++) sum += far_apart(r, row * SIDE + column);
      cr_assert_eq(((float *)w.destinations[3 + b])[i], sum, "rank %d, %d", 3 + b, i);
    }
  free_world(&w);
  close_device(&host);
}

static float ones(int rank, int element) {
  (void)rank, (void)element;
  return 200;
}

/* 18 * 200 = 3600 is 4561 in bf16; with the sum of the first 15 rounded, it would be 4562. */
Test(reshard_sums, rounded_once) {
  opened_device host = open_device("host");
  world w;
  run_world(&w, host.device, LLRT_BF16, ones);
  for (int i = 0; i < SIDE * SIDE / 2; i++)
    cr_assert_eq(((uint16_t *)w.destinations[3])[i], 0x4561);
  free_world(&w);
  close_device(&host);
}
