/* Events: where a stream was when it was asked, and when it passed there. */
#include "emulators/common/emu_state.h"

#include <stdlib.h>

static emu_event *events; /* with the state's lock */

static bool is_one(const void *handle) {
  const emu_event *event = events;
  while (event && event != handle) event = event->next;
  return event != NULL;
}

int emu_event_create(unsigned flags, void **handle) {
  emu_event *event = calloc(1, sizeof *event);
  *handle = event;
  if (!event) return EMU_OUT_OF_MEMORY;
  event->flags = flags;
  emu_lock();
  event->next = events;
  events = event;
  emu_unlock();
  return 0;
}

void emu_stamp_drop(emu_stamp *stamp) {
  if (stamp && atomic_fetch_sub(&stamp->holders, 1) == 1) free(stamp);
}

static void forget_record(emu_event *event) {
  emu_point_set(&event->at, NULL, 0);
  emu_stamp_drop(event->stamp);
  event->stamp = NULL;
  emu_capture_forget(&event->capture, &event->tips);
}

int emu_event_destroy(void *handle) {
  emu_event *event = handle;
  emu_lock();
  bool known = is_one(handle);
  if (known) {
    emu_event **link = &events;
    while (*link != event) link = &(*link)->next;
    *link = event->next;
    forget_record(event);
    free(event);
  }
  emu_unlock();
  return known ? 0 : EMU_INVALID_HANDLE;
}

static int record(emu_event *event, emu_stream *stream) {
  bool taken = false;
  int result = emu_capture_record(event, stream, &taken);
  if (taken || result) return result;
  emu_stamp *stamp = calloc(1, sizeof *stamp);
  if (!stamp) return EMU_OUT_OF_MEMORY;
  forget_record(event);
  stamp->holders = 2; /* the event's and the work's */
  event->stamp = stamp;
  emu_work work = {.kind = EMU_WORK_STAMP, .stamp = stamp};
  emu_point at = {NULL, 0}; /* the event's own may be recorded anew while work runs */
  result = emu_enqueue(stream, &work, NULL, &at);
  if (event->stamp == stamp) emu_point_set(&event->at, at.stream, at.number);
  emu_point_set(&at, NULL, 0);
  return result;
}

int emu_event_record(void *handle, emu_stream *stream) {
  emu_lock();
  int result = is_one(handle) ? record(handle, stream) : EMU_INVALID_HANDLE;
  emu_unlock();
  return result;
}

/* An event that may be asked. */
static int check(const void *handle) {
  if (!is_one(handle)) return EMU_INVALID_HANDLE;
  int result = emu_capture_check_thread();
  return result ? result : emu_capture_check_event(handle);
}

static int failure_of(const emu_event *event) {
  return event->at.stream && !event->at.stream->gone ? emu_take_failure(event->at.stream->context)
                                                     : 0;
}

int emu_event_query(void *handle) {
  emu_event *event = handle;
  emu_lock();
  int result = check(handle);
  if (!result && !emu_is_done(&event->at)) {
    emu_nudge(event->at);
    result = EMU_NOT_READY;
  } else if (!result) {
    result = failure_of(event);
  }
  emu_unlock();
  return result;
}

int emu_event_synchronize(void *handle) {
  emu_event *event = handle;
  emu_lock();
  int result = check(handle);
  if (!result) {
    emu_run_until(event->at);
    result = failure_of(event);
  }
  emu_unlock();
  emu_pools_settle();
  return result;
}

static int elapsed(emu_event *start, emu_event *stop, float *milliseconds) {
  if (!is_one(start) || !is_one(stop)) return EMU_INVALID_HANDLE;
  if (emu_capture_check_event(start) || emu_capture_check_event(stop)) return EMU_CAPTURED_EVENT;
  if (!start->stamp || !stop->stamp || (start->flags | stop->flags) & EMU_EVENT_WITHOUT_TIME)
    return EMU_INVALID_HANDLE;
  if (!atomic_load(&start->stamp->passed) || !atomic_load(&stop->stamp->passed))
    return EMU_NOT_READY;
  const struct timespec *from = &start->stamp->time, *to = &stop->stamp->time;
  *milliseconds = (float)((double)(to->tv_sec - from->tv_sec) * 1e3 +
                          (double)(to->tv_nsec - from->tv_nsec) * 1e-6);
  return 0;
}

int emu_event_elapsed(void *start, void *stop, float *milliseconds) {
  emu_lock();
  *milliseconds = 0;
  int result = elapsed(start, stop, milliseconds);
  emu_unlock();
  return result;
}
