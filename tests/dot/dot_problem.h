/* Products as data, for the conformance suite, benchmarks and plan tests: what is multiplied, how
 * it lies, what stands on it; its tensors in memory; and whether a result is right
 * (dot_reference.h). Over the public API alone. */
#ifndef LLRT_TESTS_DOT_PROBLEM_H
#define LLRT_TESTS_DOT_PROBLEM_H

#include <llrt/llrt.h>

#define DOT_STORAGE_TEXT 224
#define DOT_TITLE_BYTES 1024
#define DOT_MAX_BATCH (LLRT_MAX_RANK - 3)

/* What the elements are: any numbers; small integers and scales of 1/2, 1 and 2, of which every sum
 * is exact; NaN and infinities among any numbers. */
typedef enum dot_data { DOT_ANY = 0, DOT_EXACT, DOT_SPECIAL } dot_data;

typedef struct dot_problem {
  int64_t m, n, k, batch[DOT_MAX_BATCH];
  int n_batch;
  bool shared[2];                  /* A, B has no batch axes */
  llrt_dtype type[LLRT_DOT_ROLES]; /* NONE: there is no such tensor (A and B are always there; D:
                                      the default) */
  char storage[LLRT_DOT_ROLES][DOT_STORAGE_TEXT]; /* "": row_major */
  const llrt_storage *lies[LLRT_DOT_ROLES];       /* borrowed; NULL: as `storage` says */
  const int64_t *strides[LLRT_DOT_ROLES];         /* of RUN-TIME digits; borrowed, or NULL */
  int64_t group[3]
               [2]; /* of scales of A, of B, of D along the last two axes; LLRT_GROUP_ALL; 0: 1 */
  llrt_dtype accumulate;
  bool tf32, fast, in_place; /* in_place: C lies where D does */
  bool packed;               /* B and its scales lie as llrt_dot_pack says, pads zero */
  bool twiddled;    /* the bits of B's words lie as Triton's Hopper value layout has them, where */
  llrt_dtype other; /* of packed weights: for which other operand they were packed; NONE: for A */
  uint8_t shift[LLRT_DOT_ROLES]; /* elements, of 4 bits pairs, between an address of 256 bytes and
                                    the tensor */
  uint8_t range[2][2];           /* of e8m0 scales; promised where not 0, 0 */
  double alpha, beta;            /* 0: 1 */
  int n_maps;
  uint8_t map[LLRT_MAX_MAPS]; /* llrt_map_kind */
  int32_t data;               /* dot_data */
} dot_problem;

static inline bool dot_is_integer(llrt_dtype type) { return type >= LLRT_I64 && type <= LLRT_U4; }

/* A generator (splitmix64) whose whole state is one number; 0 .. n - 1. */
uint64_t dot_random(uint64_t *state);
int dot_random_below(uint64_t *state, int n);

/* A problem of seeded types, shapes, storages, scales, batch axes and edges. most: extents are
 * below it; the second's weights are packed, or lie as another engine has them, and there are fewer
 * products than most^3. */
void dot_problem_random(uint64_t seed, int most, dot_problem *made);
void dot_problem_random_packed(uint64_t seed, int most, dot_problem *made);

/* Table 4 of the paper: {i8, i16, i32, i64} with {f16, bf16, f32, f64, e4m3, e5m2} on either side,
 * extents from {1, 8, 16, 32, 64, 128}. Problem `number` of dot_table4_count(). */
int dot_table4_count(void);
void dot_table4_problem(int number, dot_problem *made);

/* "bf16 x e2m1/e8m0 [16,64]x[64,32]", what else is not plain, and the storages. */
/* The extents of a role's tensor. Returns its rank. */
int dot_problem_extents(const dot_problem *problem, int role, int64_t *extent);

void dot_problem_title(const dot_problem *problem, char *title, size_t size);

/* Elements in logical order, row-major. */
typedef struct dot_part {
  llrt_storage storage;
  llrt_storage_binding binding;
  llrt_tensor tensor;
  int64_t elements;
  uint64_t *code;
  uint8_t *image; /* the storage's bytes on the host; of D: what was there before */
  size_t bytes;
} dot_part;

typedef struct dot_bench {
  dot_problem problem;
  dot_part part[LLRT_DOT_ROLES];
  llrt_dot_params params; /* scales and all others point to part[].tensor, maps to the next */
  llrt_map maps[LLRT_MAX_MAPS];
} dot_bench;

/* Makes tensors, whose data are the images; device NULL. False where there is no memory, or a
 * storage does not fit: llrt_last_error. To be freed in any event. */
bool dot_bench_make(const dot_problem *problem, uint64_t seed, dot_bench *bench);
void dot_bench_free(dot_bench *bench);

#endif
