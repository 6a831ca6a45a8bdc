/* One case for every instruction that the gfx9 emulator knows: its text, and what it must give. */
#ifndef LLRT_TESTS_GFX9_CASES_H
#define LLRT_TESTS_GFX9_CASES_H

#include "gfx9_trial.h"

typedef struct gfx9_case {
  const char *name, *body;                                          /* for trial_run */
  void (*expect)(const uint32_t (*in)[4], int lane, uint32_t *out); /* out is 0 before */
  const char *only; /* the one GPU that has it; NULL: both */
} gfx9_case;

typedef struct gfx9_cases {
  const gfx9_case *row;
  int n;
} gfx9_cases;
extern const gfx9_cases gfx9_vector_cases, gfx9_integer_cases, gfx9_float_cases, gfx9_scalar_cases,
    gfx9_memory_cases, gfx9_atomic_cases;

/* In an expectation: a, b, c, d are the lane's input words, ab and cd pairs of them; `in` and
 * `lane` are at hand for what crosses lanes; out[0..3] is to be set. */
#define CASE_FUNCTION(id, text, ...) \
  static void id(const uint32_t(*in)[4], int lane, uint32_t *out) { \
    const uint32_t a = in[lane][0], b = in[lane][1], c = in[lane][2], d = in[lane][3]; \
    const uint64_t ab = a | (uint64_t)b << 32, cd = c | (uint64_t)d << 32; \
    (void)a, (void)b, (void)c, (void)d, (void)ab, (void)cd; \
    __VA_ARGS__; \
  }
#define CASE_ROW(id, text, ...) {#id, text, id, NULL},
#define CASE_ROW_90A(id, text, ...) {#id, text, id, "gfx90a"},
#define CASE_ROW_942(id, text, ...) {#id, text, id, "gfx942"},

/* Two words of a 64-bit result. */
#define OUT64(value) out[0] = (uint32_t)(value), out[1] = (uint32_t)((uint64_t)(value) >> 32)

#endif
