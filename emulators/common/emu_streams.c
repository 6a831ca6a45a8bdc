/* Streams as users see them. */
#include "emulators/common/emu_state.h"

#include <stdlib.h>
#include <string.h>

emu_stream *emu_stream_make(emu_context *context, unsigned flags) {
  emu_stream *stream = calloc(1, sizeof *stream);
  if (!stream) return NULL;
  stream->holders = 1;
  stream->context = context;
  stream->id = emu_next_id();
  stream->flags = flags;
  stream->end = &stream->head;
  stream->next = context->streams;
  context->streams = stream;
  return stream;
}

void emu_stream_drop(emu_stream *stream) {
  if (--stream->holders > 0) return;
  free(stream->front);
  free(stream);
}

void emu_stream_unlink(emu_stream *stream) {
  emu_stream **link = &stream->context->streams;
  while (*link && *link != stream) link = &(*link)->next;
  if (!*link) return;
  *link = stream->next;
  stream->gone = true;
  emu_tell_change();
  emu_stream_drop(stream);
}

int emu_stream_create(emu_context *context, unsigned flags, int priority, void **handle) {
  *handle = NULL;
  if (!context) return EMU_INVALID_CONTEXT;
  if (flags & ~EMU_STREAM_NON_BLOCKING) return EMU_INVALID_VALUE;
  emu_lock();
  emu_stream *stream = emu_stream_make(context, flags);
  if (stream) stream->priority = priority;
  emu_unlock();
  *handle = stream;
  return stream ? 0 : EMU_OUT_OF_MEMORY;
}

static bool is_default(const void *handle) {
  return !handle || handle == EMU_STREAM_LEGACY || handle == EMU_STREAM_PER_THREAD;
}

/* With the lock: of those that users made. NULL: none. */
static emu_stream *find_made(const void *handle) {
  for (emu_context *context = emu_contexts; context; context = context->next) {
    for (emu_stream *stream = context->streams; stream; stream = stream->next) {
      if (stream == handle) return stream->gone || stream->legacy || stream->thread ? NULL : stream;
    }
  }
  return NULL;
}

static emu_stream *find_of_thread(emu_context *context) {
  emu_stream *stream = context->streams;
  while (stream && stream->thread != emu_this_thread()) stream = stream->next;
  if (!stream) stream = emu_stream_make(context, 0);
  if (stream) stream->thread = emu_this_thread();
  return stream;
}

int emu_stream_find(emu_context *current, void *handle, emu_stream **stream) {
  *stream = NULL;
  if (is_default(handle) && !current) return EMU_INVALID_CONTEXT;
  emu_lock();
  if (!is_default(handle)) {
    *stream = find_made(handle);
  } else {
    *stream = handle == EMU_STREAM_PER_THREAD ? find_of_thread(current) : current->legacy;
  }
  emu_unlock();
  return *stream ? 0 : EMU_INVALID_HANDLE;
}

/* Work that is left runs still. */
int emu_stream_destroy(void *handle) {
  emu_lock();
  emu_stream *stream = is_default(handle) ? NULL : find_made(handle);
  if (stream) {
    if (stream->capture) stream->capture->broken = true;
    if (stream->capture && stream->capture->origin == stream) stream->capture->origin = NULL;
    emu_capture_leave(stream);
    stream->gone = true;
    if (!stream->head && !stream->busy) emu_stream_unlink(stream);
  }
  emu_unlock();
  return stream ? 0 : EMU_INVALID_HANDLE;
}

emu_context *emu_stream_context(const emu_stream *stream) { return stream->context; }
uint64_t emu_stream_id(const emu_stream *stream) { return stream->id; }
unsigned emu_stream_flags(const emu_stream *stream) { return stream->flags; }
int emu_stream_priority(const emu_stream *stream) { return stream->priority; }

/* ---- waiting ---- */

/* What the stream has to do, in *points; the legacy stream's is all of the blocking streams'. Their
 * number. */
static int find_work(const emu_stream *stream, emu_point *points, int most) {
  int n = 0;
  for (emu_stream *other = stream->context->streams; other && n < most; other = other->next) {
    bool covered = other == stream || (stream->legacy && !(other->flags & EMU_STREAM_NON_BLOCKING));
    if (covered && other->done < other->tail) emu_point_set(&points[n++], other, other->tail);
  }
  return n;
}

/* Some at a time; what is queued meanwhile by others does not count for ever, since done numbers
 * pass the tails of the beginning. */
static void wait_for_work(emu_stream *stream) {
  emu_point points[64] = {{NULL, 0}};
  int n = find_work(stream, points, 64);
  for (int i = 0; i < n; i++) {
    emu_run_until(points[i]);
    emu_point_set(&points[i], NULL, 0);
  }
}

int emu_stream_synchronize(emu_stream *stream) {
  emu_lock();
  int result = emu_capture_check_thread();
  if (!result) result = emu_capture_check_wait(stream);
  if (!result) {
    stream->holders++;
    emu_context *context = stream->context;
    wait_for_work(stream);
    result = emu_take_failure(context);
    emu_stream_drop(stream);
  }
  emu_unlock();
  emu_pools_settle();
  return result;
}

/* Who polls makes a step of what is polled. */
int emu_stream_query(emu_stream *stream) {
  emu_point point = {NULL, 0};
  emu_lock();
  int result = emu_capture_check_thread();
  if (!result) result = emu_capture_check_wait(stream);
  if (!result && find_work(stream, &point, 1) > 0) {
    emu_nudge(point);
    emu_point_set(&point, NULL, 0);
    result = EMU_NOT_READY;
  } else if (!result) {
    result = emu_take_failure(stream->context);
  }
  emu_unlock();
  return result;
}

/* The newest first, which in modes that delay is the order that nobody expects. A stream whose
 * handle was given back leaves the list when its work is done, so each turn looks anew. */
void emu_context_drain(emu_context *context) {
  for (;;) {
    emu_stream *stream = context->streams;
    while (stream && stream->done == stream->tail) stream = stream->next;
    if (!stream) return;
    emu_run_until((emu_point){stream, stream->tail});
  }
}

/* ---- work from outside ---- */

int emu_submit(emu_stream *stream, emu_work *work, const emu_point *wait, emu_point *at) {
  bool taken = false;
  emu_lock();
  int result = emu_capture_take(stream, work, &taken);
  if (!taken && result) emu_work_drop(work);
  if (!taken && !result) result = emu_enqueue(stream, work, wait, at);
  emu_unlock();
  return result;
}

int emu_stream_wait_event(emu_stream *stream, void *handle) {
  emu_event *event = handle;
  bool taken = false;
  emu_lock();
  int result = emu_capture_wait(stream, event, &taken);
  if (!taken && !result && event->at.stream && !emu_is_done(&event->at)) {
    emu_work nothing = {.kind = EMU_WORK_NOTHING};
    emu_point held = {NULL, 0};
    emu_point_set(&held, event->at.stream, event->at.number);
    result = emu_enqueue(stream, &nothing, &held, NULL);
    emu_point_set(&held, NULL, 0);
  }
  emu_unlock();
  return result;
}
