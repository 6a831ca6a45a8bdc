/* Captures and graphs of the emulated drivers: what becomes a node, what depends on what, what
 * forbids what. */
#include "driver_bench.h"

#include <criterion/criterion.h>
#include <pthread.h>

enum { GLOBAL, THREAD_LOCAL, RELAXED }; /* CUstreamCaptureMode */
enum {
  NODE_COPY = 1,
  NODE_SET = 2,
  NODE_CALL = 3,
  NODE_GRAPH = 4,
  NODE_ALLOCATE = 10,
  NODE_FREE = 11
}; /* CUgraphNodeType */

/* Ends the capture of `stream`; the graph is destroyed, since what is launched needs it no more. */
static void *end_capture(const tested_driver *driver, void *stream) {
  void *graph, *exec;
  MUST(driver->end(stream, &graph));
  MUST(driver->instantiate(&exec, graph, 0));
  MUST(driver->graph_destroy(graph));
  cr_expect_neq(driver->graph_destroy(graph), 0);
  return exec;
}

static void add_one(void *number) { ++*(int *)number; }

/* ---- capture and replay ---- */

static void check_replay(const tested_driver *driver) {
  for (int m = 0; m < N_MODES; m++) {
    driver_bench bench = bench_make(driver, modes[m]);
    int calls = 0, status = 9;
    MUST(driver->begin(bench.a, GLOBAL));
    MUST(driver->is_capturing(bench.a, &status));
    cr_expect_eq(status, 1);
    MUST(driver->is_capturing(bench.b, &status));
    cr_expect_eq(status, 0);
    MUST(driver->copy(bench.y, bench.x, BYTES, bench.a));
    MUST(driver->set(bench.x, 2, COUNT, bench.a));
    MUST(driver->call(bench.a, add_one, &calls));
    void *exec = end_capture(driver, bench.a);
    MUST(driver->synchronize());
    cr_expect_eq(peek(bench.x), -1, "nothing ran in the capture");
    for (int i = 0; i < 3; i++) {
      MUST(driver->set(bench.x, 10 + i, COUNT, bench.b));
      MUST(driver->launch(exec, bench.b)); /* on another stream than it was captured on */
      MUST(driver->stream_synchronize(bench.b));
      cr_expect_eq(peek(bench.y), 10 + i, "%s, mode %d: %d", driver->name, modes[m], peek(bench.y));
      cr_expect_eq(peek(bench.x), 2);
    }
    cr_expect_eq(calls, 3);
    MUST(driver->exec_destroy(exec));
    cr_expect_neq(driver->launch(exec, bench.b), 0);
    bench_end(&bench);
  }
}
Test(driver_graphs, replay) { driver_each(check_replay); }

/* A fork of two streams by events, which join again. *edges: how many there are. */
static void *capture_fork(driver_bench *bench, bool waits, size_t *edges) {
  const tested_driver *driver = bench->driver;
  void *graph, *exec, *nodes[8], *joined;
  size_t n = 8;
  int type;
  MUST(driver->event_create(&joined, 0));
  MUST(driver->begin(bench->a, GLOBAL));
  MUST(driver->event_record(bench->event, bench->a));
  MUST(driver->stream_wait(bench->b, bench->event,
                           0)); /* joins the capture, with nothing before it */
  MUST(driver->set(bench->x, 1, COUNT, bench->a));
  MUST(driver->event_record(bench->event, bench->a));
  if (waits) MUST(driver->stream_wait(bench->b, bench->event, 0));
  MUST(driver->copy(bench->y, bench->x, BYTES, bench->b));
  MUST(driver->event_record(joined, bench->b));
  MUST(driver->stream_wait(bench->a, joined, 0));
  MUST(driver->end(bench->a, &graph));
  MUST(driver->graph_nodes(graph, nodes, &n));
  cr_assert_eq(n, 2);
  MUST(driver->node_type(nodes[0], &type));
  cr_expect_eq(type, NODE_SET);
  MUST(driver->node_type(nodes[1], &type));
  cr_expect_eq(type, NODE_COPY);
  *edges = 0;
  MUST(driver->graph_edges(graph, NULL, NULL, edges));
  MUST(driver->instantiate(&exec, graph, 0));
  MUST(driver->graph_destroy(graph));
  MUST(driver->event_destroy(joined));
  return exec;
}

