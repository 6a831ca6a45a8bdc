/* A re-shard inside: the launches of one rank. */
#ifndef LLRT_RUNTIME_RESHARD_H
#define LLRT_RUNTIME_RESHARD_H

#include "base/text.h"
#include "runtime/comm.h"
#include "runtime/reshard_bytes.h"
#include "runtime/reshard_exchange.h"
#include "runtime/reshard_moves.h"

/* Whose memory a box is in, where it is no rank's. */
enum {
  RESHARD_ZEROS = -1,
  RESHARD_WORKSPACE = -2,
  RESHARD_SUMS = -3,
  RESHARD_TAKEN = -4 /* scales that were taken to where a launch needs them */
};

/* Which of a run's lists of addresses. */
typedef enum reshard_list {
  RESHARD_SOURCES = 0,
  RESHARD_DESTINATIONS = 1,
  RESHARD_SCALES = 2,
  RESHARD_LISTS = 3
} reshard_list;

/* Where one box lies. */
typedef struct reshard_spot {
  reshard_list list;
  int rank;       /* whose memory it is in, or one of those above */
  int64_t offset; /* bytes behind that rank's address, with the description's strides */
  int64_t steps[LLRT_MAX_RANK]; /* of the offset, so many strides of each axis that a run brings */
  int64_t loose; /* bits of powers of two, bytes, that a run's strides may move the offset by: what
                    divides offset | loose divides the offset of every run */
  int bits;      /* of an element, where there are steps */
} reshard_spot;

/* One tensor of a launch: everything but its address. */
typedef struct reshard_side {
  llrt_storage storage;
  llrt_index index[LLRT_MAX_INDICES];
  reshard_spot spot;
  uint32_t open; /* bit a: the stride of axis a is what a run brings */
  int given;     /* of its indices the first ones, whose values a run brings */
} reshard_side;

typedef struct reshard_launch {
  llrt_op *op;
  int n;
  llrt_tensor tensor[LLRT_MAX_TENSORS]; /* with storages and indices; the second one is written */
  reshard_side *side;                   /* n of them */
  llrt_op_desc *desc;                   /* of sums: owns the tensors' storages */
  int n_boxes;        /* that it moves at once, by lists of addresses; 0: one, without */
  reshard_spot *spot; /* [2 * n_boxes]: where they are read, then where they are written */
  int n_places;       /* addresses of each of the two lists: n_boxes and zeros */
  int refusals;       /* how many operations were refused before this one was prepared */
  int first_word;     /* of the first list among the re-shard's words; the second is behind it */
} reshard_launch;

/* A box that is copied, before it is known in which launch. */
typedef struct reshard_copy {
  int n;                 /* 2, or 3 with scales */
  llrt_tensor tensor[3]; /* source, destination, scales; storages and indices are the sides' */
  reshard_side side[3];
  bool launched;
} reshard_copy;

/* Those of one rank, in the order in which they are to be made. */
typedef struct reshard_copies {
  const llrt_reshard_desc *desc;
  reshard_copy *copy; /* n of them, malloc'ed: whose struct this is frees it */
  int n, capacity;
  bool joins;   /* alike ones may be one launch's */
  bool folds;   /* maps do not look at axes */
  int n_folded; /* of them, the first */
} reshard_copies;

/* What stands for the address of positions (0, 1, 2, …) in indices, until they are there. */
#define RESHARD_POSITIONS ((uintptr_t)1 << 20)

/* What stands for the address of an index's values that a run brings. */
#define RESHARD_TABLES ((uintptr_t)1 << 40)

/* Addresses that one run brings at most; copies beyond have launches of their own. */
#define RESHARD_MAX_WORDS 2048

