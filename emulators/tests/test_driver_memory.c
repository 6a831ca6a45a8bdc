/* Memory of the emulated drivers: stream-ordered pools, contexts, what addresses are. */
#include "driver_fixture.h"

#include "emulators/gfx9/emu_hip.h"
#include "emulators/ptx/emu_cuda.h"

#include <criterion/criterion.h>
#include <string.h>

enum { COUNT = 1024, BYTES = COUNT * (int)sizeof(int32_t) };
enum {
  THRESHOLD = 4,
  RESERVED = 5,
  RESERVED_HIGH = 6,
  USED = 7,
  USED_HIGH = 8
}; /* CUmemPool_attribute */
static const emu_mode modes[] = {EMU_IMMEDIATE, EMU_WORKERS, EMU_LATE, EMU_CROSSED};
#define N_MODES 4

#define MUST(call) cr_assert_eq((call), 0, #call)

typedef struct two_streams {
  void *a, *b, *event;
} two_streams;

static two_streams streams_make(const tested_driver *driver, emu_mode mode) {
  two_streams streams;
  driver->set_mode(mode);
  MUST(driver->stream_create(&streams.a, DRIVER_NON_BLOCKING));
  MUST(driver->stream_create(&streams.b, DRIVER_NON_BLOCKING));
  MUST(driver->event_create(&streams.event, 0));
  return streams;
}

static void streams_end(const tested_driver *driver, two_streams *streams) {
  MUST(driver->synchronize());
  MUST(driver->stream_destroy(streams->a));
  MUST(driver->stream_destroy(streams->b));
  MUST(driver->event_destroy(streams->event));
}

static unsigned long long get(const tested_driver *driver, void *pool, int attribute) {
  unsigned long long value = 0;
  MUST(driver->pool_get(pool, attribute, &value));
  return value;
}

static void *make_pool(const tested_driver *driver, size_t most_bytes) {
  const cuda_pool_properties properties = {.allocation_type = CUDA_ALLOCATION_PINNED,
                                           .location_type = CUDA_LOCATION_DEVICE,
                                           .location_id = driver->device,
                                           .max_bytes = most_bytes};
  _Static_assert(sizeof(hip_pool_properties) == sizeof properties, "one layout");
  void *pool;
  MUST(driver->pool_create(&pool, &properties));
  return pool;
}

/* ---- pools ---- */

/* Memory is there in the order of its stream: for who waits for it, until it is given back. */
static void check_ordered(const tested_driver *driver) {
  for (int m = 0; m < N_MODES; m++) {
    two_streams streams = streams_make(driver, modes[m]);
    uint64_t memory;
    int32_t host = 0;
    MUST(driver->allocate_on(&memory, BYTES, streams.a));
    cr_expect_eq(memory % 256, 0);
    MUST(driver->event_record(streams.event, streams.a));
    MUST(driver->stream_wait(streams.b, streams.event, 0));
    MUST(driver->set(memory, 11, COUNT, streams.b));
    MUST(driver->event_record(streams.event, streams.b));
    MUST(driver->stream_wait(streams.a, streams.event, 0));
    MUST(driver->fetch(&host, memory, sizeof host, streams.a));
    MUST(driver->release_on(memory, streams.a));
    cr_expect_eq(driver->release_on(memory, streams.a), EMU_INVALID_VALUE);
    cr_expect_eq(driver->release(memory), EMU_INVALID_VALUE);
    MUST(driver->stream_synchronize(streams.a));
    cr_expect_eq(host, 11, "%s, mode %d", driver->name, modes[m]);
    streams_end(driver, &streams);
  }
}
Test(driver_memory, ordered) { driver_each(check_ordered); }

/* Used by another stream that did not wait for the allocation, or after it was given back. */
static void check_too_early(const tested_driver *driver) {
  two_streams streams = streams_make(driver, EMU_LATE);
  uint64_t memory;
  MUST(driver->allocate_on(&memory, BYTES, streams.a));
  MUST(driver->set(memory, 1, COUNT, streams.b));
  cr_expect_eq(driver->stream_synchronize(streams.b), EMU_ILLEGAL_ADDRESS);
  MUST(driver->stream_synchronize(streams.a));
  MUST(driver->release_on(memory, streams.a));
  streams_end(driver, &streams);
}
Test(driver_memory, too_early) { driver_each(check_too_early); }

static void check_too_late(const tested_driver *driver) {
  for (int m = 0; m < N_MODES; m++) {
    two_streams streams = streams_make(driver, modes[m]);
    uint64_t memory, other;
    MUST(driver->allocate_on(&memory, BYTES, streams.a));
    MUST(driver->release_on(memory, streams.a));
    MUST(driver->allocate_on(&other, BYTES, streams.a)); /* does not get the same addresses */
    int result = driver->set(memory, 1, COUNT, streams.a),
        waited = driver->stream_synchronize(streams.a);
    cr_expect_eq(result ? result : waited, EMU_ILLEGAL_ADDRESS, "%s, mode %d", driver->name,
                 modes[m]);
    MUST(driver->release_on(other, streams.a));
    streams_end(driver, &streams);
  }
}
Test(driver_memory, too_late) { driver_each(check_too_late); }