static int32_t run_fork(const tested_driver *driver, emu_mode mode, bool waits) {
  driver_bench bench = bench_make(driver, mode);
  size_t edges;
  void *exec = capture_fork(&bench, waits, &edges);
  cr_expect_eq(edges, waits ? 1 : 0);
  MUST(driver->launch(exec, bench.other));
  MUST(driver->stream_synchronize(bench.other));
  int32_t found = peek(bench.y);
  MUST(driver->exec_destroy(exec));
  bench_end(&bench);
  return found;
}

/* A wait that was forgotten in the capture is found when the graph runs. */
static void check_fork(const tested_driver *driver) {
  for (int m = 0; m < N_MODES; m++) cr_expect_eq(run_fork(driver, modes[m], true), 1);
  cr_expect_eq(run_fork(driver, EMU_LATE, false), -1, "%s: a missing wait was not found",
               driver->name);
  cr_expect_eq(run_fork(driver, EMU_CROSSED, false), -1, "%s: a missing wait was not found",
               driver->name);
}
Test(driver_graphs, fork) { driver_each(check_fork); }

/* Launches of one graph wait for each other, on whichever streams. */
static void check_launches_in_order(const tested_driver *driver) {
  for (int m = 0; m < N_MODES; m++) {
    driver_bench bench = bench_make(driver, modes[m]);
    int calls = 0;
    MUST(driver->begin(bench.a, GLOBAL));
    MUST(driver->call(bench.a, add_one, &calls));
    void *exec = end_capture(driver, bench.a);
    for (int i = 0; i < 100; i++) MUST(driver->launch(exec, i % 2 ? bench.a : bench.b));
    MUST(driver->stream_synchronize(bench.a)); /* the last one's */
    cr_expect_eq(calls, 100, "%s, mode %d: %d", driver->name, modes[m], calls);
    MUST(driver->exec_destroy(exec));
    bench_end(&bench);
  }
}
Test(driver_graphs, launches_in_order) { driver_each(check_launches_in_order); }

/* A graph in a graph. */
static void check_nested(const tested_driver *driver) {
  driver_bench bench = bench_make(driver, EMU_LATE);
  int calls = 0;
  MUST(driver->begin(bench.a, GLOBAL));
  MUST(driver->call(bench.a, add_one, &calls));
  void *inner = end_capture(driver, bench.a), *outer;
  MUST(driver->begin(bench.a, GLOBAL));
  MUST(driver->launch(inner, bench.a));
  MUST(driver->launch(inner, bench.a));
  outer = end_capture(driver, bench.a);
  MUST(driver->exec_destroy(inner));
  MUST(driver->launch(outer, bench.b));
  MUST(driver->stream_synchronize(bench.b));
  cr_expect_eq(calls, 2);
  MUST(driver->exec_destroy(outer));
  bench_end(&bench);
}
Test(driver_graphs, nested) { driver_each(check_nested); }