struct llrt_reshard {
  const llrt_comm *comm;
  llrt_reshard *next; /* of those that one-line calls keep */
  llrt_hash hash;
  int64_t *strides[RESHARD_LISTS]; /* the description's, [ranks][LLRT_MAX_RANK]; NULL: none */
  int n_tables[RESHARD_LISTS];     /* indices of each part that the caller has */
  bool adds;                       /* the source is summands */
  llrt_text described;             /* the description as bytes (reshard_bytes.h) */
  reshard_saved *saved;            /* while it is made of saved bytes: where operations come from */
  int refusals; /* operations that were refused since the last one that was prepared */
  llrt_reshard_access access; /* by peers' memory; else 0 */
  bool crosses; /* some rank reads or writes another's memory: else none waits for others */
  bool fills;   /* some rank fills its part before others write to it */
  int n, capacity;
  reshard_launch *launch;     /* in the order in which they are queued */
  int n_fills;                /* of them, the first: before the ranks meet */
  reshard_exchange *exchange; /* NULL: by peers' memory */
  void *positions;            /* on the device: 0, 1, 2, … of i32; NULL: no index needs them */
  int64_t n_positions;
  void *sums;         /* on the device: of one round of more summands than a launch adds; or NULL */
  int64_t sums_bytes; /* that it has */
  void *taken;        /* on the device: scales beside each other; NULL: no launch needs them so */
  int64_t taken_bytes;
  void *list; /* on the device: n_words addresses of boxes; NULL: no launch has several */
  int n_words;
};

/* Where a run's tensors are. */
typedef struct reshard_bases {
  void *const *list[RESHARD_LISTS];         /* by rank; NULL: the run has none */
  void *workspace;                          /* NULL: none is needed */
  const void *const *tables[RESHARD_LISTS]; /* [rank][n_tables]: values of indices */
  const int64_t *strides[RESHARD_LISTS];    /* [rank][LLRT_MAX_RANK]; NULL: the description's */
  bool beside;                              /* what is launched runs beside NCCL's messages */
} reshard_bases;

/* launch[begin..end); queue false: only looks whether addresses will do. Errors: INVALID_ARGUMENT,
 * OUT_OF_CLASS, DEVICE. */
llrt_status reshard_run_launches(const llrt_reshard *reshard, int begin, int end, bool queue,
                                 const reshard_bases *bases, void *stream);

/* Whether a launch writes memory of other ranks. */
bool reshard_writes_peers(const llrt_reshard *reshard, const reshard_launch *launch);

/* words[n_words]: the addresses of boxes that launches move together. Errors: as above. */
llrt_status reshard_list_boxes(const llrt_reshard *reshard, const reshard_bases *bases,
                               uint64_t *words);

/* Prepares this rank's launches by peers' memory. On failure some may be there; they are the
 * struct's. */
llrt_status reshard_build(llrt_reshard *reshard, const llrt_reshard_desc *desc, void *stream);

void reshard_launch_fini(reshard_launch *launch);

/* A move's box in rank's part as a tensor, whose device is left open; of scales the move's. */
llrt_status reshard_make_side(const llrt_reshard_desc *desc, reshard_list list, int rank,
                              const reshard_move *move, llrt_tensor *tensor, reshard_side *side);

void reshard_copies_init(reshard_copies *copies, const llrt_reshard_desc *desc);
llrt_status reshard_new_copy(reshard_copies *copies,
                             reshard_copy **out); /* zeroed, for the caller */
llrt_status reshard_add_copy(reshard_copies *copies, const reshard_move *move);

/* The same copy with as few axes as it can have: where both sides are strides alone, axes that
 * follow each other in both are one, and those of one position are none. false: it stays as it
 * is. */
bool reshard_fold(reshard_copy *copy);

/* The copy's scales: the runner's own, if it has them, else another rank's. */
llrt_status reshard_add_scales(const llrt_reshard_desc *desc, int runner, const reshard_move *move,
                               reshard_copy *copy);

/* The next copies that one kernel can move: everything but where they lie is the same, and
 * addresses have room behind n_words. They count as launched; *first is 0 before the first call.
 * The result is how many, 0: none is left. */
int reshard_take_group(reshard_copies *copies, int n_words, int *first, reshard_copy **group);

/* Whether a group's scales are to be taken to one place of the rank's before: a launch reads those
 * of several boxes from there; of one box wherever they lie in the rank's own memory, but by
 * indices.
 */
bool reshard_takes_scales(reshard_copy *const *group, int n, int rank);

/* Makes `launch`, which is zeroed, the one of n copies that can join, from the first one's tensors:
 * an axis more, the last one, counts boxes, and its addresses are in the list from first_word on.
 * Scales follow each other in memory, box by box, in rows.
 * Errors: OUT_OF_MEMORY; UNSUPPORTED where the rank, or a tile, has no room for it. */
llrt_status reshard_join(reshard_copy *const *copies, int n, const uint64_t *list, int first_word,
                         reshard_launch *launch);

#endif
