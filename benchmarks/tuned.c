#include "tuned.h"

#include "backends/backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static plan_tuning tuning;

static bool is_named(const char *text, size_t length, const char *name) {
  return strlen(name) == length && strncmp(text, name, length) == 0;
}

static bool set(const char *name, size_t length, double value) {
#define ROW(type, field, unit, trades, source) \
  if (is_named(name, length, #field)) { \
    tuning.field = (type)value; \
    return true; \
  }
  PLAN_TUNING(ROW)
#undef ROW
  return false;
}

/* Reads "NAME=N"; where it ends, or NULL. */
static const char *apply_one(const char *text) {
  const char *equals = strchr(text, '=');
  char *end;
  if (!equals) return NULL;
  double value = strtod(equals + 1, &end);
  if (end == equals + 1 || (*end && *end != ',')) return NULL;
  return set(text, (size_t)(equals - text), value) ? end : NULL;
}

void tuned_apply(llrt_device *device, const char *text) {
  tuning = *device->target.tuning;
  for (const char *at = text; at && *at; at += *at == ',') {
    at = apply_one(at);
    if (at) continue;
    fprintf(stderr, "--tune %s: expected NAME=N with a name of docs/tuning.md\n", text);
    exit(2);
  }
  device->target.tuning = &tuning;
}