static void check_info(const tested_driver *driver) {
  driver_bench bench = bench_make(driver, EMU_IMMEDIATE);
  int status;
  unsigned long long id, again;
  void *graph, *ended;
  void *const *nodes;
  size_t n;
  MUST(driver->capture_info(bench.a, &status, &id, &graph, &nodes, &n));
  cr_expect(status == 0 && n == 0 && !graph);
  MUST(driver->begin(bench.a, THREAD_LOCAL));
  MUST(driver->capture_info(bench.a, &status, &id, &graph, &nodes, &n));
  cr_expect(status == 1 && n == 0 && graph);
  MUST(driver->set(bench.x, 1, COUNT, bench.a));
  MUST(driver->capture_info(bench.a, &status, &again, NULL, &nodes, &n));
  cr_expect(id == again && n == 1);
  MUST(driver->node_type(nodes[0], &status));
  cr_expect_eq(status, NODE_SET);
  MUST(driver->end(bench.a, &ended));
  cr_expect_eq(ended, graph);
  MUST(driver->graph_destroy(graph));
  bench_end(&bench);
}
Test(driver_graphs, info) { driver_each(check_info); }

/* ---- memory ---- */

/* Allocated and freed in each launch, at one address, fresh each time. */
static void check_memory(const tested_driver *driver) {
  for (int m = 0; m < N_MODES; m++) {
    driver_bench bench = bench_make(driver, modes[m]);
    uint64_t memory;
    void *graph, *exec, *second, *nodes[4];
    size_t n = 4;
    int type;
    MUST(driver->begin(bench.a, GLOBAL));
    MUST(driver->allocate_on(&memory, BYTES, bench.a));
    MUST(driver->copy(bench.y, memory, BYTES, bench.a));
    MUST(driver->set(memory, 5, COUNT, bench.a));
    MUST(driver->release_on(memory, bench.a));
    MUST(driver->end(bench.a, &graph));
    MUST(driver->graph_nodes(graph, nodes, &n));
    cr_assert_eq(n, 4);
    MUST(driver->node_type(nodes[0], &type));
    cr_expect_eq(type, NODE_ALLOCATE);
    MUST(driver->node_type(nodes[3], &type));
    cr_expect_eq(type, NODE_FREE);
    MUST(driver->instantiate(&exec, graph, 0));
    cr_expect_eq(driver->instantiate(&second, graph, 0), EMU_NOT_SUPPORTED,
                 "one at a time has memory");
    for (int i = 0; i < 3; i++) {
      MUST(driver->launch(exec, bench.b));
      MUST(driver->stream_synchronize(bench.b));
      cr_expect_neq(peek(bench.y), 5, "memory of the launch before");
    }
    int set = driver->set(memory, 1, COUNT, bench.b), waited = driver->stream_synchronize(bench.b);
    cr_expect_eq(set ? set : waited, EMU_ILLEGAL_ADDRESS, "freed by the launch");
    cr_expect_eq(driver->release_on(memory, bench.b), EMU_INVALID_VALUE);
    MUST(driver->exec_destroy(exec));
    MUST(driver->graph_destroy(graph));
    bench_end(&bench);
  }
}
Test(driver_graphs, memory) { driver_each(check_memory); }

/* What a launch leaves allocated is the user's to free, before the next launch; or the launch's, if
 * it was asked for. */
static void check_left_memory(const tested_driver *driver) {
  driver_bench bench = bench_make(driver, EMU_LATE);
  uint64_t memory;
  void *graph, *exec;
  MUST(driver->begin(bench.a, GLOBAL));
  MUST(driver->allocate_on(&memory, BYTES, bench.a));
  MUST(driver->set(memory, 6, COUNT, bench.a));
  MUST(driver->end(bench.a, &graph));
  cr_expect_eq(driver->release_on(memory, bench.a), EMU_INVALID_VALUE, "not launched yet");
  MUST(driver->instantiate(&exec, graph, 0));
  MUST(driver->launch(exec, bench.a));
  cr_expect_eq(driver->launch(exec, bench.a), EMU_INVALID_VALUE, "not freed yet");
  MUST(driver->copy(bench.y, memory, BYTES, bench.a));
  MUST(driver->release_on(memory, bench.a));
  MUST(driver->launch(exec, bench.a));
  MUST(driver->stream_synchronize(bench.a));
  cr_expect_eq(peek(bench.y), 6);
  MUST(driver->release(memory));
  MUST(driver->exec_destroy(exec));
  MUST(driver->instantiate(&exec, graph, 1)); /* frees on launch */
  MUST(driver->graph_destroy(graph));
  MUST(driver->launch(exec, bench.a));
  MUST(driver->launch(exec, bench.a));
  MUST(driver->stream_synchronize(bench.a));
  MUST(driver->exec_destroy(exec));
  MUST(driver->copy(bench.y, memory, BYTES, bench.a)); /* outlives its graph */
  MUST(driver->release_on(memory, bench.a));
  bench_end(&bench);
}
Test(driver_graphs, left_memory) { driver_each(check_left_memory); }

