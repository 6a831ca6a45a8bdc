/* Re-shards as bytes: what is damaged, another rank's or another target's is refused, and others
 * are told. Draws (reshard_draw.c) run what was saved. */
#include "tests/open_device.h"

#include <llrt/llrt.h>

#include <pthread.h>
#include <stdlib.h>

enum { RANKS = 2, N = 16, TIMEOUT_MS = 60000 };

typedef struct world {
  void *signals[RANKS];
  llrt_device *device;
  char *bytes[RANKS]; /* that each rank saved */
  size_t size[RANKS];
  const char *given[RANKS]; /* what each rank loads; NULL: it prepares */
  size_t given_size[RANKS];
  llrt_status status[RANKS];
  char said[RANKS][300];
} world;

typedef struct member {
  world *w;
  int rank;
} member;

static llrt_status run_rank(world *w, int rank) {
  static const int64_t shape[2] = {N, N};
  llrt_sharding source, destination;
  const llrt_comm_params params = {
      .rank = rank, .ranks = RANKS, .signals = w->signals, .timeout_ms = TIMEOUT_MS};
  const llrt_reshard_desc desc = {.size = sizeof desc,
                                  .source = &source,
                                  .destination = &destination,
                                  .shape = shape,
                                  .source_dtype = LLRT_F32,
                                  .destination_dtype = LLRT_BF16};
  llrt_comm *comm = NULL;
  llrt_reshard *reshard = NULL;
  llrt_status status = llrt_sharding_parse("mesh(a=2): P(a)", NULL, 2, shape, &source);
  if (!status) status = llrt_sharding_parse("mesh(a=2): P(None, a)", NULL, 2, shape, &destination);
  if (!status) status = llrt_comm_create(w->device, &params, &comm);
  if (!status && w->given[rank])
    status = llrt_reshard_load(comm, w->given[rank], w->given_size[rank], NULL, &reshard);
  else if (!status) status = llrt_reshard_prepare(comm, &desc, NULL, &reshard);
  if (status) snprintf(w->said[rank], sizeof w->said[rank], "%s", llrt_last_error());
  if (!status && !w->bytes[rank]) {
    status = llrt_reshard_save(reshard, NULL, &w->size[rank]);
    w->bytes[rank] = malloc(w->size[rank]);
    if (!status) status = llrt_reshard_save(reshard, w->bytes[rank], &w->size[rank]);
  }
  llrt_reshard_destroy(&reshard);
  llrt_comm_destroy(&comm);
  return status;
}

static void *thread_main(void *data) {
  member *m = data;
  m->w->status[m->rank] = run_rank(m->w, m->rank);
  return NULL;
}

static void run(world *w) {
  static _Alignas(16) char signals[RANKS][4096];
  pthread_t thread[RANKS];
  member of[RANKS];
  memset(signals, 0, sizeof signals);
  for (int r = 0; r < RANKS; r++) w->signals[r] = signals[r];
  for (int r = 0; r < RANKS; r++) {
    of[r] = (member){w, r};
    cr_assert_eq(pthread_create(&thread[r], NULL, thread_main, &of[r]), 0);
  }
  for (int r = 0; r < RANKS; r++) pthread_join(thread[r], NULL);
}

static world save(llrt_device *device) {
  world w = {.device = device};
  run(&w);
  for (int r = 0; r < RANKS; r++) cr_assert_eq(w.status[r], LLRT_OK, "%s", w.said[r]);
  return w;
}

static void drop(world *w) {
  for (int r = 0; r < RANKS; r++) free(w->bytes[r]);
}

/* Rank 0 loads n bytes; rank 1 prepares, or is told. */
static void expect(world *w, const char *bytes, size_t n, llrt_status status, const char *said) {
  w->given[0] = bytes;
  w->given_size[0] = n;
  run(w);
  cr_expect_eq(w->status[0], status, "%s", w->said[0]);
  if (status == LLRT_OK) {
    cr_expect_eq(w->status[1], LLRT_OK, "%s", w->said[1]);
    return;
  }
  cr_expect(strstr(w->said[0], said), "%s", w->said[0]);
  cr_expect_eq(w->status[1], LLRT_INVALID_ARGUMENT);
  cr_expect(strstr(w->said[1], "rank 0 refused"), "%s", w->said[1]);
}

Test(reshard_saved, refusals) {
  opened_device host = open_device("host");
  world w = save(host.device);
  char *bytes = malloc(w.size[0]);
  memcpy(bytes, w.bytes[0], w.size[0]);
  expect(&w, bytes, w.size[0], LLRT_OK, NULL);
  expect(&w, w.bytes[1], w.size[1], LLRT_INVALID_ARGUMENT, "is rank 1's of 2");
  expect(&w, bytes, 20, LLRT_CORRUPT, "no saved re-shard");
  expect(&w, bytes, w.size[0] - 1, LLRT_CORRUPT, "damaged");
  for (size_t at = 8; at < w.size[0]; at += w.size[0] / 16) {
    bytes[at] ^= 0x10;
    expect(&w, bytes, w.size[0], LLRT_CORRUPT, "damaged");
    bytes[at] ^= 0x10;
  }
  bytes[0] ^= 1;
  expect(&w, bytes, w.size[0], LLRT_CORRUPT, "no saved re-shard");
  free(bytes);
  drop(&w);
  close_device(&host);
}

Test(reshard_saved, without_a_compiler) {
  const llrt_context_params params = {.jit_library = "/none"};
  opened_device host = open_device("host"), other = {.context = NULL};
  world w = save(host.device);
  cr_assert_eq(llrt_context_create(&params, &other.context), LLRT_OK);
  cr_assert_eq(llrt_device_open(other.context, "host", NULL, &other.device), LLRT_OK);
  w.device = other.device;
  for (int r = 0; r < RANKS; r++) {
    w.given[r] = w.bytes[r];
    w.given_size[r] = w.size[r];
  }
  run(&w);
  for (int r = 0; r < RANKS; r++) cr_expect_eq(w.status[r], LLRT_OK, "%s", w.said[r]);
  drop(&w);
  llrt_device_close(&other.device);
  llrt_context_destroy(&other.context);
  close_device(&host);
}

/* The buffer is as large as it is said to be. */
Test(reshard_saved, arguments) {
  opened_device host = open_device("host");
  world w = save(host.device);
  size_t size = 1;
  llrt_reshard *reshard;
  cr_expect_eq(llrt_reshard_save(NULL, NULL, &size), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(size, 0u);
  cr_expect_eq(llrt_reshard_load(NULL, w.bytes[0], w.size[0], NULL, &reshard),
               LLRT_INVALID_ARGUMENT);
  cr_expect_null(reshard);
  expect(&w, NULL, 0, LLRT_OK, NULL); /* prepares */
  drop(&w);
  close_device(&host);
}