static void check_counts(const tested_driver *driver) {
  two_streams streams = streams_make(driver, EMU_LATE);
  void *pool = make_pool(driver, 0);
  unsigned long long all = ~0ull, none = 0;
  uint64_t memory;
  size_t bytes = (size_t)3 << 20;
  MUST(driver->allocate_from(&memory, bytes, pool, streams.a));
  cr_expect_eq(get(driver, pool, USED), bytes);
  cr_expect_geq(get(driver, pool, RESERVED), bytes);
  MUST(driver->pool_set(pool, THRESHOLD, &all));
  MUST(driver->release_on(memory, streams.a));
  MUST(driver->stream_synchronize(streams.a));
  cr_expect_eq(get(driver, pool, USED), 0);
  cr_expect_geq(get(driver, pool, RESERVED), bytes, "the threshold keeps it");
  MUST(driver->pool_trim(pool, 0));
  cr_expect_eq(get(driver, pool, RESERVED), 0);
  cr_expect_eq(get(driver, pool, USED_HIGH), bytes);
  MUST(driver->pool_set(pool, USED_HIGH, &none));
  cr_expect_eq(get(driver, pool, USED_HIGH), 0);
  cr_expect_eq(driver->pool_set(pool, USED, &none), EMU_INVALID_VALUE);
  MUST(driver->pool_set(pool, THRESHOLD, &none));
  MUST(driver->allocate_from(&memory, bytes, pool, streams.a));
  MUST(driver->release_on(memory, streams.a));
  MUST(driver->stream_synchronize(streams.a));
  cr_expect_eq(get(driver, pool, RESERVED), 0, "nothing keeps it");
  MUST(driver->pool_destroy(pool));
  cr_expect_eq(driver->pool_trim(pool, 0), EMU_INVALID_VALUE);
  streams_end(driver, &streams);
}
Test(driver_memory, counts) { driver_each(check_counts); }

/* A pool that is destroyed lives on until its memory is back; one with a limit keeps it. */
static void check_limits(const tested_driver *driver) {
  two_streams streams = streams_make(driver, EMU_IMMEDIATE);
  void *pool = make_pool(driver, 2 * BYTES), *own;
  uint64_t memory, more = 1;
  MUST(driver->allocate_from(&memory, BYTES, pool, streams.a));
  cr_expect_eq(driver->allocate_from(&more, BYTES + 1, pool, streams.a), EMU_OUT_OF_MEMORY);
  cr_expect_eq(more, 0);
  cr_expect_eq(driver->allocate_on(&more, (size_t)1 << 40, streams.a), EMU_OUT_OF_MEMORY);
  cr_expect_eq(driver->allocate_on(&more, 0, streams.a), EMU_INVALID_VALUE);
  MUST(driver->pool_destroy(pool));
  MUST(driver->set(memory, 1, COUNT, streams.a));
  MUST(driver->release(memory)); /* also the other way */
  MUST(driver->pool_default(&own, driver->device));
  cr_expect_eq(driver->pool_destroy(own), EMU_INVALID_VALUE);
  streams_end(driver, &streams);
}
Test(driver_memory, limits) { driver_each(check_limits); }

/* ---- addresses ---- */

static void check_addresses(const tested_driver *driver) {
  if (strcmp(driver->name, "cuda") != 0) return;
  int (*attribute)(void *, int, cuda_ptr) =
      (int (*)(void *, int, cuda_ptr))driver_symbol(driver, "cuPointerGetAttribute");
  int (*attributes)(unsigned, int *, void **, cuda_ptr) =
      (int (*)(unsigned, int *, void **, cuda_ptr))driver_symbol(driver, "cuPointerGetAttributes");
  uint64_t memory, begin = 0;
  size_t bytes = 0;
  unsigned type = 9;
  int device = 9, local, which[] = {2, 9};
  void *data[] = {&type, &device};
  MUST(driver->allocate(&memory, BYTES));
  MUST(attribute(&type, 2, memory + 5));
  MUST(attribute(&begin, 11, memory + 5));
  MUST(attribute(&bytes, 12, memory + 5));
  cr_expect(type == 2 && begin == memory && bytes == BYTES);
  cr_expect_eq(attribute(&type, 2, (uintptr_t)&local), EMU_INVALID_VALUE);
  MUST(attributes(2, which, data, (uintptr_t)&local));
  cr_expect(type == 0 && device == -2, "memory of the host alone");
  MUST(attributes(2, which, data, memory));
  cr_expect(type == 2 && device == driver->device);
  MUST(driver->release(memory));
  cr_expect_eq(attribute(&type, 2, memory), EMU_INVALID_VALUE);
}
Test(driver_memory, addresses) { driver_each(check_addresses); }

