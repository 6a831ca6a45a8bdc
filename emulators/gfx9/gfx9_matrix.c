/* Matrix products, D = A B + C (CDNA2 and CDNA3 ISA, "Matrix Arithmetic Instructions"; the layouts
 * as in AMD's matrix instruction calculator). The mnemonic says it all: v_mfma_<type of C and
 * D>_<M>x<N>x<K> [_<blocks>b][_]<type of A and B>. Every lane takes part, whatever exec says. */
#include "gfx9_code.h"
#include "gfx9_float.h"

#include "emulators/common/emu_float.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PER_LANE 8 /* elements of A or B: two words of 8 bits */

typedef struct shape {
  int m, n, k, blocks;
  int per_lane; /* consecutive k's that a lane holds of A and of B */
  int bits[2];  /* of an element of A, B */
  const char *type[2];
  bool wide, flush; /* f64; denormals of 16 bits are 0, as gfx90a has it */
} shape;

static const struct {
  const char *name;
  int bits;
} types[] = {{"bf16", 16}, {"f16", 16}, {"f32", 32}, {"f64", 64},
             {"i8", 8},    {"fp8", 8},  {"bf8", 8}};

static const char *read_type(const char *text, int k, shape *s) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    size_t n = strlen(types[i].name);
    if (strncmp(text, types[i].name, n) != 0) continue;
    s->type[k] = types[i].name;
    s->bits[k] = types[i].bits;
    return text + n;
  }
  return NULL;
}

/* The table has only names that this reads. */
static shape read_name(const gfx9_wave *wave, const gfx9_op *op) {
  shape s = {0};
  char *at = strchr((char *)(uintptr_t)op->info->name + 7, '_') + 1;
  s.m = (int)strtol(at, &at, 10);
  s.n = (int)strtol(at + 1, &at, 10);
  s.k = (int)strtol(at + 1, &at, 10);
  const char *rest = at + (*at == '_');
  if (strchr("0123456789", *rest)) rest = strchr(rest, '_') + 1; /* _4b_ */
  rest = read_type(rest, 0, &s);
  if (!*rest || !read_type(rest + 1, 1, &s)) {
    s.type[1] = s.type[0];
    s.bits[1] = s.bits[0];
  }
  s.per_lane = op->operand[1].words * 32 / s.bits[0];
  s.blocks = GFX9_LANES * s.per_lane / (s.m * s.k);
  s.wide = s.bits[0] == 64;
  s.flush = s.bits[0] == 16 && strcmp(wave->machine->module->cpu, "gfx90a") == 0;
  return s;
}

/* Element (row, k) of a block of A, or (k, column) of B: which lane holds it, and the how manieth
 * it is. */
static void locate_source(const shape *s, int row, int k, int block, int *lane, int *element) {
  int group = k / s->per_lane * s->blocks + block;
  *lane = group * s->m + row;
  *element = k % s->per_lane;
}

/* Element (row, column) of a block of C and D. Numbers of 32 bits: four rows to a lane's registers,
 * the next four to the next group of lanes, with the groups repeated until the rows, then the
 * blocks, are done. */
static void locate_result(const shape *s, int row, int column, int block, int *lane, int *element) {
  int groups = GFX9_LANES / s->n;
  if (s->blocks == groups && s->m == 4 && !s->wide) {
    *lane = block * s->n + column;
    *element = row;
  } else if (s->wide) {
    *lane = (row % (groups / s->blocks) * s->blocks + block) * s->n + column;
    *element = row / (groups / s->blocks);
  } else {
    *lane = row / 4 % groups * s->n + column;
    *element = row / (4 * groups) * 4 + row % 4 + block * (s->m / groups);
  }
}

