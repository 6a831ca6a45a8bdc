/* Checkpoints that llrt-bench repack makes up: the names, types and shapes of models' tensors. */
#ifndef LLRT_BENCHMARKS_REPACK_CASES_H
#define LLRT_BENCHMARKS_REPACK_CASES_H

#include <llrt/recipe.h>

#include <stdbool.h>

/* Tensors of one name: `layers` x `experts` of them. */
typedef struct repack_rows {
  const char *name; /* printf's, of the layer's number and, where each_expert, the expert's */
  llrt_dtype dtype;
  int rank;
  int64_t shape[4]; /* 0: as many as there are experts */
  bool each_expert; /* one tensor for each expert */
} repack_rows;

typedef struct repack_case {
  const char *model, *recipe, *config; /* config: its JSON, with %d where experts are counted */
  int layers, experts;                 /* experts 0: none */
  const repack_rows *rows;
  int n_rows;
} repack_case;

extern const repack_case repack_cases[];
extern const int repack_cases_count;

typedef struct repack_checkpoint {
  llrt_named_tensor *tensors;
  char *names, config[512];
  int n;
  int64_t bytes; /* of all tensors */
} repack_checkpoint;

/* The case's tensors, of at most `most` bytes: layers, then experts are halved until they are so
 * few. Ends the program where memory does; ownership: repack_checkpoint_free. */
void repack_checkpoint_make(const repack_case *c, int64_t most, repack_checkpoint *out);
void repack_checkpoint_free(repack_checkpoint *checkpoint);
int64_t repack_tensor_bytes(const llrt_named_tensor *tensor);

#endif
