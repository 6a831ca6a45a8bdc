/* Calls of cases through a graph: with LLRT_TEST_CAPTURE=1 each is made once eagerly, so that what
 * it needs is compiled; memory becomes what was sent; then it is captured on one stream and the
 * graph is replayed on another. Without the variable it is made once. */
#ifndef LLRT_TESTS_CONFORMANCE_CAPTURED_H
#define LLRT_TESTS_CONFORMANCE_CAPTURED_H

#include "area.h"

typedef struct captured {
  const area_owner *owner;
  void *stream; /* for the call of this turn */
  int turn;
  bool failed; /* owner->why says why */
} captured;

/* Whether there is a turn: the call is made on at->stream. at begins with its owner alone. Ends the
 * turn before: the graph is replayed, and has run. */
bool captured_next(captured *at);

/* The call of this turn failed. */
void captured_abandon(captured *at);

/* AREA_CHECK of a call on CAPTURED_STREAM. */
#define CAPTURED_STREAM captured_.stream
#define CAPTURED_CHECK(owner_, call) \
  do { \
    captured captured_ = {.owner = (owner_)}; \
    while (captured_next(&captured_)) { \
      if ((call) == LLRT_OK) continue; \
      area_fail(owner_, "%s: %s", #call, llrt_last_error()); \
      captured_abandon(&captured_); \
      return false; \
    } \
    if (captured_.failed) return false; \
  } while (0)

#endif