static double element_of(const gfx9_wave *wave, const gfx9_operand *operand, const shape *s,
                         int which, int lane, int element) {
  int bits = s->bits[which], at = element * bits;
  const gfx9_row *rows = &wave->v[operand->index + at / 32];
  uint32_t word = rows[0][lane] >> at % 32;
  switch (bits) {
  case 64: return f64_of(word | (uint64_t)rows[1][lane] << 32);
  case 32: return (double)f32_of(word);
  case 16: {
    bool brain = *s->type[which] == 'b';
    uint32_t exponent = brain ? 0x7f80 : 0x7c00;
    if (s->flush && !(word & exponent)) return word & 0x8000 ? -0.0 : 0;
    return emu_unpack(brain ? &emu_bf16 : &emu_f16, word & 0xffff);
  }
  default:
    if (strcmp(s->type[which], "i8") == 0) return (int8_t)word;
    return (double)f32_of(fp8_to_f32(word & 0xff, *s->type[which] == 'f'));
  }
}

/* A word, or two, of C, and of D. */
static uint64_t addend(const gfx9_wave *wave, const gfx9_operand *c, const shape *s, int lane,
                       int element) {
  int words = s->wide ? 2 : 1;
  if (c->kind != GFX9_VECTOR) return c->value;
  uint64_t value = wave->v[c->index + words * element][lane];
  if (s->wide) value |= (uint64_t)wave->v[c->index + words * element + 1][lane] << 32;
  return value;
}

/* All of A (0) or B (1): k of a row, or column, after k, rows after rows, block after block. */
static void read_source(const gfx9_wave *wave, const gfx9_op *op, const shape *s, int which,
                        double *source) {
  for (int i = 0; i < s->blocks * s->m * s->k; i++) {
    int lane, element;
    locate_source(s, i / s->k % s->m, i % s->k, i / (s->k * s->m), &lane, &element);
    source[i] = element_of(wave, &op->operand[1 + which], s, which, lane, element);
  }
}

static uint64_t sum_of(const shape *s, const double *a, const double *b, uint64_t c) {
  bool integer = strcmp(s->type[0], "i8") == 0;
  double sum = integer ? (int32_t)c : s->wide ? f64_of(c) : (double)f32_of((uint32_t)c);
  for (int k = 0; k < s->k; k++) sum += a[k] * b[k];
  if (integer) return (uint32_t)(int64_t)sum;
  if (s->wide) return f64_bits(sum);
  uint32_t bits = f32_bits((float)sum);
  return s->flush && !(bits & 0x7f800000) ? bits & 0x80000000 : bits;
}

bool gfx9_matrix(gfx9_wave *wave, const gfx9_op *op) {
  static const int parts[] = {1, 2, 3};
  gfx9_row *result = wave->machine->matrix;
  shape s = read_name(wave, op);
  for (int k = 0; k < 3; k++) {
    if (!gfx9_is_undefined(wave, &op->operand[parts[k]])) continue;
    return gfx9_fault(wave, op, EMU_UNDEFINED, EMU_NOWHERE, "operand %d of a matrix product",
                      k + 1);
  }
  double source[2][GFX9_LANES * MOST_PER_LANE];
  assert(s.per_lane <= MOST_PER_LANE && s.m == s.n);
  for (int which = 0; which < 2; which++) read_source(wave, op, &s, which, source[which]);
  for (int at = 0; at < s.blocks * s.m * s.n; at++) {
    int lane, element, row = at / s.n % s.m, column = at % s.n, block = at / (s.m * s.n);
    locate_result(&s, row, column, block, &lane, &element);
    uint64_t c = addend(wave, &op->operand[3], &s, lane, element);
    uint64_t sum = sum_of(&s, &source[0][(block * s.m + row) * s.k],
                          &source[1][(block * s.m + column) * s.k], c);
    int word = s.wide ? 2 * element : element;
    result[word][lane] = (uint32_t)sum;
    if (s.wide) result[word + 1][lane] = (uint32_t)(sum >> 32);
  }
  for (int w = 0; w < op->operand[0].words; w++) {
    gfx9_write_row(wave, op->operand[0].index + w, GFX9_ALL, result[w], NULL);
  }
  return true;
}
