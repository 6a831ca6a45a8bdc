/* A host device and two small matrices, for tests of the runtime's functions. */
#ifndef LLRT_TESTS_CONVERT_FIXTURE_H
#define LLRT_TESTS_CONVERT_FIXTURE_H

#include "runtime/described.h"

#include <llrt/llrt.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 24
#define COLUMNS 40
#define ELEMENTS (ROWS * COLUMNS)

/* LLRT_TEST_JIT_LIBRARY is the compiler library of this build. */
static const llrt_context_params fixture_params = {.jit_library = LLRT_TEST_JIT_LIBRARY};

typedef struct fixture {
  llrt_context *context;
  llrt_device *host;
  llrt_storage col_major;
  _Alignas(64) float input[2 * ELEMENTS];
  _Alignas(64) float output[2 * ELEMENTS];
  llrt_tensor source, destination; /* input as row_major, output as col_major */
} fixture;

static inline void fixture_make(fixture *at, const llrt_context_params *params) {
  memset(at, 0, sizeof *at);
  cr_assert_eq(llrt_context_create(params, &at->context), LLRT_OK);
  cr_assert_eq(llrt_device_open(at->context, "host", NULL, &at->host), LLRT_OK);
  cr_assert_eq(llrt_storage_col_major(2, &at->col_major), LLRT_OK);
  for (int i = 0; i < 2 * ELEMENTS; i++) {
    at->input[i] = (float)i;
    at->output[i] = -1;
  }
  at->source = (llrt_tensor){.data = at->input,
                             .dtype = LLRT_F32,
                             .rank = 2,
                             .shape = {ROWS, COLUMNS},
                             .device = at->host};
  at->destination = at->source;
  at->destination.data = at->output;
  at->destination.storage = &at->col_major;
}

static inline void fixture_end(fixture *at) {
  llrt_device_close(&at->host);
  llrt_context_destroy(&at->context);
}

/* Whether output is input transposed. */
static inline bool fixture_is_converted(const fixture *at) {
  for (int i = 0; i < ROWS; i++) {
    for (int j = 0; j < COLUMNS; j++) {
      if (at->output[i + j * ROWS] != at->input[i * COLUMNS + j]) return false;
    }
  }
  return true;
}

/* Whether output is still what fixture_make wrote. */
static inline bool fixture_is_untouched(const fixture *at) {
  for (int i = 0; i < 2 * ELEMENTS; i++) {
    if (at->output[i] != -1) return false;
  }
  return true;
}

static inline op_description fixture_desc(const fixture *at) {
  return (op_description){
      .kind = LLRT_OP_CONVERT, .n_tensors = 2, .tensors = {at->source, at->destination}};
}

static inline llrt_cache_stats fixture_stats(const fixture *at) {
  llrt_cache_stats stats = {0};
  cr_assert_eq(llrt_context_get_cache_stats(at->context, &stats), LLRT_OK);
  return stats;
}

static inline void expect_said(const char *part) {
  cr_expect(strstr(llrt_last_error(), part), "\"%s\" lacks \"%s\"", llrt_last_error(), part);
}

#endif
