/* The parts of repack_bind and repack_run. Private to repack_*.c. */
#ifndef LLRT_TOOLS_MODEL_REPACK_PARTS_H
#define LLRT_TOOLS_MODEL_REPACK_PARTS_H

#include "tools/model/original.h"
#include "tools/model/repack.h"

/* ---- what a recipe's rows say of their results (repack_specs.c) ---- */

typedef struct specs {
  json_t *rows; /* of the recipe, a list; NULL: it has none */
} specs;

bool specs_read(const llrt_recipe *recipe, specs *out, array_error *error);
void specs_fini(specs *s);

/* "i32[K/16, 2*N] = u4[k n] in marlin_w4", as the row has it, for an output of a step; free it.
 * NULL: nothing is said of it. */
char *specs_find(const specs *s, const llrt_repack_step *step, int32_t number);

/* ---- names of files and metadata (repack_files.c) ---- */

/* Adds the files of the output:
 *   NAME.gguf, NAME.safetensors   one file, of all tensors; with several ranks NAME has {} in it,
 * in whose place the rank's number stands else a folder                 files as the source has;
 * with several ranks one for each, called as vLLM calls them, model-rank-0-part-0.safetensors An
 * inverse has the checkpoint's files. */
bool repack_name_files(const repack_request *request, const original *given, repack *r,
                       array_error *error);

/* The metadata that were there, without llrt's; those of a repacked model, unless it is an inverse.
 */
bool repack_add_metadata(const repack_request *request, const original *given, repack *r,
                         array_error *error);

/* ---- memory (repack_items.c) ---- */

/* A tensor of a step in an item's memory. */
typedef struct repack_part {
  int rank;
  int32_t number; /* of the plan's inputs or outputs */
  int32_t place;  /* in the step's list */
  bool output;
  size_t at, bytes;
  size_t check; /* of an input: where it is made again */
} repack_part;

typedef struct repack_parts {
  repack_part *part;
  int n;
  size_t workspace; /* where it begins */
  size_t bytes;     /* of all, with what checking takes */
} repack_parts;

/* A model that all ranks share is read once, and so it is written: parts have rank 0 there. */
bool repack_parts_of(const repack *r, int32_t step, repack_parts *out, array_error *error);
void repack_parts_fini(repack_parts *parts);

/* Cuts the work into items, in the order of the steps. */
bool repack_make_items(repack *r, const int32_t *order, int n_steps, array_error *error);

/* ---- the way back (repack_back.c) ---- */

/* Converts a step's outputs back, where its plan has a way back, and compares with the inputs in
 * `memory`. Parts lie behind `at`, on the device; on the host that is `memory`. Waits for what it
 * queues. */
bool repack_check_back(const repack *r, llrt_device *device, const repack_parts *parts,
                       const char *memory, char *at, array_error *error);

/* Whether all that an item takes part in is complete. */
bool repack_is_done(const repack *r, const repack_item *item);

#endif
