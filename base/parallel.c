/* Each thread of a loop has a share of it, contiguous, so that pages and cache lines are shared at
 * the seams only, and takes pieces off its front, large ones first. Who has none left takes the
 * back half of another's. */
#include "base/parallel.h"

#include "base/pool.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

/* Work of so many nanoseconds, or more, is worth waking threads for: twice what a small job then
 * takes longer. */
enum { WORTH_WAKING = 40000 };

/* Units [begin, end) that nobody has taken yet: begin in the low half of a word. */
typedef struct share {
  _Alignas(64) atomic_uint_fast64_t left;
} share;

typedef struct loop {
  llrt_parallel_body *body;
  void *data;
  int64_t count, unit; /* a unit is so many of count */
  int parts;
  share share[LLRT_POOL_MOST];
} loop;

static uint64_t pack(uint32_t begin, uint32_t end) { return (uint64_t)end << 32 | begin; }
static uint32_t begin_of(uint64_t range) { return (uint32_t)range; }
static uint32_t end_of(uint64_t range) { return (uint32_t)(range >> 32); }

/* Takes the first 1/parts of the units that are left of a share, rounded up; false: none are. */
static bool take(share *from, uint32_t parts, uint64_t *taken) {
  uint64_t left = atomic_load_explicit(&from->left, memory_order_relaxed), rest;
  do {
    uint32_t begin = begin_of(left), end = end_of(left);
    if (begin >= end) return false;
    uint32_t middle = begin + (end - begin - 1) / parts + 1;
    *taken = pack(begin, middle);
    rest = pack(middle, end);
  } while (!atomic_compare_exchange_weak_explicit(&from->left, &left, rest, memory_order_relaxed,
                                                  memory_order_relaxed));
  return true;
}

/* The back half of a share, which becomes the thief's. */
static bool steal(share *from, share *to) {
  uint64_t left = atomic_load_explicit(&from->left, memory_order_relaxed), rest;
  uint32_t begin, end, middle;
  do {
    begin = begin_of(left);
    end = end_of(left);
    if (begin >= end) return false;
    middle = begin + (end - begin) / 2;
    rest = pack(begin, middle);
  } while (!atomic_compare_exchange_weak_explicit(&from->left, &left, rest, memory_order_relaxed,
                                                  memory_order_relaxed));
  atomic_store_explicit(&to->left, pack(middle, end), memory_order_relaxed);
  return true;
}

static bool steal_any(loop *whole, int part) {
  for (int i = 1; i < whole->parts; i++)
    if (steal(&whole->share[(part + i) % whole->parts], &whole->share[part])) return true;
  return false;
}

static void do_units(const loop *whole, uint64_t units) {
  int64_t begin = begin_of(units) * whole->unit, end = end_of(units) * whole->unit;
  whole->body(whole->data, begin, end < whole->count ? end : whole->count);
}

/* Until no share has anything left. What others have just taken, they do. */
static void do_shares(loop *whole, int part) {
  uint64_t taken;
  do {
    while (take(&whole->share[part], 4, &taken)) do_units(whole, taken);
  } while (steal_any(whole, part));
}

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* One pass of the loop tells how long all take; where a pass is a unit, it is long enough. */
static void begin_shares(llrt_pool_call *call, loop *whole) {
  uint64_t first;
  if (whole->unit == 1 || !take(&whole->share[0], UINT32_MAX, &first)) {
    llrt_pool_wake(call);
    return;
  }
  int64_t begin = now_ns();
  whole->body(whole->data, 0, 1);
  int64_t spent = now_ns() - begin;
  if (spent >= WORTH_WAKING / whole->count) llrt_pool_wake(call);
  whole->body(whole->data, 1, whole->unit);
}

static void do_part(llrt_pool_call *call, void *data, int part) {
  if (part == 0) begin_shares(call, data);
  do_shares(data, part);
}

static void run_parts(int64_t count, int64_t unit, int parts, llrt_parallel_body *body,
                      void *data) {
  loop whole;
  whole.body = body;
  whole.data = data;
  whole.count = count;
  whole.unit = unit;
  whole.parts = parts;
  int64_t units = (count - 1) / unit + 1;
  for (int i = 0; i < parts; i++)
    atomic_init(&whole.share[i].left,
                pack((uint32_t)(units * i / parts), (uint32_t)(units * (i + 1) / parts)));
  llrt_pool_run(parts, do_part, &whole);
}

int llrt_parallel_threads(const llrt_parallel *parallel) {
  int cores = llrt_pool_cores();
  return parallel->threads > 0 && parallel->threads < cores ? parallel->threads : cores;
}

void llrt_parallel_run(const llrt_parallel *parallel, int64_t count, int64_t grain,
                       llrt_parallel_body *body, void *data) {
  if (count <= 0) return;
  if (parallel->run) {
    parallel->run(parallel->user, count, body, data);
    return;
  }
  int64_t unit = grain > 1 ? grain : 1;
  while ((count - 1) / unit >= INT32_MAX) unit *= 2; /* a unit's number has 32 bits */
  int64_t parts = (count - 1) / unit + 1;
  int threads = llrt_parallel_threads(parallel);
  if (parts > threads) parts = threads;
  if (parts > 1) run_parts(count, unit, (int)parts, body, data);
  else body(data, 0, count);
}
