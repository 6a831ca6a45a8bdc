/* Recipes: what becomes of every tensor of a checkpoint, as data; and the plan that a recipe makes
 * for one checkpoint, which moves them, and back.
 *
 *   load a recipe (JSON, docs/recipes.md) -> bind it to a checkpoint's names, types and shapes
 *   -> a plan: which tensors come out, in which bytes, what it takes -> run it on addresses
 *
 * A plan is a list of steps. A step reads some tensors, whole, and writes others, whole; steps are
 * independent of each other, so a caller may run them one at a time with no more in memory than
 * one step's tensors (files), or all at once (a loaded model).
 *
 * The general rules of llrt.h hold here too. */
#ifndef LLRT_RECIPE_H
#define LLRT_RECIPE_H

#include <llrt/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct llrt_recipe llrt_recipe; /* immutable */
typedef struct llrt_repack llrt_repack; /* a plan; immutable */

/* ---- recipes ---- */

/* Reads a recipe from `bytes` bytes of JSON, which are not used afterwards. Nothing of it is
 * trusted. Ownership: llrt_recipe_destroy. Errors, *recipe being NULL then: INVALID_ARGUMENT, whose
 * message has line and column, and for what is JSON but no recipe the path of what is wrong
 * ("5:12: rows[0].out.w: …"); UNSUPPORTED, likewise, for a recipe of a later version;
 * OUT_OF_MEMORY. */
LLRT_API llrt_status llrt_recipe_load(const char *json, size_t bytes, llrt_recipe **recipe);

/* The recipe of that name among those that come with the library. Errors: INVALID_ARGUMENT for
 * another name; OUT_OF_MEMORY. */
LLRT_API llrt_status llrt_recipe_load_named(const char *name, llrt_recipe **recipe);

/* Clears *recipe; NULL is accepted. Plans that were bound from it stay. */
LLRT_API void llrt_recipe_destroy(llrt_recipe **recipe);

/* The name that the recipe gives itself. Borrowed from it. NULL for NULL. */
LLRT_API const char *llrt_recipe_name(const llrt_recipe *recipe);

/* The recipes that come with the library, by number: the name, and its JSON (zero-terminated) in
 * *json (may be NULL). Static; NULL past the last. */
LLRT_API const char *llrt_recipe_shipped(int number, const char **json);

/* Writes the recipe in one form (JSON, a row of the file for each row, keys in the reference's
 * order), which loads as an equal recipe and prints as itself, into buffer[size], cut short where
 * that is too small but zero-terminated if size > 0; *length (may be NULL) is the whole length
 * without the zero. buffer may be NULL with size 0. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
LLRT_API llrt_status llrt_recipe_print(const llrt_recipe *recipe, char *buffer, size_t size,
                                       size_t *length);

/* ---- plans ---- */

/* A tensor of a checkpoint: what its file says of it. Its memory is row-major, without gaps; of two
 * 4-bit elements in a byte the first is the low half. */
typedef struct llrt_named_tensor {
  const char *name;
  llrt_dtype dtype;             /* stored: of packed weights what the file says (u8, i32) */
  int32_t rank;                 /* 0..LLRT_MAX_RANK */
  int64_t shape[LLRT_MAX_RANK]; /* of the whole tensor, whatever the rank in `tp` */
  int64_t reserved[2];          /* 0 */
} llrt_named_tensor;

/* NULL and all-zero: the presets. */
typedef struct llrt_recipe_params {
  size_t size;
  const char *config;  /* the checkpoint's config.json, `config_bytes` bytes; NULL: there is none.
                          Needed where the recipe asks for values of it (require, config) */
  size_t config_bytes; /* 0 with NULL */
  int32_t tp, rank;    /* this is rank 0..tp-1 of tp; tp 0: 1. Every rank reads whole tensors, and
                          makes its part */
  int32_t inverse;     /* 1: from the engine's tensors to the checkpoint's */
  int32_t in_place;    /* 1: outputs take the memory of inputs where they fit
                          (llrt_repack_tensor.place); 0: all outputs have memory of their own */
} llrt_recipe_params;

/* Plans for a checkpoint that has these tensors, in any order; no data is read. `in` describes the
 * CHECKPOINT in both directions: with params->inverse the plan's outputs are these tensors, in
 * their order, and its inputs are what the plan of the other direction puts out.
 *   device   which runs the plan: kernels are compiled and loaded here, once for all tensors of one
 *            shape. NULL: a plan to look at, which cannot be run and says nothing of in place
 * With tp > 1 the inverse of one rank writes its part of every checkpoint tensor and leaves the
 * rest of it alone: run for all ranks on the same outputs, it makes the whole.
 * Ownership: llrt_repack_destroy, before the device is closed. Cost: milliseconds for each new
 * class of tensors, microseconds for each tensor. Thread: any. Errors, *plan being NULL then, with
 * the row and the tensor: INVALID_ARGUMENT (a tensor is missing, is given twice or used twice,
 * types, shapes or the config do not fit the recipe, two outputs of one name), UNSUPPORTED (a
 * required value of the config is another: the recipe's reason is the message; a row has no inverse
 * and why; a storage that no recipe can use; no kernel), OUT_OF_MEMORY, UNAVAILABLE, COMPILE,
 * DEVICE. */
