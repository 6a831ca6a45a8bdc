/* Events: a backend's event, its device, and whether it was recorded. */
#include "base/memory.h"
#include "base/status.h"
#include "runtime/context.h"

#include <stdlib.h>

struct llrt_event {
  llrt_device *device;
  backend_event *event;
  atomic_bool recorded;
};

llrt_status llrt_event_create(llrt_device *device, llrt_event **out) {
  LLRT_ENTRY();
  LLRT_REQUIRE(out, "event is NULL");
  *out = NULL;
  LLRT_REQUIRE(device, "device is NULL");
  llrt_event *event = memory_zeroed(1, sizeof *event);
  if (!event) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for an event");
  event->device = device;
  llrt_status status = device->backend->event_create(device, &event->event);
  if (status != LLRT_OK) {
    free(event);
    return status;
  }
  *out = event;
  return LLRT_OK;
}

void llrt_event_destroy(llrt_event **address) {
  if (!address || !*address) return;
  llrt_event *event = *address;
  *address = NULL;
  event->device->backend->event_destroy(event->device, event->event);
  free(event);
}

llrt_status llrt_event_record(llrt_event *event, void *stream) {
  LLRT_ENTRY();
  LLRT_REQUIRE(event, "event is NULL");
  LLRT_TRY(llrt_validate_stream(event->device, stream));
  LLRT_TRY(event->device->backend->event_record(event->device, event->event, stream));
  atomic_store(&event->recorded, true);
  return LLRT_OK;
}

llrt_status llrt_event_elapsed(const llrt_event *start, const llrt_event *stop,
                               double *microseconds) {
  LLRT_ENTRY();
  LLRT_REQUIRE(microseconds, "microseconds is NULL");
  *microseconds = 0;
  LLRT_REQUIRE(start && stop, "an event is NULL");
  LLRT_REQUIRE(start->device == stop->device, "the events are of two devices");
  LLRT_REQUIRE(atomic_load(&start->recorded) && atomic_load(&stop->recorded),
               "an event was never recorded");
  return start->device->backend->event_elapsed(start->device, start->event, stop->event,
                                               microseconds);
}
