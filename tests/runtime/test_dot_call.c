/* llrt_dot as a call: what a description becomes, and what is refused with which words. */
#include "convert_fixture.h"
#include "runtime/described.h"

static llrt_tensor tensor(llrt_dtype dtype, int rank, int64_t x, int64_t y, int64_t z) {
  return (llrt_tensor){.dtype = dtype, .rank = rank, .shape = {x, y, z}};
}

/* One call that is wrong in one respect. */
typedef struct bad_call {
  llrt_tensor a, b, d;
  llrt_tensor extra; /* rank >= 0 where `set` uses it */
  void (*set)(llrt_dot_params *params, const llrt_tensor *extra);
  llrt_status status;
  const char *words; /* part of the message */
} bad_call;

static void scale_a(llrt_dot_params *p, const llrt_tensor *t) { p->a.scale = t; }
static void scale_b(llrt_dot_params *p, const llrt_tensor *t) { p->b.scale = t; }
static void scale_b_32(llrt_dot_params *p, const llrt_tensor *t) {
  p->b = (llrt_dot_scaling){.scale = t, .group = {32, 1}};
}
static void zero_b(llrt_dot_params *p, const llrt_tensor *t) { p->b.zero = t; }
static void global_b(llrt_dot_params *p, const llrt_tensor *t) { p->b.global = t; }
static void bias(llrt_dot_params *p, const llrt_tensor *t) { p->bias = t; }
static const double once = 1;
static void addend(llrt_dot_params *p, const llrt_tensor *t) { p->c = t, p->beta = &once; }
static void add_only(llrt_dot_params *p, const llrt_tensor *t) { p->add = t; }
static void add_map(llrt_dot_params *p, const llrt_tensor *t) {
  (void)t;
  static const llrt_map map = {.kind = LLRT_MAP_ADD};
  p->n_maps = 1;
  p->maps = &map;
}
static void xor_map(llrt_dot_params *p, const llrt_tensor *t) {
  (void)t;
  static const llrt_map map = {.kind = LLRT_MAP_XOR};
  p->n_maps = 1;
  p->maps = &map;
}
static void relu(llrt_dot_params *p, const llrt_tensor *t) {
  (void)t;
  static const llrt_map map = {.kind = LLRT_MAP_RELU};
  p->n_maps = 1;
  p->maps = &map;
}
static void words_twice_b(llrt_dot_params *p, const llrt_tensor *t) {
  (void)t;
  p->b.word_bits[1] = 1;
  p->b.word_bits[2] = 1;
}
static void words_beyond_b(llrt_dot_params *p, const llrt_tensor *t) {
  (void)t;
  memset(p->b.word_bits + 1, 32, 31);
}
static void words_reversed_a(llrt_dot_params *p, const llrt_tensor *t) {
  (void)t;
  for (int i = 0; i < 32; i++) p->a.word_bits[i] = (uint8_t)(31 - i);
}
static void promise_other(llrt_dot_params *p, const llrt_tensor *t) {
  p->b = (llrt_dot_scaling){.scale = t, .range_low = 3, .range_high = 5};
}
static void scale_and_zero_b(llrt_dot_params *p, const llrt_tensor *t) {
  static const llrt_tensor four = {.dtype = LLRT_F16, .rank = 2, .shape = {4, 8}};
  p->b = (llrt_dot_scaling){.scale = &four, .zero = t};
}
static void scale_d(llrt_dot_params *p, const llrt_tensor *t) {
  static const llrt_map map = {.kind = LLRT_MAP_SCALE, .group = {1, 4}};
  p->scale = t;
  p->n_maps = 1;
  p->maps = &map;
}
static void scale_only(llrt_dot_params *p, const llrt_tensor *t) { p->scale = t; }
static void accumulate_99(llrt_dot_params *p, const llrt_tensor *t) {
  (void)t;
  p->accumulate = (llrt_dtype)99;
}
static void in_i32(llrt_dot_params *p, const llrt_tensor *t) {
  (void)t;
  p->accumulate = LLRT_I32;
}
static void promise(llrt_dot_params *p, const llrt_tensor *t) {
  p->b.scale = t;
  p->b.range_low = 10;
  p->b.range_high = 5;
}
static void promise_alone(llrt_dot_params *p, const llrt_tensor *t) {
  (void)t;
  p->b.range_high = 5;
}