static void check_addresses_of_hip(const tested_driver *driver) {
  if (strcmp(driver->name, "hip") != 0) return;
  int (*attributes)(hip_pointer_attributes *, const void *) =
      (int (*)(hip_pointer_attributes *, const void *))driver_symbol(driver,
                                                                     "hipPointerGetAttributes");
  hip_pointer_attributes found;
  uint64_t memory;
  void *host;
  int local;
  MUST(driver->allocate(&memory, BYTES));
  MUST(attributes(&found, (const void *)(uintptr_t)memory));
  cr_expect(found.type == 2 && found.device == driver->device);
  MUST(driver->allocate_host(&host, BYTES, 0));
  MUST(attributes(&found, host));
  cr_expect(found.type == 1 && found.host_pointer == host);
  MUST(attributes(&found, &local));
  cr_expect_eq(found.type, 0);
  MUST(driver->release_host(host));
  MUST(driver->release(memory));
}
Test(driver_memory, addresses_of_hip) { driver_each(check_addresses_of_hip); }

/* ---- contexts: CUDA's alone ---- */

typedef struct context_calls {
  int (*create)(void **, unsigned, int), (*destroy)(void *), (*push)(void *), (*pop)(void **),
      (*current)(void **);
  int (*set)(void *), (*release)(int), (*retain)(void **, int), (*state)(int, unsigned *, int *);
} context_calls;

static context_calls contexts_of(const tested_driver *driver) {
  context_calls contexts;
  *(void **)&contexts.create = driver_symbol(driver, "cuCtxCreate_v2");
  *(void **)&contexts.destroy = driver_symbol(driver, "cuCtxDestroy_v2");
  *(void **)&contexts.push = driver_symbol(driver, "cuCtxPushCurrent_v2");
  *(void **)&contexts.pop = driver_symbol(driver, "cuCtxPopCurrent_v2");
  *(void **)&contexts.current = driver_symbol(driver, "cuCtxGetCurrent");
  *(void **)&contexts.set = driver_symbol(driver, "cuCtxSetCurrent");
  *(void **)&contexts.release = driver_symbol(driver, "cuDevicePrimaryCtxRelease_v2");
  *(void **)&contexts.retain = driver_symbol(driver, "cuDevicePrimaryCtxRetain");
  *(void **)&contexts.state = driver_symbol(driver, "cuDevicePrimaryCtxGetState");
  return contexts;
}

/* A context is current for its thread; what belongs to it goes with it. */
static void check_contexts(const tested_driver *driver) {
  if (strcmp(driver->name, "cuda") != 0) return;
  context_calls contexts = contexts_of(driver);
  void *primary, *own, *found, *stream;
  uint64_t memory;
  int32_t host;
  MUST(contexts.current(&primary));
  MUST(contexts.create(&own, 0, 1));
  MUST(contexts.current(&found));
  cr_expect_eq(found, own);
  MUST(driver->allocate(&memory, BYTES));
  MUST(driver->stream_create(&stream, 0));
  MUST(contexts.pop(&found));
  MUST(contexts.current(&found));
  cr_expect_eq(found, primary);
  MUST(driver->set(memory, 1, COUNT, stream)); /* a stream knows its context */
  MUST(driver->stream_synchronize(stream));
  MUST(contexts.destroy(own));
  cr_expect_eq(driver->stream_synchronize(stream), EMU_INVALID_HANDLE);
  cr_expect_eq(driver->fetch(&host, memory, sizeof host, NULL), EMU_INVALID_VALUE);
  cr_expect_eq(contexts.push(own), EMU_INVALID_CONTEXT);
  cr_expect_eq(contexts.destroy(primary), EMU_INVALID_CONTEXT);
  MUST(contexts.set(NULL));
  cr_expect_eq(driver->allocate(&memory, BYTES), EMU_INVALID_CONTEXT);
  cr_expect_eq(driver->stream_synchronize(NULL), EMU_INVALID_CONTEXT);
  MUST(contexts.set(primary));
}
Test(driver_memory, contexts) { driver_each(check_contexts); }

/* The last release of a primary context frees what it has. */
static void check_primary(const tested_driver *driver) {
  if (strcmp(driver->name, "cuda") != 0) return;
  context_calls contexts = contexts_of(driver);
  void *context, *again;
  unsigned flags;
  int active;
  uint64_t memory;
  int32_t host;
  MUST(contexts.retain(&context, 2));
  MUST(contexts.push(context));
  MUST(driver->allocate(&memory, BYTES));
  MUST(driver->set(memory, 1, COUNT, NULL));
  MUST(contexts.retain(&again, 2));
  cr_expect_eq(context, again);
  MUST(contexts.release(2));
  MUST(driver->fetch(&host, memory, sizeof host, NULL));
  MUST(contexts.release(2));
  cr_expect_eq(driver->fetch(&host, memory, sizeof host, NULL), EMU_INVALID_VALUE);
  MUST(contexts.state(2, &flags, &active));
  cr_expect_eq(active, 0);
  cr_expect_eq(contexts.release(2), EMU_INVALID_CONTEXT);
  MUST(contexts.pop(&context));
}
Test(driver_memory, primary) { driver_each(check_primary); }
