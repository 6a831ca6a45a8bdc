/* What a kernel finds out is told by the next call, which waits for nothing. */
#include "tests/open_device.h"
#include "tests/reshard/reshard_devices.h"

#include <pthread.h>

enum { RANKS = 2, SIDE = 16, PATIENT_MS = 60000, TIMEOUT_MS = 500 };

typedef struct member {
  const reshard_place *place;
  int rank;
  void **signals, **sources, **destinations;
  int64_t timeout_ms;
  bool stays_away; /* prepares, and runs nothing */
  llrt_status prepared, first, next;
  char said[300];
} member;

static void run_twice(member *m, const llrt_reshard *reshard) {
  llrt_device *device = m->place->device[m->rank];
  m->first = llrt_reshard_run(reshard, m->sources, m->destinations, m->place->stream);
  llrt_stream_synchronize(device, m->place->stream);
  m->next = llrt_reshard_run(reshard, m->sources, m->destinations, m->place->stream);
  snprintf(m->said, sizeof m->said, "%s", llrt_last_error());
  llrt_stream_synchronize(device, m->place->stream);
}

static void *member_main(void *data) {
  static const int64_t shape[2] = {SIDE, SIDE};
  member *m = data;
  llrt_sharding source, destination;
  const llrt_comm_params params = {
      .rank = m->rank, .ranks = RANKS, .signals = m->signals, .timeout_ms = m->timeout_ms};
  const llrt_reshard_desc desc = {.source = &source,
                                  .destination = &destination,
                                  .shape = shape,
                                  .source_dtype = LLRT_F32,
                                  .destination_dtype = LLRT_F32};
  llrt_comm *comm = NULL;
  llrt_reshard *reshard = NULL;
  llrt_sharding_parse("mesh(a=2): P(a, None) o row_major", NULL, 2, shape, &source);
  llrt_sharding_parse("mesh(a=2): P(None, a) o col_major", NULL, 2, shape, &destination);
  m->prepared = llrt_comm_create(m->place->device[m->rank], &params, &comm);
  if (!m->prepared) m->prepared = llrt_reshard_prepare(comm, &desc, m->place->stream, &reshard);
  if (!m->prepared && !m->stays_away) run_twice(m, reshard);
  llrt_reshard_destroy(&reshard);
  llrt_comm_destroy(&comm);
  return NULL;
}

static void run_pair(member pair[RANKS], int64_t timeout_ms, int stays_away) {
  pthread_t thread[RANKS];
  for (int r = 0; r < RANKS; r++) {
    pair[r].timeout_ms = timeout_ms;
    pair[r].stays_away = r == stays_away;
    cr_assert_eq(pthread_create(&thread[r], NULL, member_main, &pair[r]), 0);
  }
  for (int r = 0; r < RANKS; r++) pthread_join(thread[r], NULL);
}

/* The first pair compiles, so that the second is not late for that. */
static void time_out(llrt_context *(*open)(reshard_place *place)) {
  reshard_place place;
  llrt_context *context = open(&place);
  void *signals[RANKS], *sources[RANKS], *destinations[RANKS];
  member pair[RANKS];
  size_t bytes;
  llrt_comm_signal_bytes(RANKS, &bytes);
  for (int r = 0; r < RANKS; r++) {
    llrt_device *device = place.device[r];
    cr_assert_eq(llrt_memory_allocate(device, bytes, &signals[r]), LLRT_OK);
    cr_assert_eq(llrt_memory_allocate(device, 4 * SIDE * SIDE, &sources[r]), LLRT_OK);
    cr_assert_eq(llrt_memory_allocate(device, 4 * SIDE * SIDE, &destinations[r]), LLRT_OK);
    llrt_memory_set(device, sources[r], 0, 4 * SIDE * SIDE, place.stream);
    pair[r] = (member){.place = &place,
                       .rank = r,
                       .signals = signals,
                       .sources = sources,
                       .destinations = destinations};
  }
  for (int away = -1; away < RANKS; away++) {
    for (int r = 0; r < RANKS; r++) {
      cr_assert_eq(llrt_memory_set(place.device[r], signals[r], 0, bytes, place.stream), LLRT_OK);
      llrt_stream_synchronize(place.device[r], place.stream);
    }
    run_pair(pair, away < 0 ? PATIENT_MS : TIMEOUT_MS, away);
    for (int r = 0; r < RANKS; r++) {
      cr_assert_eq(pair[r].prepared, LLRT_OK);
      if (r == away) continue;
      /* a device that is fast enough has told it already */
      cr_expect(pair[r].first == LLRT_OK || (away >= 0 && pair[r].first == LLRT_DEVICE));
      cr_expect_eq(pair[r].next, away < 0 ? LLRT_OK : LLRT_DEVICE);
      cr_expect(away < 0 ||
                    strstr(pair[r].said, away ? "rank 1 did not come" : "rank 0 did not come"),
                "%s", pair[r].said);
    }
  }
  for (int r = 0; r < RANKS; r++) {
    llrt_memory_free(place.device[r], signals[r]);
    llrt_memory_free(place.device[r], sources[r]);
    llrt_memory_free(place.device[r], destinations[r]);
  }
  reshard_close_emulated(&context, &place);
}

Test(reshard_next_call, a_time_out) { time_out(reshard_open_emulated); }
Test(reshard_next_call, a_time_out_hip) { time_out(reshard_open_hip); }
