#include "tools/common/best_device.h"

typedef struct search {
  llrt_context *context;
  const llrt_device_params *params;
  llrt_device *found;
  llrt_status status; /* of the last attempt */
} search;

/* Opens each usable device in turn until one opens; the host comes last. */
static void try_device(void *user, const char *name, const char *why) {
  search *s = user;
  if (!why && !s->found) s->status = llrt_device_open(s->context, name, s->params, &s->found);
}

llrt_status best_device_open(llrt_context *context, const char *name, const char *target,
                             llrt_device **device) {
  llrt_device_params params = {.target = target};
  *device = NULL;
  if (name) return llrt_device_open(context, name, &params, device);
  search s = {context, &params, NULL, LLRT_UNAVAILABLE};
  llrt_status status = llrt_device_enumerate(context, &s, try_device);
  if (s.found) {
    *device = s.found;
    return LLRT_OK;
  }
  return status != LLRT_OK ? status : s.status;
}
