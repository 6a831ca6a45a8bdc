/* Checkpoints of random bytes in memory, repacked there and back, for tests of recipes. */
#ifndef LLRT_TESTS_RECIPE_MODEL_H
#define LLRT_TESTS_RECIPE_MODEL_H

#include "tests/open_device.h"

#include <llrt/llrt.h>

#include <stdint.h>

#define MODEL_MOST 64

/* The number of the random shape that is tested (draws.h), which failures say. */
extern uint64_t model_shape;

typedef struct model {
  int n;
  llrt_named_tensor tensor[MODEL_MOST];
  void *data[MODEL_MOST];
  size_t bytes[MODEL_MOST];
  char name[MODEL_MOST][128];
} model;

/* Numbers 0 .. below - 1 of a sequence that begins with *state. */
uint64_t model_random(uint64_t *state, uint64_t below);

/* Adds a tensor; its bytes are random. Returns them. rank extents follow. */
void *model_add(model *of, uint64_t *state, const char *name, llrt_dtype dtype, int rank, ...);
void model_free(model *of);

/* The tensor of that name; the test fails where there is none. */
int model_find(const model *of, const char *name);

typedef struct repacked {
  llrt_recipe *recipe;
  llrt_repack *plan;
  model out; /* what it made */
} repacked;

/* Loads a shipped recipe, binds it and runs it; the test fails where something does. */
repacked model_repack(llrt_device *device, const char *recipe, const model *in,
                      const llrt_recipe_params *params);

/* Runs the inverse of that on what it made, and compares every tensor of `in`. With tp > 1: of all
 * ranks, `made` being tp of them. */
void model_expect_back(llrt_device *device, const char *recipe, const model *in,
                       const llrt_recipe_params *params, repacked *made, int n_made);

void repacked_free(repacked *made);

/* Compares an output with what is wanted. */
void model_expect(const repacked *made, const char *name, llrt_dtype dtype, const void *wanted,
                  size_t bytes);

#endif
