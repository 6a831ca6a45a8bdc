/* Pieces of work: kernels, copies, settings of memory, calls of the host. */
#include "emulators/common/emu_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void emu_launch_release(emu_launch *launch) {
  if (launch && atomic_fetch_sub(&launch->holders, 1) == 1) launch->destroy(launch);
}

void emu_work_drop(emu_work *work) {
  emu_launch_release(work->launch);
  free(work->staged);
  if (work->block) emu_block_drop(work->block);
  emu_stamp_drop(work->stamp);
  if (work->exec) emu_exec_drop(work->exec);
  *work = (emu_work){.kind = EMU_WORK_NOTHING};
}

/* ---- running, with the run lock ---- */

/* Memory, on whichever device, that holds the bytes now. */
static emu_range *find_memory(emu_context *first, uint64_t address, size_t bytes) {
  emu_range *range = emu_find_any(first, address, bytes);
  return range && !range->hidden ? range : NULL;
}

static int lost(char *trouble, size_t size, const char *what, uint64_t address, size_t bytes) {
  snprintf(
      trouble, size,
      "access out of range: %s of %zu bytes, address 0x%llx, that are not allocated when it runs",
      what, bytes, (unsigned long long)address);
  return EMU_ILLEGAL_ADDRESS;
}

static int run_copy(emu_context *context, const emu_work *work, char *trouble, size_t size) {
  emu_range *from = work->from_host ? NULL : find_memory(context, work->from, work->bytes);
  emu_range *to = work->to_host ? NULL : find_memory(context, work->to, work->bytes);
  const void *source = work->staged ? work->staged : (const void *)(uintptr_t)work->from;
  if (!work->from_host && !from) return lost(trouble, size, "a copy", work->from, work->bytes);
  if (!work->to_host && !to) return lost(trouble, size, "a copy", work->to, work->bytes);
  memmove((void *)(uintptr_t)work->to, source, work->bytes);
  if (to && from)
    memmove(emu_range_undefined(to, work->to), emu_range_undefined(from, work->from), work->bytes);
  else if (to) memset(emu_range_undefined(to, work->to), 0, work->bytes);
  return 0;
}

static int run_set(emu_context *context, const emu_work *work, char *trouble, size_t size) {
  size_t bytes = work->bytes * work->width;
  emu_range *range = find_memory(context, work->to, bytes);
  if (!range) return lost(trouble, size, "a memset", work->to, bytes);
  uint8_t *data = emu_range_data(range, work->to);
  if (work->width == 1) {
    memset(data, (int)work->value, bytes);
  } else {
    for (size_t i = 0; i < bytes; i++) data[i] = (uint8_t)(work->value >> 8 * (i % work->width));
  }
  memset(emu_range_undefined(range, work->to), 0, bytes);
  return 0;
}

static int run_locked(emu_context *context, const emu_work *work, char *trouble, size_t size) {
  emu_run_lock();
  int result = 0;
  switch (work->kind) {
  case EMU_WORK_KERNEL: result = work->launch->run(work->launch, trouble, size); break;
  case EMU_WORK_COPY: result = run_copy(context, work, trouble, size); break;
  case EMU_WORK_SET: result = run_set(context, work, trouble, size); break;
  case EMU_WORK_ALLOCATE: result = emu_run_allocate(work->block); break;
  case EMU_WORK_FREE: result = emu_run_free(work->block); break;
  default: break;
  }
  emu_run_unlock();
  return result;
}

int emu_work_run(emu_context *context, const emu_work *work, char *trouble, size_t size) {
  trouble[0] = 0;
  switch (work->kind) {
  case EMU_WORK_CALL: work->call(work->user); return 0;
  case EMU_WORK_GRAPH: return emu_exec_run(work->exec, context, trouble, size);
  case EMU_WORK_NOTHING: return 0;
  case EMU_WORK_STAMP:
    clock_gettime(CLOCK_MONOTONIC, &work->stamp->time);
    atomic_store(&work->stamp->passed, true);
    return 0;
  default: return run_locked(context, work, trouble, size);
  }
}

/* ---- queueing ---- */

int emu_queue_launch(emu_stream *stream, emu_launch *launch) {
  if (launch->context != stream->context) return EMU_INVALID_HANDLE;
  atomic_fetch_add(&launch->holders, 1);
  emu_work work = {.kind = EMU_WORK_KERNEL, .launch = launch};
  return emu_submit(stream, &work, NULL, NULL);
}

int emu_queue_call(emu_stream *stream, void (*call)(void *), void *user) {
  if (!call) return EMU_INVALID_VALUE;
  emu_work work = {.kind = EMU_WORK_CALL, .call = call, .user = user};
  return emu_submit(stream, &work, NULL, NULL);
}

/* Addresses that are taken, be it that what lies there comes or goes in some stream's order. */
static bool is_taken(emu_stream *stream, uint64_t address, size_t bytes) {
  emu_run_lock();
  bool found = emu_find_any(stream->context, address, bytes) != NULL;
  emu_run_unlock();
  return found;
}

static bool is_pageable(uint64_t address, size_t bytes) {
  emu_run_lock();
  bool pinned = emu_is_pinned(address, bytes);
  emu_run_unlock();
  return !pinned;
}

static bool captures(emu_stream *stream) {
  emu_lock();
  bool capturing = stream->capture != NULL;
  emu_unlock();
  return capturing;
}

/* A captured copy reads and writes host memory when it is replayed. */
static int submit_copy(emu_stream *stream, emu_work *work) {
  bool capturing = captures(stream);
  bool from_pageable = !capturing && work->from_host && is_pageable(work->from, work->bytes);
  bool to_pageable = !capturing && work->to_host && is_pageable(work->to, work->bytes);
  if (from_pageable) {
    work->staged = malloc(work->bytes);
    if (!work->staged) return EMU_OUT_OF_MEMORY;
    memcpy(work->staged, (const void *)(uintptr_t)work->from, work->bytes);
  }
  emu_point at = {NULL, 0};
  emu_context *context = stream->context;
  int result = emu_submit(stream, work, NULL, &at);
  emu_lock();
  if (!result && to_pageable && !emu_is_done(&at)) {
    emu_run_until(at);
    result = emu_take_failure(context);
  }
  emu_point_set(&at, NULL, 0);
  emu_unlock();
  return result;
}

int emu_queue_copy(emu_stream *stream, uint64_t to, uint64_t from, size_t bytes,
                   emu_copy_kind kind) {
  if (bytes == 0) return 0;
  emu_work work = {.kind = EMU_WORK_COPY, .to = to, .from = from, .bytes = bytes};
  bool to_device = is_taken(stream, to, bytes), from_device = is_taken(stream, from, bytes);
  work.to_host = kind == EMU_COPY_FROM_DEVICE || (kind == EMU_COPY_ANY && !to_device);
  work.from_host = kind == EMU_COPY_TO_DEVICE || (kind == EMU_COPY_ANY && !from_device);
  if ((!work.to_host && !to_device) || (!work.from_host && !from_device)) return EMU_INVALID_VALUE;
  return submit_copy(stream, &work);
}

int emu_queue_set(emu_stream *stream, uint64_t to, uint32_t value, unsigned width, size_t count) {
  if (count == 0) return 0;
  if (to % width != 0 || !is_taken(stream, to, count * width)) return EMU_INVALID_VALUE;
  emu_work work = {.kind = EMU_WORK_SET, .to = to, .value = value, .width = width, .bytes = count};
  return emu_submit(stream, &work, NULL, NULL);
}