#define M(dtype, ...) tensor(LLRT_##dtype, 2, __VA_ARGS__, 0)
#define BAD LLRT_INVALID_ARGUMENT
#define NOT LLRT_UNSUPPORTED

Test(dot_call, bad_input) {
  const bad_call cases[] = {
      {M(F16, 4, 6), M(F16, 5, 8), M(F16, 4, 8), M(F32, 0, 0), NULL, BAD,
       "operand B has 5 positions along K, not 6"},
      {M(F16, 4, 6), M(F16, 6, 8), M(F16, 5, 8), M(F32, 0, 0), NULL, BAD,
       "operand A has 4 positions along M, not 5"},
      {M(F16, 4, 6), M(F16, 6, 8), M(F16, 4, 9), M(F32, 0, 0), NULL, BAD,
       "operand B has 8 positions along N, not 9"},
      {M(F16, 4, 6), M(F16, 6, 8), M(F16, -4, 8), M(F32, 0, 0), NULL, BAD, "along M"},
      {M(F16, 4, -64), M(E2M1, 64, 8), M(F16, 4, 8), M(E8M0, 2, 8), scale_b, BAD,
       "operand A has -64 positions along K"},
      {tensor(LLRT_F16, 1, 6, 0, 0), M(F16, 6, 8), M(F16, 4, 8), M(F32, 0, 0), NULL, BAD,
       "operand A has rank 1"},
      {tensor(LLRT_F16, 8, 1, 1, 1), M(F16, 6, 8), M(F16, 4, 8), M(F32, 0, 0), NULL, BAD,
       "operand A has rank 8"},
      {tensor(LLRT_F16, 3, 2, 4, 6), M(F16, 6, 8), M(F16, 4, 8), M(F32, 0, 0), NULL, BAD,
       "result D has rank 2, not 3"},
      {tensor(LLRT_F16, 3, 2, 4, 6), M(F16, 6, 8), tensor(LLRT_F16, 3, 3, 4, 8), M(F32, 0, 0), NULL,
       BAD, "operand A has 2 positions along batch axis 0, not 3"},
      {M(BOOL, 4, 6), M(F16, 6, 8), M(F16, 4, 8), M(F32, 0, 0), NULL, NOT, "operand A is bool"},
      {M(F16, 4, 6), M(U32, 6, 8), M(F16, 4, 8), M(F32, 0, 0), NULL, NOT, "operand B is u32"},
      {M(F16, 4, 6), tensor(LLRT_DTYPE_NONE, 2, 6, 8, 0), M(F16, 4, 8), M(F32, 0, 0), NULL, BAD,
       "operand B's dtype"},
      {M(F16, 4, 6), M(F16, 6, 8), M(E8M0, 4, 8), M(F32, 0, 0), NULL, NOT,
       "the result cannot be e8m0"},
      {M(I16, 4, 6), M(I16, 6, 8), M(E8M0, 4, 8), M(F32, 0, 0), NULL, NOT,
       "sums in i64: the result cannot be e8m0"},
      {M(F16, 4, 6), M(F16, 6, 8), M(I64, 4, 8), M(F32, 0, 0), NULL, NOT,
       "sums in f32: the result cannot be i64"},
      {M(I16, 4, 6), M(I16, 6, 8), M(I64, 4, 8), M(F32, 0, 0), relu, NOT,
       "nothing can act on sums that are written as they are"},
      {M(I8, 4, 6), M(I8, 6, 8), M(I64, 4, 8), M(F32, 0, 0), relu, NOT,
       "nothing can act on sums that are written as they are"},
      {M(F16, 4, 6), M(F16, 6, 8), M(F16, 4, 8), M(F32, 0, 0), in_i32, NOT,
       "sums in f32, not in i32"},
      {M(F16, 4, 64), M(E2M1, 64, 8), M(F16, 4, 8), M(E8M0, 3, 8), scale_b, BAD,
       "scale of B has 3 positions for 64"},
      {M(F16, 4, 64), M(E2M1, 64, 8), M(F16, 4, 8), M(E8M0, 4, 8), scale_b_32, BAD,
       "scale of B has 4 positions along K, not 2: the operand A has 64, in groups"},
      {M(F16, 4, 64), M(E2M1, 64, 8), M(F16, 4, 8), M(E8M0, 2, 7), scale_b, BAD,
       "scale of B has 7 positions for 8"},
      {M(F16, 4, 64), M(E2M1, 64, 8), M(F16, 4, 8), tensor(LLRT_E8M0, 1, 2, 0, 0), scale_b, BAD,
       "scale of B has rank 1"},
      {M(F16, 4, 64), M(E2M1, 64, 8), M(F16, 4, 8), tensor(LLRT_E8M0, 3, 2, 2, 8), scale_b, BAD,
       "scale of B has rank 3"},
      {M(F16, 4, 64), M(E2M1, 64, 8), M(F16, 4, 8), M(I8, 2, 8), scale_b, NOT,
       "operand B has scales of i8"},
      {M(E5M2, 4, 64), M(E2M1, 64, 8), M(F16, 4, 8), M(E8M0, 3, 64), scale_a, BAD,
       "scale of A has 3 positions for 4"},
      {M(F16, 4, 64), M(E4M3, 64, 8), M(F16, 4, 8), M(E4M3, 4, 64), scale_a, NOT,
       "operand A is f16: scales that differ along K"},
      {M(F16, 4, 64), M(E2M1, 64, 8), M(F16, 4, 8), M(I8, 2, 8), zero_b, NOT,
       "operand B is e2m1 with zero points of i8"},
      {M(F16, 4, 64), M(E2M1, 64, 8), M(F16, 4, 8), M(E8M0, 2, 8), promise, BAD,
       "scale_range of the operand B is 10 to 5"},
      {M(F16, 4, 64), M(E2M1, 64, 8), M(F16, 4, 8), M(E8M0, 2, 8), promise_alone, BAD,
       "a promise for scales of B"},
      {M(F16, 4, 6), M(F16, 6, 8), M(F16, 4, 8), M(F32, 1, 2), global_b, BAD,
       "global scale of B has 2 positions, not 1"},
      {M(F16, 4, 6), M(F16, 6, 8), M(F16, 4, 8), tensor(LLRT_F32, 4, 1, 1, 1), global_b, BAD,
       "global scale of B has rank 4, not 0 to 3"},
      {M(F16, 4, 64), M(E2M1, 64, 8), M(F16, 4, 8), M(F32, 0, 0), words_twice_b, BAD,
       "word_bits of the operand B is no permutation"},
      {M(F16, 4, 64), M(E2M1, 64, 8), M(F16, 4, 8), M(F32, 0, 0), words_beyond_b, BAD,
       "word_bits of the operand B is no permutation"},
      {M(F16, 4, 6), M(F16, 6, 8), M(F16, 4, 8), tensor(LLRT_F16, 0, 0, 0, 0), global_b, NOT,
       "global scale of B of a dot cannot be f16"},
      {M(F16, 4, 6), M(F16, 6, 8), M(F16, 4, 8), tensor(LLRT_F16, 1, 7, 0, 0), bias, BAD,
       "bias has 7 positions along N, not 8"},
      {M(F16, 4, 6), M(F16, 6, 8), M(F16, 4, 8), M(F16, 4, 8), bias, BAD, "bias has rank 2, not 1"},
      {M(F16, 4, 6), M(F16, 6, 8), M(F16, 4, 8), tensor(LLRT_I8, 1, 8, 0, 0), bias, NOT,
       "bias of a dot cannot be i8"},
      {M(F16, 4, 6), M(F16, 6, 8), M(F16, 4, 8), M(F16, 4, 7), addend, BAD,
       "addend C has 7 positions along N, not 8"},
      {M(F16, 4, 6), M(F16, 6, 8), M(F16, 4, 8), M(F16, 4, 8), add_only, BAD,
       "ADD map and params.add"},
      {M(F16, 4, 6), M(F16, 6, 8), M(F16, 4, 8), M(F16, 4, 8), add_map, BAD,
       "ADD map and params.add"},
      {M(F16, 4, 64), M(E2M1, 64, 8), M(F16, 4, 8), M(F32, 0, 0), words_reversed_a, NOT,
       "operand A is f16: word_bits are for elements of at most 8 bits"},
      {M(F16, 4, 64), M(E2M1, 64, 8), M(F16, 4, 8), M(E4M3, 2, 8), promise_other, BAD,
       "scale_range of the operand B: its scales are e4m3, not e8m0"},
      {M(F16, 4, 64), M(U4, 64, 8), M(F16, 4, 8), M(U4, 2, 8), scale_and_zero_b, BAD,
       "the zero of B has other groups than the scale of B"},
      {M(F16, 4, 64), M(U4, 64, 8), M(F16, 4, 8), M(U4, 4, 7), scale_and_zero_b, BAD,
       "the zero of B has 7 positions for 8"},
      {M(F16, 4, 6), M(F16, 6, 8), M(F16, 4, 8), M(F32, 4, 3), scale_d, BAD,
       "scale of D has 3 positions along N, not 2: the result D has 8, in groups"},
      {M(F16, 4, 6), M(F16, 6, 8), M(F16, 4, 8), M(I8, 4, 2), scale_d, NOT,
       "scale of D of a dot cannot be i8"},
      {M(F16, 4, 6), M(F16, 6, 8), M(F16, 4, 8), M(F32, 4, 2), scale_only, BAD,
       "SCALE map and params.scale"},
      {M(F16, 4, 6), M(F16, 6, 8), M(F16, 4, 8), M(F32, 0, 0), accumulate_99, BAD,
       "accumulate is 99"},
      {M(F16, 4, 6), M(F16, 6, 8), M(F16, 4, 8), M(F16, 4, 8), xor_map, BAD, "no map of kind 1"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const bad_call *c = &cases[i];
    llrt_dot_params params = {0};
    described_dot call;
    if (c->set) c->set(&params, &c->extra);
    cr_expect_eq(described_dot_make(&c->a, &c->b, &c->d, &params, &call), c->status, "case %zu: %s",
                 i, llrt_last_error());
    cr_expect(strstr(llrt_last_error(), c->words), "case %zu: %s", i, llrt_last_error());
  }
}

Test(dot_call, axes_and_groups) {
  llrt_tensor a = {.dtype = LLRT_BF16, .rank = 3, .shape = {5, 3, 64}}, b = M(U4, 64, 96);
  llrt_tensor d = {.dtype = LLRT_BF16, .rank = 3, .shape = {5, 3, 96}};
  llrt_tensor scale = M(BF16, 2, 96), zero = M(U4, 2, 96), one = tensor(LLRT_F32, 0, 0, 0, 0);
  llrt_tensor line = tensor(LLRT_BF16, 1, 96, 0, 0);
  llrt_dot_params params = {.b = {.scale = &scale, .zero = &zero, .global = &one}, .bias = &line};
  static const int32_t groups[][4] = {{1, 1, -1, 1},   {1, 1, 1, -1},   {-1, -1, 1, 1},
                                      {-1, -1, 1, -1}, {-1, -1, 1, 32}, {-1, -1, 1, 32},
                                      {-1, -1, -1, -1}};
  described_dot call;
  cr_assert_eq(described_dot_make(&a, &b, &d, &params, &call), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(call.desc.n_tensors, 7);
  cr_expect_eq(call.desc.dot.roles, 1u << LLRT_DOT_A | 1u << LLRT_DOT_D | 1u << LLRT_DOT_B |
                                        1u << LLRT_DOT_BIAS | 1u << LLRT_DOT_SCALE_B |
                                        1u << LLRT_DOT_ZERO_B | 1u << LLRT_DOT_GLOBAL_B);
  for (int t = 0; t < 7; t++) {
    cr_expect_eq(call.desc.tensors[t].rank, 4);
    for (int i = 0; i < 4; i++)
      cr_expect_eq(call.desc.dot.group[t][i], groups[t][i], "tensor %d axis %d", t, i);
  }
  llrt_storage_binding binding;
  const llrt_tensor *own = &call.desc.tensors[2]; /* B: element [k, n] lies at 96 k + n */
  cr_assert_eq(llrt_storage_bind(own->storage, 4, own->shape, own->strides, &binding), LLRT_OK);
  const int64_t at[] = {0, 0, 7, 5};
  cr_expect_eq(llrt_storage_offset(own->storage, &binding, at), 96 * 5 + 7);
}

/* ---- on the host: what is wrong with memory, and calls that are none ---- */

enum { SIDE = 16 };

typedef struct matrices {
  _Alignas(64) float a[SIDE * SIDE], b[SIDE * SIDE], d[2 * SIDE * SIDE];
  llrt_tensor ta, tb, td;
} matrices;

static void make_matrices(matrices *m, llrt_device *device) {
  float *data[] = {m->a, m->b, m->d};
  llrt_tensor *tensors[] = {&m->ta, &m->tb, &m->td};
  for (int i = 0; i < SIDE * SIDE; i++) {
    m->a[i] = (float)(i % 7 - 3);
    m->b[i] = (float)(i % 5 - 2);
  }
  for (int i = 0; i < 2 * SIDE * SIDE; i++) m->d[i] = -1;
  for (int t = 0; t < 3; t++)
    *tensors[t] = (llrt_tensor){
        .data = data[t], .dtype = LLRT_F32, .rank = 2, .shape = {SIDE, SIDE}, .device = device};
}

static float product_at(const matrices *m, int i, int j) {
  float sum = 0;
  for (int k = 0; k < SIDE; k++) sum += m->a[i * SIDE + k] * m->b[k * SIDE + j];
  return sum;
}

Test(dot_call, nothing_is_written) {
  static fixture at;
  static matrices m;
  fixture_make(&at, &fixture_params);
  make_matrices(&m, at.host);
  llrt_tensor null = m.ta, over = m.td, odd = m.td, lost = m.tb, c = m.td, other = m.td,
              flat = m.td;
  llrt_tensor shorter = m.tb, narrower = m.td, words = m.tb, whole = m.tb, far = m.tb, wrong = m.tb,
              bytes = m.tb;
  llrt_storage flat_storage, marlin, apart;
  null.data = NULL;
  over.data = m.a + 4;
  odd.data = (char *)m.d + 2;
  lost.device = NULL;
  c.storage = &at.col_major;
  other.dtype = LLRT_F64;
  cr_assert_eq(llrt_storage_strided(2, (int64_t[]){0, 1}, &flat_storage), LLRT_OK);
  flat.storage = &flat_storage;
  shorter.shape[0] = SIDE - 1;
  narrower.shape[1] = SIDE - 1;
  words.dtype = LLRT_U32;
  whole.dtype = LLRT_BOOL;
  wrong.shape[0] = 3;
  wrong.data = m.d + SIDE * SIDE;
  cr_assert_eq(llrt_storage_parse("marlin_w4", 2, NULL, &marlin), LLRT_OK);
  bytes.dtype = LLRT_U4;
  bytes.storage = &marlin;
  cr_assert_eq(llrt_storage_parse("strided([48,3])", 2, NULL, &apart), LLRT_OK);
  far.dtype = LLRT_I8;
  far.storage = &apart;
  llrt_dot_params permuted = {0};
  for (int i = 0; i < 32; i++) permuted.b.word_bits[i] = (uint8_t)(31 - i);
  llrt_tensor narrow[2] = {m.ta, m.tb}, by[2] = {wrong, wrong};
  narrow[0].dtype = narrow[1].dtype = LLRT_I8;
  by[0].shape[0] = SIDE, by[0].shape[1] = 3;
  by[1].shape[0] = 4, by[1].shape[1] = SIDE;
  const llrt_dot_params sixes_and_fours = {.a = {.scale = &by[0], .group = {1, 6}},
                                           .b = {.scale = &by[1], .group = {4, 1}}};
  const llrt_dot_params addend = {.c = &c, .beta = &once},
                        other_type = {.c = &other, .beta = &once},
                        scaled = {.b = {.scale = &wrong}};
  const struct {
    const llrt_tensor *a, *b, *d;
    const llrt_dot_params *params;
    llrt_status status;
    const char *words;
  } cases[] = {
      {&m.ta, &shorter, &m.td, NULL, BAD, "the operand B has 15 positions along K, not 16"},
      {&m.ta, &m.tb, &narrower, NULL, BAD, "the operand B has 16 positions along N, not 15"},
      {&m.ta, &m.tb, &m.td, &scaled, BAD, "the scale of B has 3 positions for 16"},
      {&m.ta, &words, &m.td, NULL, NOT, "the operand B is u32"},
      {&whole, &m.tb, &m.td, NULL, NOT, "the operand A is bool"},
      {&m.ta, &m.tb, &m.td, &permuted, NOT, "the operand B is f32: word_bits"},
      {&m.ta, &far, &m.td, &permuted, NOT, "operand B: no thread reads the words whole"},
      {&m.ta, &bytes, &m.td, NULL, BAD, "operand B"},
      {&narrow[0], &narrow[1], &m.td, &sixes_and_fours, NOT, "groups of scales and addends"},
      {NULL, &m.tb, &m.td, NULL, BAD, "a is NULL"},
      {&m.ta, NULL, &m.td, NULL, BAD, "b is NULL"},
      {&m.ta, &m.tb, NULL, NULL, BAD, "d is NULL"},
      {&null, &m.tb, &m.td, NULL, BAD, "operand A's data is NULL"},
      {&m.ta, &lost, &m.td, NULL, BAD, "operand B has no device"},
      {&m.ta, &m.tb, &over, NULL, BAD, "operand A and result D overlap"},
      {&m.ta, &m.tb, &odd, NULL, BAD, "result D's data is not aligned"},
      {&m.ta, &m.tb, &m.td, &addend, BAD, "C lies at D's address in another storage"},
      {&m.ta, &m.tb, &m.td, &other_type, BAD,
       "C lies at D's address in another type, f64, not f32"},
      {&m.ta, &m.tb, &flat, NULL, BAD, "the result D puts two elements at one offset"}};
  float before[SIDE * SIDE];
  memcpy(before, m.a, sizeof before);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cr_expect_eq(llrt_dot_into(cases[i].a, cases[i].b, cases[i].d, cases[i].params, NULL),
                 cases[i].status, "case %zu: %s", i, llrt_last_error());
    cr_expect(strstr(llrt_last_error(), cases[i].words), "case %zu: %s", i, llrt_last_error());
  }
  for (int i = 0; i < 2 * SIDE * SIDE; i++) cr_expect_eq(m.d[i], -1);
  cr_expect_eq(memcmp(before, m.a, sizeof before), 0);
  fixture_end(&at);
}

Test(dot_call, one_line_and_allocated) {
  static fixture at;
  static matrices m;
  llrt_tensor result;
  fixture_make(&at, &fixture_params);
  make_matrices(&m, at.host);
  cr_assert_eq(llrt_dot(&m.ta, &m.tb, &at.col_major, NULL, NULL, &result), LLRT_OK, "%s",
               llrt_last_error());
  cr_assert_eq(result.dtype, LLRT_F32);
  for (int i = 0; i < SIDE * SIDE; i++)
    cr_expect_eq(((float *)result.data)[i], product_at(&m, i % SIDE, i / SIDE));
  cr_assert_eq(llrt_tensor_free(&result, NULL), LLRT_OK);
  llrt_tensor bad = m.tb;
  float twice = 2;
  llrt_tensor one = {.data = &twice, .dtype = LLRT_F32, .rank = 1, .shape = {1}, .device = at.host};
  const llrt_dot_params params = {.b = {.global = &one}};
  cr_assert_eq(llrt_dot(&m.ta, &m.tb, NULL, &params, NULL, &result), LLRT_OK, "%s",
               llrt_last_error());
  for (int i = 0; i < SIDE * SIDE; i++)
    cr_expect_eq(((float *)result.data)[i], 2 * product_at(&m, i / SIDE, i % SIDE));
  cr_assert_eq(llrt_tensor_free(&result, NULL), LLRT_OK);
  bad.shape[0] = 3;
  cr_expect_eq(llrt_dot(&m.ta, &bad, NULL, NULL, NULL, &result), LLRT_INVALID_ARGUMENT);
  cr_expect_null(result.data);
  cr_expect_eq(llrt_dot(&m.ta, &m.tb, NULL, &(llrt_dot_params){.dtype = 77}, NULL, &result),
               LLRT_INVALID_ARGUMENT);
  cr_expect(strstr(llrt_last_error(), "the result's dtype is 77"), "%s", llrt_last_error());
  fixture_end(&at);
}

/* What was prepared for weights in one order is not run on those of another, nor loaded by another
 * target's device. */
Test(dot_call, packed_for_others) {
  static const char *const others[] = {"", "marlin_w4", "col_major", "transposed(machete_w4)"};
  enum { K = 64, N = 128 };
  static _Alignas(64) float a[SIDE * K], d[SIDE * N];
  static _Alignas(64) uint8_t weights[K * N / 2];
  static fixture at;
  static char saved[16 << 20];
  static described_dot call;
  llrt_op *op, *loaded;
  llrt_device *gpu = NULL;
  llrt_dot_packing packing = {0};
  size_t size = sizeof saved;
  const llrt_dot_pack_params what = {.dtype = LLRT_U4};
  fixture_make(&at, &fixture_params);
  cr_assert_eq(llrt_dot_pack(&what, "sm_80", LLRT_DOT_B, &packing), LLRT_OK, "%s",
               llrt_last_error());
  llrt_tensor ta = M(F32, SIDE, K), tb = M(U4, K, N), td = M(F32, SIDE, N);
  ta.device = tb.device = td.device = at.host;
  ta.data = a, tb.data = weights, td.data = d;
  tb.storage = &packing.storages[0];
  llrt_dot_params params = {0};
  memcpy(params.b.word_bits, packing.word_bits, sizeof packing.word_bits);
  cr_assert_eq(described_dot_make(&ta, &tb, &td, &params, &call), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(described_prepare(at.host, &call.desc, &op), LLRT_OK, "%s", llrt_last_error());
  for (int i = 0; i < SIDE * N; i++) d[i] = -1;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    llrt_storage storage;
    if (others[i][0])
      cr_assert_eq(llrt_storage_parse(others[i], 2, NULL, &storage), LLRT_OK, "%s",
                   llrt_last_error());
    tb.storage = others[i][0] ? &storage : NULL;
    cr_assert_eq(described_dot_make(&ta, &tb, &td, &params, &call), LLRT_OK, "%s",
                 llrt_last_error());
    cr_expect_eq(llrt_op_run(op, NULL, call.desc.tensors, 3, NULL), LLRT_INVALID_ARGUMENT, "%s",
                 others[i]);
    cr_expect(strstr(llrt_last_error(), "operand B"), "%s: %s", others[i], llrt_last_error());
  }
  cr_assert_eq(llrt_op_save(op, saved, &size), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_device_open(at.context, "cuda-emu:sm_80", NULL, &gpu), LLRT_OK, "%s",
               llrt_last_error());
  cr_expect_eq(llrt_op_load(gpu, saved, size, &loaded), LLRT_UNSUPPORTED);
  cr_expect(strstr(llrt_last_error(), "sm_80"), "%s", llrt_last_error());
  cr_expect_null(loaded);
  llrt_device_close(&gpu);
  for (int i = 0; i < SIDE * N; i++) cr_expect_eq(d[i], -1);
  llrt_op_destroy(&op);
  fixture_end(&at);
}

/* One operation for every number of rows that its promise allows; others are OUT_OF_CLASS. */
Test(dot_call, prepared_for_several_rows) {
  static fixture at;
  static matrices m;
  static described_dot call;
  llrt_op *op;
  llrt_run_params run = {0};
  fixture_make(&at, &fixture_params);
  make_matrices(&m, at.host);
  cr_assert_eq(described_dot_make(&m.ta, &m.tb, &m.td, NULL, &call), LLRT_OK);
  call.desc.promises[0].shape[0] = (llrt_promise){.max = 8};
  cr_assert_eq(described_prepare(at.host, &call.desc, &op), LLRT_OK, "%s", llrt_last_error());
  for (int rows = 1; rows <= 9; rows += 4) {
    m.ta.shape[0] = m.td.shape[0] = rows;
    cr_assert_eq(described_dot_make(&m.ta, &m.tb, &m.td, NULL, &call), LLRT_OK);
    cr_assert_eq(llrt_op_workspace(op, call.desc.tensors, 3, &run.workspace_bytes), LLRT_OK, "%s",
                 llrt_last_error());
    run.workspace = run.workspace_bytes ? calloc(1, run.workspace_bytes) : NULL;
    llrt_status status = llrt_op_run(op, NULL, call.desc.tensors, 3, &run);
    cr_expect_eq(status, rows > 8 ? LLRT_OUT_OF_CLASS : LLRT_OK, "%d rows: %s", rows,
                 llrt_last_error());
    for (int i = 0; i < rows * SIDE && rows <= 8; i++)
      cr_expect_eq(m.d[i], product_at(&m, i / SIDE, i % SIDE));
    free(run.workspace);
  }
  llrt_op_destroy(&op);
  fixture_end(&at);
}

/* An operation whose promises allow no position along K has a kernel for that, too, beside those of
 * so few that scales stand on sums. */
Test(dot_call, prepared_for_nothing_to_sum) {
  enum { TALL = 4, WIDE = 8 };
  static fixture at;
  static described_dot call;
  float a[TALL] = {1, 2, 3, 4}, d[TALL * WIDE];
  uint8_t b[WIDE] = {1, 2, 3, 4, 5, 6, 7, 8}, scales[WIDE];
  llrt_op *op = NULL;
  fixture_make(&at, &fixture_params);
  memset(scales, 0x40, sizeof scales); /* 2 */
  for (int k = 1; k >= 0; k--) {
    llrt_tensor ta = tensor(LLRT_F32, 2, TALL, k, 0), tb = tensor(LLRT_U8, 2, k, WIDE, 0);
    llrt_tensor td = tensor(LLRT_F32, 2, TALL, WIDE, 0), ts = tensor(LLRT_E4M3, 2, k, WIDE, 0);
    ta.device = tb.device = td.device = ts.device = at.host;
    ta.data = a, tb.data = b, td.data = d, ts.data = scales;
    const llrt_dot_params params = {.b = {.scale = &ts, .group = {16, 1}}};
    cr_assert_eq(described_dot_make(&ta, &tb, &td, &params, &call), LLRT_OK, "%s",
                 llrt_last_error());
    call.desc.promises[0].shape[2] = (llrt_promise){.max = 1};
    if (!op)
      cr_assert_eq(described_prepare(at.host, &call.desc, &op), LLRT_OK, "%s", llrt_last_error());
    memset(d, 0xFF, sizeof d);
    cr_expect_eq(llrt_op_run(op, NULL, call.desc.tensors, call.desc.n_tensors, NULL), LLRT_OK,
                 "%d: %s", k, llrt_last_error());
    for (int i = 0; i < TALL * WIDE; i++)
      cr_expect_eq(d[i], k ? 2 * a[i / WIDE] * b[i % WIDE] : 0, "K %d, %d: %g", k, i, (double)d[i]);
  }
  llrt_op_destroy(&op);
  fixture_end(&at);
}

/* The least and greatest byte of scales in any storage; nothing where one is NaN, or where there
 * are none. */
Test(dot_call, range_of_scales) {
  static fixture at;
  static uint8_t bytes[128 * 8];
  uint8_t low, high;
  llrt_storage storage;
  fixture_make(&at, &fixture_params);
  static const char *const layouts[] = {"row_major", "col_major", "scale_128x4", "strided([8,1])"};
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
    llrt_tensor scales = {.data = bytes,
                          .dtype = LLRT_E8M0,
                          .rank = 2,
                          .shape = {100, 7},
                          .storage = &storage,
                          .device = at.host};
    size_t size;
    cr_assert_eq(llrt_storage_parse(layouts[i], 2, scales.shape, &storage), LLRT_OK, "%s",
                 llrt_last_error());
    cr_assert_eq(llrt_tensor_bytes(&scales, &size), LLRT_OK);
    cr_assert_leq(size, sizeof bytes);
    memset(bytes, 120, sizeof bytes);
    bytes[0] = 101; /* element (0, 0) in all of these */
    cr_assert_eq(llrt_dot_scale_range(&scales, NULL, &low, &high), LLRT_OK, "%s",
                 llrt_last_error());
    cr_expect(low == 101 && high == 120, "%s: %d to %d", layouts[i], low, high);
    bytes[0] = 255;
    cr_assert_eq(llrt_dot_scale_range(&scales, NULL, &low, &high), LLRT_OK);
    cr_expect(low == 0 && high == 0, "%s: %d to %d", layouts[i], low, high);
    scales.shape[0] = 0;
    low = high = 9;
    cr_assert_eq(llrt_dot_scale_range(&scales, NULL, &low, &high), LLRT_OK, "%s",
                 llrt_last_error());
    cr_expect(low == 0 && high == 0);
    scales.dtype = LLRT_BF16;
    cr_expect_eq(llrt_dot_scale_range(&scales, NULL, &low, &high), LLRT_INVALID_ARGUMENT);
  }
  cr_expect_eq(llrt_dot_scale_range(NULL, NULL, &low, &high), LLRT_INVALID_ARGUMENT);
  fixture_end(&at);
}
