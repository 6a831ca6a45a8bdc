/* Random expressions of 2 to 30 nodes on random shapes, types and storages, against the reference.
 * LLRT_TEST_SEED chooses the first, LLRT_TEST_DRAWS how many on each device, LLRT_TEST_DEVICE one
 * device; a failure prints the seed, and LLRT_TEST_SEED with LLRT_TEST_DRAWS=1 is that one again.
 */
#include "tests/expression/compute_trial.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct writer {
  uint64_t state;
  char text[4096];
  int length, left; /* left: nodes that may still be made */
} writer;

static uint64_t draw(writer *w, uint64_t n) {
  w->state = w->state * 6364136223846793005u + 1442695040888963407u;
  return (w->state >> 33) % n;
}

static void add(writer *w, const char *text) {
  int room = (int)sizeof w->text - w->length;
  int n = snprintf(w->text + w->length, (size_t)room, "%s", text);
  if (n < room) w->length += n;
}

static void value(writer *w);

static void call(writer *w, const char *name, int arguments, const char *rest) {
  add(w, name);
  add(w, "(");
  for (int i = 0; i < arguments; i++) {
    if (i) add(w, ", ");
    value(w);
  }
  add(w, rest);
  add(w, ")");
}

static void leaf(writer *w) {
  static const char *const leaves[] = {"x", "x", "x",   "z", "w",       "s",
                                       "c", "2", "0.5", "n", "(t - 1)", "-3"};
  add(w, leaves[draw(w, sizeof leaves / sizeof *leaves)]);
}

/* A reduction of something that varies along the row in any case. */
static void reduction(writer *w) {
  static const char *const names[] = {"sum", "mean", "max", "min", "argmax", "argmin"};
  add(w, names[draw(w, 6)]);
  add(w, "(x + ");
  value(w);
  add(w, ", n)");
}

static void value(writer *w) {
  static const char *const signs[] = {" + ", " - ", " * ", " / "};
  static const char *const functions[] = {"exp",  "tanh",  "sigmoid", "silu", "gelu",  "abs",
                                          "sqrt", "rsqrt", "log",     "erf",  "floor", "round",
                                          "bf16", "e4m3",  "f16",     "exp2", "log2"};
  static const char *const compares[] = {" < ", " > ", " <= ", " == ", " != "};
  if (--w->left <= 0) {
    leaf(w);
    return;
  }
  switch (draw(w, 10)) {
  case 0:
  case 1:
  case 2:
  case 3:
    add(w, "(");
    value(w);
    add(w, signs[draw(w, 4)]);
    value(w);
    add(w, ")");
    break;
  case 4: call(w, draw(w, 2) ? "maximum" : "minimum", 2, ""); break;
  case 5:
  case 6: call(w, functions[draw(w, sizeof functions / sizeof *functions)], 1, ""); break;
  case 7:
    add(w, "where(");
    value(w);
    add(w, compares[draw(w, 5)]);
    value(w);
    add(w, ", ");
    value(w);
    add(w, ", ");
    value(w);
    add(w, ")");
    break;
  case 8: reduction(w); break;
  default: leaf(w); break;
  }
}

/* The text of a seed, and what it is run on. */
static void write_trial(uint64_t seed, writer *w, trial *t) {
  static const llrt_dtype types[] = {LLRT_F32, LLRT_BF16, LLRT_F16,  LLRT_E4M3,
                                     LLRT_I8,  LLRT_F32,  LLRT_BF16, LLRT_I32};
  static const char *const storages[] = {NULL, NULL, "col_major"};
  static const char *const outputs[] = {"", ": f32", ": bf16", ": e4m3", ": i8"};
  *w = (writer){.state = seed * 0x9E3779B97F4A7C15u + 1};
  for (int i = 0; i < 4; i++) draw(w, 2);
  w->left = 2 + (int)draw(w, 28);
  bool row = draw(w, 2) != 0;
  add(w, "(x[t n], z[t n], w[n], s[t], c: f32) -> (y[t n]");
  add(w, outputs[draw(w, 5)]);
  if (row) add(w, ", r[t]: f32");
  add(w, ") { y = ");
  value(w);
  if (row) {
    w->left = 1 + (int)draw(w, 8);
    add(w, "; r = ");
    reduction(w);
  }
  add(w, " }");
  *t = (trial){.text = w->text, .seed = seed, .special = draw(w, 4) == 0, .scalar = {1.25}};
  t->extent[0] = 1 + (int64_t)draw(w, draw(w, 4) ? 5 : 40);
  t->extent[1] = 1 + (int64_t)draw(w, draw(w, 4) ? 70 : 500);
  for (int i = 0; i < 5; i++) t->tensor[i].type = types[draw(w, 8)];
  t->tensor[4].type = types[draw(w, 3)];
  t->tensor[0].storage = storages[draw(w, 3)];
  t->tensor[1].storage = storages[draw(w, 3)];
  t->tensor[4].storage = storages[draw(w, 3)];
  t->offset = draw(w, 3) == 0 ? (int)draw(w, 8) : 0;
  bool whole = !strstr(w->text, "] :") && !strstr(w->text, "y[t n]:");
  if (draw(w, 6) == 0 && whole) {
    t->tensor[4] = t->tensor[0];
    t->in_place = 1;
  }
}

static void run_seeds(const char *device, uint64_t first, int n) {
  for (int i = 0; i < n; i++) {
    writer w;
    trial t;
    write_trial(first + (uint64_t)i, &w, &t);
    t.device = trial_device(device);
    cr_assert_not_null(t.device, "%s", llrt_last_error());
    const char *wrong = trial_run(&t);
    cr_assert(!wrong, "seed %llu on %s, %lld x %lld: %s\n%s",
              (unsigned long long)(first + (uint64_t)i), device, (long long)t.extent[0],
              (long long)t.extent[1], wrong, w.text);
  }
}

Test(compute_random, all_devices) {
  static const char *const devices[] = {"host", "cuda-emu:sm_80", "cuda-emu:sm_90a",
                                        "hip-emu:gfx90a", "hip-emu:gfx942"};
  const char *seed = getenv("LLRT_TEST_SEED"), *draws = getenv("LLRT_TEST_DRAWS"),
             *only = getenv("LLRT_TEST_DEVICE");
  for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
    int n = draws ? atoi(draws) : d == 0 ? 16 : 3;
    if (only && strcmp(only, devices[d]) != 0) continue;
    run_seeds(devices[d], seed ? strtoull(seed, NULL, 10) : 1 + 1000 * d, n);
  }
}
