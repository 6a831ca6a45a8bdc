/* A whole model through a recipe, from files to files: what is made of which tensor, in which
 * memory, and the run itself. */
#ifndef LLRT_TOOLS_MODEL_REPACK_H
#define LLRT_TOOLS_MODEL_REPACK_H

#include "tools/model/output.h"

#include <llrt/recipe.h>

#define REPACK_MAX_RANKS 64
#define REPACK_PRESET_MEMORY ((uint64_t)2 << 30) /* bytes beside the largest step */

/* Keys of a repacked model's metadata, all texts. They stand in the first file of each rank; what
 * is needed for the way back is all there. */
#define REPACK_VERSION "llrt.version"
#define REPACK_RECIPE "llrt.recipe"           /* its name */
#define REPACK_RECIPE_TEXT "llrt.recipe.text" /* the whole, JSON */
#define REPACK_CONFIG "llrt.config"           /* the checkpoint's config.json */
#define REPACK_MESH "llrt.mesh"               /* "tp=8" */
#define REPACK_RANK "llrt.rank"               /* "3" */
#define REPACK_CHECKPOINT \
  "llrt.checkpoint" /* files, and tensors in order, JSON: see repack_bind \
                     */

/* What is asked for. */
typedef struct repack_request {
  const model *from; /* n_models of them: one, or for the inverse one a rank, in order */
  int n_models;
  const llrt_recipe *recipe;
  char *config; /* malloc'ed text; NULL: none */
  size_t config_bytes;
  int tp;
  bool inverse;
  bool checks;         /* plans of the other direction too, where there are any */
  llrt_device *device; /* NULL: a plan to look at */
  const char *out;     /* as repack_name_files */
  const char *version; /* of the library, for the metadata */
} repack_request;

/* One rank's plan, with what its inputs and outputs are in files. */
typedef struct repack_rank {
  llrt_repack *plan;
  llrt_repack *back;       /* NULL: there is no way back, or nobody asked */
  const model_tensor **in; /* by the plan's inputs; NULL: one that is not read */
  size_t *out;             /* by the plan's outputs: tensor of `to` */
} repack_rank;

/* What is in memory at one time: a step of all ranks, or a part of a tensor that is kept. */
typedef struct repack_item {
  int32_t step;
  bool kept;
  uint64_t from, bytes; /* of a kept tensor */
  uint64_t memory;      /* bytes */
} repack_item;

typedef struct repack {
  const model *from;
  int n_models, ranks;
  bool inverse;
  repack_rank *rank;
  output to;
  bool folder;   /* `out` becomes a folder, and the rest of the source's folder is copied */
  char **target; /* else: the final name of each file */
  repack_item *item;
  size_t n_items;
  uint64_t largest; /* bytes of the largest item */
  int32_t largest_step;
  size_t back_workspace;                 /* bytes that converting back needs */
  char identity[OUTPUT_HASH_DIGITS + 1]; /* of inputs, recipe, options and version */
} repack;

/* Makes the plans and gives all tensors their places; nothing is written. Ownership: repack_fini.
 * Errors: what llrt_recipe_bind refuses, whose message is taken over; tensors that the output's
 * format has no type for; for an inverse, a model that no recipe made or whose ranks do not match.
 */
bool repack_bind(const repack_request *request, repack *out, array_error *error);
void repack_fini(repack *r);

/* The plan's tensor as the file describes it: type, extents. Blocks that llrt does not know are
 * bytes. The name is borrowed. */
llrt_named_tensor repack_describe(const char *name, const file_type *type, int32_t rank,
                                  const int64_t *shape);

/* Progress of a run. */
typedef struct repack_progress {
  uint64_t bytes, all_bytes; /* written, of all that this run has to */
  size_t tensors, all_tensors;
  double seconds; /* since it began */
} repack_progress;

typedef struct repack_run_params {
  llrt_device *device;
  uint64_t memory; /* bytes; 0: the preset */
  bool verifies;   /* reads all again, and converts back where there is a way back */
  void *user;
  void (*progress)(void *user, const repack_progress *now); /* from any thread, one at a time */
} repack_run_params;

/* What a run was. */
typedef struct repack_result {
  repack_progress done;
  bool resumed;
  size_t resumed_tensors; /* that were complete before */
  bool verified;          /* as was asked */
  bool went_back;         /* and what has a way back was converted back and compared */
  uint64_t memory;        /* bytes that were allowed */
} repack_result;

/* Runs what is not done yet of it, and gives the output its name. */
bool repack_run(repack *r, const char *out, const repack_run_params *params, repack_result *result,
                array_error *error);

#endif