/* ---- what captures forbid ---- */

/* Ends a capture that something has broken: no graph comes of it, and the stream works as before.
 */
static void expect_broken(driver_bench *bench, const char *what) {
  const tested_driver *driver = bench->driver;
  void *graph = bench;
  int status;
  MUST(driver->is_capturing(bench->a, &status));
  cr_expect_eq(status, 2, "%s: %s", driver->name, what);
  cr_expect_eq(driver->set(bench->x, 1, COUNT, bench->a), EMU_CAPTURE_INVALIDATED, "%s", what);
  cr_expect_eq(driver->end(bench->a, &graph), EMU_CAPTURE_INVALIDATED, "%s", what);
  cr_expect_null(graph);
  MUST(driver->is_capturing(bench->a, &status));
  cr_expect_eq(status, 0);
  MUST(driver->set(bench->x, 1, COUNT, bench->a));
}

#define EXPECT_FORBIDDEN(bench, mode, call, code) \
  do { \
    MUST(driver->begin((bench)->a, mode)); \
    cr_expect_eq(call, code, "%s: %s", driver->name, #call); \
    expect_broken(bench, #call); \
  } while (0)

static void check_forbidden(const tested_driver *driver) {
  driver_bench bench = bench_make(driver, EMU_IMMEDIATE);
  uint64_t memory;
  void *fresh;
  MUST(driver->event_create(&fresh, 0));
  for (int mode = GLOBAL; mode <= THREAD_LOCAL; mode++) {
    EXPECT_FORBIDDEN(&bench, mode, driver->allocate(&memory, BYTES), EMU_CAPTURE_UNSUPPORTED);
    EXPECT_FORBIDDEN(&bench, mode, driver->release(bench.x), EMU_CAPTURE_UNSUPPORTED);
    EXPECT_FORBIDDEN(&bench, mode, driver->stream_synchronize(bench.b), EMU_CAPTURE_UNSUPPORTED);
    EXPECT_FORBIDDEN(&bench, mode, driver->event_query(fresh), EMU_CAPTURE_UNSUPPORTED);
  }
  for (int mode = GLOBAL; mode <= RELAXED; mode++) {
    EXPECT_FORBIDDEN(&bench, mode, driver->synchronize(), EMU_CAPTURE_UNSUPPORTED);
    EXPECT_FORBIDDEN(&bench, mode, driver->stream_synchronize(bench.a), EMU_CAPTURE_UNSUPPORTED);
    EXPECT_FORBIDDEN(&bench, mode, driver->stream_query(bench.a), EMU_CAPTURE_UNSUPPORTED);
    EXPECT_FORBIDDEN(&bench, mode, driver->release_on(bench.x, bench.a), EMU_INVALID_VALUE);
  }
  MUST(driver->event_destroy(fresh));
  bench_end(&bench);
}
Test(driver_graphs, forbidden) { driver_each(check_forbidden); }

static void check_relaxed(const tested_driver *driver) {
  driver_bench bench = bench_make(driver, EMU_IMMEDIATE);
  uint64_t memory;
  void *graph;
  int mode = RELAXED;
  MUST(driver->begin(bench.a, RELAXED));
  MUST(driver->allocate(&memory, BYTES));
  MUST(driver->release(memory));
  MUST(driver->stream_synchronize(bench.b));
  MUST(driver->end(bench.a, &graph));
  MUST(driver->graph_destroy(graph));
  MUST(driver->exchange(&mode));
  cr_expect_eq(mode, GLOBAL, "what threads begin with");
  MUST(driver->begin(bench.a, GLOBAL));
  MUST(driver->allocate(&memory, BYTES)); /* the thread has relaxed */
  MUST(driver->release(memory));
  MUST(driver->end(bench.a, &graph));
  MUST(driver->graph_destroy(graph));
  MUST(driver->exchange(&mode));
  cr_expect_eq(mode, RELAXED);
  bench_end(&bench);
}
Test(driver_graphs, relaxed) { driver_each(check_relaxed); }

typedef struct other_thread {
  const tested_driver *driver;
  void *stream;
  int allocated, ended;
} other_thread;

static void *allocate_elsewhere(void *argument) {
  other_thread *other = argument;
  const tested_driver *driver = other->driver;
  uint64_t memory;
  void *graph;
  driver_use(driver);
  other->allocated = driver->allocate(&memory, BYTES);
  if (other->allocated == 0) driver->release(memory);
  other->ended = driver->end(other->stream, &graph);
  if (other->ended == 0) driver->graph_destroy(graph);
  return NULL;
}

static other_thread run_elsewhere(driver_bench *bench, int mode) {
  other_thread other = {.driver = bench->driver, .stream = bench->a};
  pthread_t thread;
  MUST(bench->driver->begin(bench->a, mode));
  cr_assert_eq(pthread_create(&thread, NULL, allocate_elsewhere, &other), 0);
  pthread_join(thread, NULL);
  return other;
}

/* A capture in global mode forbids other threads what is unsafe; only a relaxed one may end in
 * another thread. */
static void check_threads(const tested_driver *driver) {
  driver_bench bench = bench_make(driver, EMU_IMMEDIATE);
  other_thread other = run_elsewhere(&bench, GLOBAL);
  cr_expect_eq(other.allocated, EMU_CAPTURE_UNSUPPORTED);
  cr_expect_eq(other.ended, EMU_CAPTURE_WRONG_THREAD);
  expect_broken(&bench, "another thread");
  other = run_elsewhere(&bench, THREAD_LOCAL);
  cr_expect_eq(other.allocated, 0);
  cr_expect_eq(other.ended, EMU_CAPTURE_WRONG_THREAD);
  expect_broken(&bench, "another thread");
  other = run_elsewhere(&bench, RELAXED);
  cr_expect_eq(other.allocated, 0);
  cr_expect_eq(other.ended, 0);
  bench_end(&bench);
}
Test(driver_graphs, threads) { driver_each(check_threads); }

static void check_dependencies(const tested_driver *driver) {
  driver_bench bench = bench_make(driver, EMU_IMMEDIATE);
  void *outside, *graph;
  MUST(driver->event_create(&outside, 0));
  MUST(driver->event_record(outside, bench.other));
  EXPECT_FORBIDDEN(&bench, GLOBAL, driver->stream_wait(bench.a, outside, 0), EMU_CAPTURE_ISOLATION);
  MUST(driver->begin(bench.a, GLOBAL));
  MUST(driver->event_record(bench.event, bench.a));
  cr_expect_eq(driver->event_query(bench.event), EMU_CAPTURE_UNSUPPORTED);
  expect_broken(&bench, "a query");
  MUST(driver->begin(bench.a, RELAXED));
  MUST(driver->event_record(bench.event, bench.a));
  cr_expect_eq(driver->event_synchronize(bench.event), EMU_CAPTURED_EVENT);
  expect_broken(&bench, "an event of the capture");
  cr_expect_eq(driver->stream_wait(bench.b, bench.event, 0), EMU_CAPTURED_EVENT,
               "of a capture that has ended");
  MUST(driver->begin(bench.a, GLOBAL)); /* two captures */
  MUST(driver->begin(bench.b, GLOBAL));
  MUST(driver->event_record(bench.event, bench.b));
  cr_expect_eq(driver->stream_wait(bench.a, bench.event, 0), EMU_CAPTURE_MERGE);
  cr_expect_eq(driver->end(bench.b, &graph), EMU_CAPTURE_INVALIDATED);
  expect_broken(&bench, "a merge");
  MUST(driver->event_destroy(outside));
  bench_end(&bench);
}
Test(driver_graphs, dependencies) { driver_each(check_dependencies); }

static void check_ends(const tested_driver *driver) {
  driver_bench bench = bench_make(driver, EMU_IMMEDIATE);
  void *graph;
  cr_expect_eq(driver->end(bench.a, &graph), EMU_ILLEGAL_STATE);
  cr_expect_eq(driver->begin(DRIVER_LEGACY, GLOBAL), EMU_CAPTURE_UNSUPPORTED);
  MUST(driver->begin(bench.a, GLOBAL));
  cr_expect_eq(driver->begin(bench.a, GLOBAL), EMU_ILLEGAL_STATE);
  MUST(driver->event_record(bench.event, bench.a));
  MUST(driver->stream_wait(bench.b, bench.event, 0));
  MUST(driver->set(bench.x, 1, COUNT, bench.b));
  cr_expect_eq(driver->end(bench.a, &graph), EMU_CAPTURE_UNJOINED);
  cr_expect_null(graph);
  MUST(driver->begin(bench.a, GLOBAL));
  MUST(driver->event_record(bench.event, bench.a));
  MUST(driver->stream_wait(bench.b, bench.event, 0));
  cr_expect_eq(driver->end(bench.b, &graph), EMU_CAPTURE_UNMATCHED);
  expect_broken(&bench, "an end of another stream");
  MUST(driver->set(bench.x, 1, COUNT, bench.b)); /* which has left it, too */
  MUST(driver->stream_synchronize(bench.b));
  bench_end(&bench);
}
Test(driver_graphs, ends) { driver_each(check_ends); }

/* The legacy stream depends on every blocking stream, captured or not; on others it does not. */
static void check_legacy(const tested_driver *driver) {
  driver_bench bench = bench_make(driver, EMU_IMMEDIATE);
  driver_bench blocking = bench;
  int status;
  void *graph;
  MUST(driver->stream_create(&blocking.a, 0));
  MUST(driver->begin(blocking.a, RELAXED));
  cr_expect_eq(driver->is_capturing(DRIVER_LEGACY, &status), EMU_CAPTURE_IMPLICIT);
  MUST(driver->is_capturing(blocking.a, &status));
  cr_expect_eq(status, 1, "a question breaks nothing");
  MUST(driver->end(blocking.a, &graph));
  MUST(driver->graph_destroy(graph));
  EXPECT_FORBIDDEN(&blocking, RELAXED, driver->set(bench.x, 1, COUNT, DRIVER_LEGACY),
                   EMU_CAPTURE_IMPLICIT);
  EXPECT_FORBIDDEN(&blocking, RELAXED, driver->event_record(bench.event, DRIVER_LEGACY),
                   EMU_CAPTURE_IMPLICIT);
  EXPECT_FORBIDDEN(&blocking, RELAXED, driver->stream_synchronize(DRIVER_LEGACY),
                   EMU_CAPTURE_IMPLICIT);
  MUST(driver->begin(bench.a, GLOBAL));
  MUST(driver->set(bench.x, 1, COUNT, DRIVER_LEGACY));
  MUST(driver->end(bench.a, &graph));
  MUST(driver->graph_destroy(graph));
  MUST(driver->stream_destroy(blocking.a));
  bench_end(&bench);
}
Test(driver_graphs, legacy) { driver_each(check_legacy); }