LLRT_API llrt_status llrt_recipe_bind(llrt_device *device, const llrt_recipe *recipe,
                                      const llrt_named_tensor *in, int n,
                                      const llrt_recipe_params *params, llrt_repack **plan);

/* Clears *plan; NULL is accepted. Precondition: its launches are done. */
LLRT_API void llrt_repack_destroy(llrt_repack **plan);

/* An input or output of a plan. */
typedef struct llrt_repack_tensor {
  const char *name; /* borrowed from the plan */
  llrt_dtype dtype; /* stored */
  int32_t rank;
  int64_t shape[LLRT_MAX_RANK]; /* of an output: what it is on this rank */
  size_t bytes;  /* from its address on; multiples of 16 are addresses as fast as any */
  int32_t step;  /* the step that reads or writes it; -1: an input that nothing reads, and that does
                    not come out */
  int32_t place; /* of an output in a plan of in_place: the input in whose memory it is made, so
                    that both addresses are one; -1: memory of its own */
  int64_t reserved[2];
} llrt_repack_tensor;

/* A step of a plan. */
typedef struct llrt_repack_step {
  int32_t row; /* of the recipe's rows, from 0; -1: a tensor that is kept as it is */
  int32_t n_inputs, n_outputs;
  int32_t launches; /* kernels, copies and fills that a run of it alone queues; tensors that are
                       alike (one class, addresses of 16 bytes) take one kernel together */
  const int32_t *inputs;  /* numbers of the plan's inputs, n_inputs of them */
  const int32_t *outputs; /* likewise */
  size_t workspace; /* bytes that a run of this step alone needs: scratch, and lists of addresses of
                       what goes together, 16 bytes a tensor */
  uint64_t bytes_read, bytes_written; /* of tensors and workspace, by all launches */
  int64_t reserved[2];
} llrt_repack_step;

/* A whole plan. */
typedef struct llrt_repack_info {
  size_t size; /* set by the caller, or 0 */
  int32_t n_inputs, n_outputs, n_steps;
  int32_t launches; /* of all steps at once, whose tensors go together, too */
  size_t workspace; /* bytes that such a run needs */
  uint64_t bytes_read, bytes_written;
} llrt_repack_info;

/* Errors: INVALID_ARGUMENT for NULL alone. */
LLRT_API llrt_status llrt_repack_get_info(const llrt_repack *plan, llrt_repack_info *info);

/* Entries 0 .. count-1; NULL outside and for NULL. Borrowed from the plan. Inputs (of an inverse:
 * outputs) are the tensors of llrt_recipe_bind, in its order. */
LLRT_API const llrt_repack_tensor *llrt_repack_input(const llrt_repack *plan, int number);
LLRT_API const llrt_repack_tensor *llrt_repack_output(const llrt_repack *plan, int number);
LLRT_API const llrt_repack_step *llrt_repack_step_at(const llrt_repack *plan, int number);

/* What every tensor becomes, a line each, then sums: for people. As llrt_recipe_print. */
LLRT_API llrt_status llrt_repack_print(const llrt_repack *plan, char *buffer, size_t size,
                                       size_t *length);

/* Queues the whole plan, or one step of it, and returns; on the host it is done then. Steps may be
 * done in another order than they have numbers. Allocates nothing and may be captured into a graph,
 * which then reads and writes these addresses, and is not launched once the plan is destroyed: the
 * graph reads lists of addresses from memory of the plan's. That has room for those of one capture
 * of the whole plan; captures with other addresses, and of steps, have a kernel for each tensor.
 *   in[i], out[i]   addresses of input i and output i, that the device reaches, aligned to an
 *                   element of the stored type (to 16 bytes: without compiling anew); those that
 *                   nothing reads, or that the step does not use, may be NULL. They do not overlap,
 *                   but out[i] is in[place] where output i has a place
 *   workspace       device memory, aligned to 256 bytes, as large as the info (the step) says; NULL
 *                   with 0. Not used by two runs at once
 * Thread: any number at once on one plan. Errors: INVALID_ARGUMENT, and as llrt_convert_into:
 * NOT_PREPARED for addresses less aligned than 16 bytes in a capture; what was queued before an
 * error is done. */
LLRT_API llrt_status llrt_repack_run(const llrt_repack *plan, const void *const *in,
                                     void *const *out, void *workspace, void *stream);
LLRT_API llrt_status llrt_repack_run_step(const llrt_repack *plan, int step, const void *const *in,
                                          void *const *out, void *workspace, void *stream);

#ifdef __cplusplus
}
#endif
#endif
