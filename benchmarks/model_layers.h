/* The linear layers of models that are served today: D [M,N] = A [M,K] B, as one GPU has them. */
#ifndef LLRT_BENCHMARKS_MODEL_LAYERS_H
#define LLRT_BENCHMARKS_MODEL_LAYERS_H

#include "harness.h"

#include <stdint.h>

typedef struct model_layer {
  const char *model, *layer; /* queries, keys and values are one product, and so are gate and up */
  int64_t n, k;
} model_layer;

extern const model_layer model_layers[];
extern const int model_layers_count;
/* Layers whose rows begin inside lines of memory: K of so many bytes that 16, 4 or 2 divide, an odd
 * N. */
extern const model_layer odd_layers[];
extern const int odd_layers_count;

/* *rows: of A, those that --rows asks for, or of decoding of one to many requests and of prefill.
 * Returns how many. */
int model_rows_asked(const harness_options *options, const int64_t **rows);

#endif
