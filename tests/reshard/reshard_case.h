/* Random re-shards, run by a thread for each rank and compared with what coordinates alone say:
 * every place of every destination's part, gaps and pads included. */
#ifndef LLRT_TESTS_RESHARD_CASE_H
#define LLRT_TESTS_RESHARD_CASE_H

#include "tests/layout/layout_text.h"

#include <llrt/llrt.h>

enum { RESHARD_MAX_RANKS = 8 };

typedef struct reshard_case {
  int ranks;
  llrt_sharding source, destination;
  int64_t shape[LLRT_MAX_RANK];
  llrt_dtype from, to;
  uint64_t flip; /* of an XOR map; 0: none */
  bool permuted; /* with a WORD_BITS map, behind the others */
  uint8_t perm[32];
  int parts;  /* of messages by NCCL */
  int access; /* llrt_reshard_access */
  /* Strides of RUN-TIME digits, as described and as the first run brings them: multiples of those.
   */
  int64_t strides[2][RESHARD_MAX_RANKS][LLRT_MAX_RANK];
  int64_t brought[2]; /* by which the run's strides are multiplied; 1: the run brings none */
  /* An index on an axis of each side's parts; -1: none. Values differ along another axis, too, if
   * that is not -1; some are out of range: read as zero, or not written. */
  int indexed[2], across[2];
  int64_t pool[2]; /* positions that memory has along the axis: at least a part's */
  unsigned saved;  /* bit r: rank r runs what was saved and loaded; 0: all run what they prepared */
  bool scaled;     /* with a SCALE map, and: */
  llrt_sharding scale;
  llrt_dtype scale_dtype;
  int64_t group[LLRT_MAX_RANK];
} reshard_case;

typedef enum reshard_result {
  RESHARD_RIGHT = 0,
  RESHARD_REFUSED = 1, /* UNSUPPORTED on every rank that has anything to do with it */
  RESHARD_WRONG = 2
} reshard_result;

/* Where ranks run: a device for each, and the stream that they all name. */
typedef struct reshard_place {
  llrt_device *device[RESHARD_MAX_RANKS];
  int devices; /* that differ; 0: not said */
  void *stream;
  int64_t timeout_ms;
  bool captured; /* emulated devices: the second run is of a graph, replayed twice */
  int ordinal[RESHARD_MAX_RANKS]; /* the driver's, of each device; for graphs alone */
  const char *nccl; /* a library: by it, no rank knowing an address of another's; NULL: by peers */
  llrt_comm *(*kept)[RESHARD_MAX_RANKS]; /* [RESHARD_MAX_RANKS + 1]: communicators by NCCL that all
                                            cases of so many ranks share; NULL: each has its own */
} reshard_place;

/* A case of 2, 3, 4, 6 or 8 ranks. */
void reshard_case_draw(random_source *source, reshard_case *c);

/* Runs it twice on the same memory. message[size]: why it was refused, or what is wrong. */
reshard_result reshard_case_run(const reshard_case *c, const reshard_place *place, char *message,
                                size_t size);

/* Ends the communicators that cases of so many ranks share, on a thread for each. */
void reshard_close_kept(const reshard_place *place, int ranks);

/* The value of a side's index for coordinates of a rank's part; -1: out of range. */
int64_t reshard_case_value(const reshard_case *c, int side, int rank, const llrt_part *part,
                           const int64_t *local);

/* Positions of the scales along each axis. */
void reshard_case_scale_shape(const reshard_case *c, int64_t *shape);

/* The case in a line or two. */
void reshard_case_print(const reshard_case *c, char *text, size_t size);

#endif
