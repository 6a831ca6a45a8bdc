#include "tuned.h"

#include "harness.h"

#include "backends/backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static plan_tuning tuning;

static bool is_named(const char *text, size_t length, const char *name) {
  return strlen(name) == length && strncmp(text, name, length) == 0;
}

static bool set(const char *name, size_t length, double value) {
  for (int i = 0; i < plan_tuning_count(); i++) {
    if (!is_named(name, length, plan_tuning_name(i))) continue;
    plan_tuning_set(&tuning, i, value);
    return true;
  }
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
    fprintf(stderr, "--numbers %s: expected NAME=N with a name of docs/tuning.md\n", text);
    exit(2);
  }
  device->target.tuning = &tuning;
}

void tuned_spoil(llrt_device *device, uint64_t seed) {
  tuning = *device->target.tuning;
  printf("spoilt, seed %llu:", (unsigned long long)seed);
  for (int i = 0; i < plan_tuning_count(); i++) {
    double value = plan_tuning_get(&tuning, i);
    bool more = harness_mix(seed * 1000 + (uint64_t)i) & 1;
    if (value == 0) continue;
    if (plan_tuning_is_log(i)) value += more ? 1 : -1;
    else value = more ? value * 2 : value / 2;
    plan_tuning_set(&tuning, i, value);
    printf(" %s=%.10g", plan_tuning_name(i), plan_tuning_get(&tuning, i));
  }
  printf("\n");
  device->target.tuning = &tuning;
}
