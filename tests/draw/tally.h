/* What became of a run's cases, by operation and device, and why some were refused. */
#ifndef LLRT_TESTS_DRAW_TALLY_H
#define LLRT_TESTS_DRAW_TALLY_H

#include "worker.h"

#define MOST_DEVICES 16

typedef struct draw_reason {
  char text[400];        /* a message without its numbers */
  uint64_t count, first; /* how often; the first case's number */
  int32_t verdict, operation;
} draw_reason;

typedef struct draw_tally {
  uint64_t count[MOST_DEVICES][OPERATION_COUNT][VERDICT_COUNT];
  draw_reason *reasons;
  int n_reasons, room;
} draw_tally;

void tally_add(draw_tally *to, int device, uint64_t number, const draw_reply *reply);
/* Findings so far. */
uint64_t tally_findings(const draw_tally *of);
void tally_print(const draw_tally *of, int n_devices, const char *const *devices);
void tally_free(draw_tally *of);

#endif
