/* Table 4 of the paper: products of integers with floats inside a block, every ordered pair of
 * types, extents from 1 to 128 and 1 to 8 warps; how many of them are right. Each is a kernel of
 * one tile, compared with a sum in f64 within
 *
 *   (K + 16) 2^-23 sum |a b|  (2^-52 in f64), and what rounding to the result's type costs. */
#include "harness.h"
#include "jit/plan/types/dot_type.h"
#include "jit/plan/types/number.h"
#include "jit/probe/tile_op.h"
#include "subcommands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const llrt_dtype integers[] = {LLRT_I8, LLRT_I16, LLRT_I32, LLRT_I64};
static const llrt_dtype floats[] = {LLRT_F16, LLRT_BF16, LLRT_F32, LLRT_F64, LLRT_E4M3, LLRT_E5M2};
static const int extents[] = {0, 3, 4, 5, 6, 7}; /* log2 */
enum {
  INTEGERS = 4,
  FLOATS = 6,
  PAIRS = 2 * INTEGERS * FLOATS,
  OF_A_PAIR = 20,
  EXTENTS = 6,
  TILES = 3,
  NAME = 64
};
/* 4 x 6 x 2 pairs, of which each has 20 shapes: more than the paper's 784. */

typedef struct table4_case {
  plan_dot_tile tile;
  dot_rule rule;
  char name[NAME];
} table4_case;

typedef struct tally {
  int right, wrong, refused;
} tally;

/* Warps until each tile takes a thread's 2^7 words at most. */
static int enough_warps(const plan_dot_tile *tile) {
  int wide = tile->sum == LLRT_F64, most = tile->m + tile->n, warps = tile->warps;
  most = most > tile->m + tile->k ? most : tile->m + tile->k;
  most = most > tile->n + tile->k ? most : tile->n + tile->k;
  while (warps < 3 && most + wide - 5 - warps > 7) warps++;
  return warps;
}

static void make_case(int number, uint64_t seed, table4_case *c) {
  int pair = number / OF_A_PAIR, integer = pair / 2 % INTEGERS, floating = pair / 2 / INTEGERS;
  uint64_t x = harness_mix(seed + (uint64_t)number);
  llrt_dtype types[] = {integers[integer], floats[floating]};
  dot_operand_type a = {.element = types[pair & 1]}, b = {.element = types[!(pair & 1)]};
  dot_rule_find(&a, &b, LLRT_DTYPE_NONE, false, &c->rule);
  llrt_dtype product = dot_compute_dtype(c->rule.compute);
  c->tile = (plan_dot_tile){.m = extents[x % EXTENTS],
                            .n = extents[x / EXTENTS % EXTENTS],
                            .k = extents[x / EXTENTS / EXTENTS % EXTENTS],
                            .warps = (int)(x >> 40 & 3),
                            .a = a.element,
                            .b = b.element,
                            .d = c->rule.result,
                            .product_a = product,
                            .product_b = product,
                            .sum = c->rule.sums};
  c->tile.warps = enough_warps(&c->tile);
  snprintf(c->name, NAME, "%s x %s %dx%dx%d, %d warps", llrt_dtype_name(a.element),
           llrt_dtype_name(b.element), 1 << c->tile.m, 1 << c->tile.n, 1 << c->tile.k,
           1 << c->tile.warps);
}

/* ---- numbers ---- */

static double number_at(llrt_dtype dtype, const unsigned char *data, int64_t i) {
  size_t bytes = (size_t)llrt_dtype_bits(dtype) / 8;
  uint64_t code = 0;
  memcpy(&code, data + (size_t)i * bytes, bytes);
  return dtype == LLRT_I64 ? (double)(int64_t)code : number_value(number_format_of(dtype), code);
}

/* Integers of all their bits; floats k / 128, -1 <= k / 128 < 1. */
static void fill(llrt_dtype dtype, unsigned char *data, int64_t n, uint64_t seed) {
  const number_format *format = number_format_of(dtype);
  size_t bytes = (size_t)llrt_dtype_bits(dtype) / 8;
  for (int64_t i = 0; i < n; i++) {
    uint64_t code = harness_mix(seed ^ (uint64_t)i);
    if (format && format->kind == NUMBER_FLOAT)
      code = number_code(format, ((double)(code & 255) - 128) / 128);
    memcpy(data + (size_t)i * bytes, &code, bytes);
  }
}

static bool is_right_at(const table4_case *c, unsigned char *const data[3], int64_t first,
                        int64_t m, int64_t n) {
  const plan_dot_tile *tile = &c->tile;
  const number_format *format = number_format_of(tile->d);
  double sum = 0, magnitude = 0, got = number_at(tile->d, data[1], first + (m << tile->n) + n);
  for (int64_t k = 0; k < 1 << tile->k; k++) {
    double product = number_at(tile->a, data[0], first + (m << tile->k) + k) *
                     number_at(tile->b, data[2], first + (k << tile->n) + n);
    sum += product;
    magnitude += fabs(product);
  }
  double error = magnitude * ldexp((1 << tile->k) + 16, tile->sum == LLRT_F64 ? -52 : -23);
  double low = number_value(format, number_code(format, sum - error));
  double high = number_value(format, number_code(format, sum + error));
  return got >= low && got <= high;
}

static bool is_right(const table4_case *c, unsigned char *const data[3]) {
  int64_t size = (int64_t)1 << plan_dot_tile_bits(&c->tile), wrong = 0;
  for (int64_t t = 0; t < TILES; t++)
    for (int64_t m = 0; m < 1 << c->tile.m; m++)
      for (int64_t n = 0; n < 1 << c->tile.n; n++) wrong += !is_right_at(c, data, t * size, m, n);
  return wrong == 0;
}

/* ---- one case ---- */

static bool run_op(harness *h, const table4_case *c, const llrt_op *op, unsigned char *data[3]) {
  const llrt_dtype dtypes[] = {c->tile.a, c->tile.d, c->tile.b};
  int64_t elements = (int64_t)TILES << plan_dot_tile_bits(&c->tile);
  llrt_tensor tensors[3];
  for (int t = 0; t < 3; t++) {
    size_t bytes = (size_t)(elements * llrt_dtype_bits(dtypes[t]) / 8);
    tensors[t] =
        (llrt_tensor){.dtype = dtypes[t], .rank = 1, .shape = {elements}, .device = h->device};
    data[t] = malloc(bytes);
    if (!data[t]) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
    memset(data[t], 0xee, bytes);
    if (t != 1) fill(dtypes[t], data[t], elements, h->options.seed + (uint64_t)t);
    harness_must(llrt_memory_allocate(h->device, bytes, &tensors[t].data), "device memory");
    harness_must(
        llrt_memory_copy(h->device, tensors[t].data, data[t], bytes, LLRT_COPY_TO_DEVICE, NULL),
        "copy");
  }
  harness_must(llrt_op_run(op, NULL, tensors, 3, NULL), c->name);
  size_t bytes = (size_t)(elements * llrt_dtype_bits(c->tile.d) / 8);
  harness_must(
      llrt_memory_copy(h->device, data[1], tensors[1].data, bytes, LLRT_COPY_FROM_DEVICE, NULL),
      "copy");
  harness_must(llrt_stream_synchronize(h->device, NULL), c->name);
  for (int t = 0; t < 3; t++) llrt_memory_free(h->device, tensors[t].data);
  return is_right(c, data);
}

/* In the compute type, or where the device does not multiply it, in a wider one, which holds the
 * same values. */
static llrt_status make_op(harness *h, const table4_case *c, llrt_op **op) {
  static const llrt_dtype wider[] = {LLRT_F32, LLRT_F64};
  plan_dot_tile tile = c->tile;
  llrt_status status = llrt_dot_tile_op_make(h->device, &tile, NULL, NULL, op);
  for (int i = 0; i < 2 && status == LLRT_UNSUPPORTED; i++) {
    if (wider[i] == LLRT_F64 && tile.sum != LLRT_F64) break;
    tile.product_a = tile.product_b = wider[i];
    status = llrt_dot_tile_op_make(h->device, &tile, NULL, NULL, op);
  }
  return status;
}

static void run_case(harness *h, const table4_case *c, tally *count) {
  unsigned char *data[3] = {NULL};
  llrt_op *op;
  llrt_status status = make_op(h, c, &op);
  bool right = status == LLRT_OK && run_op(h, c, op, data);
  if (status == LLRT_OK) llrt_op_destroy(&op);
  count->right += right;
  count->wrong += !right && status != LLRT_UNSUPPORTED;
  count->refused += status == LLRT_UNSUPPORTED;
  if (!right) printf("%-40s %s\n", c->name, status ? llrt_last_error() : "WRONG");
  harness_record(
      h, c->name,
      "\"op\":\"table4\",\"a\":\"%s\",\"b\":\"%s\",\"shape\":[%d,%d,%d],\"warps\":%d,\"%s\":true",
      llrt_dtype_name(c->tile.a), llrt_dtype_name(c->tile.b), 1 << c->tile.m, 1 << c->tile.n,
      1 << c->tile.k, 1 << c->tile.warps,
      right    ? "right"
      : status ? "refused"
               : "wrong");
  for (int t = 0; t < 3; t++) free(data[t]);
}

static void print_table(tally counts[PAIRS]) {
  tally all = {0, 0, 0};
  printf("%-6s", "");
  for (int f = 0; f < FLOATS; f++) printf(" %8s", llrt_dtype_name(floats[f]));
  printf("   right of all, on either side\n");
  for (int i = 0; i < INTEGERS; i++) {
    printf("%-6s", llrt_dtype_name(integers[i]));
    for (int f = 0; f < FLOATS; f++) {
      int right = 0, n = 0;
      for (int side = 0; side < 2; side++) {
        const tally *t = &counts[(f * INTEGERS + i) * 2 + side];
        right += t->right;
        n += t->right + t->wrong + t->refused;
        all.right += t->right;
        all.wrong += t->wrong;
        all.refused += t->refused;
      }
      printf(" %4d/%-3d", right, n);
    }
    printf("\n");
  }
  printf("%d cases: %d right, %d wrong, %d refused\n", all.right + all.wrong + all.refused,
         all.right, all.wrong, all.refused);
}

int bench_table4(int argc, char *argv[]) {
  harness_options options;
  harness h;
  tally counts[PAIRS] = {{0, 0, 0}};
  int wrong = 0;
  harness_parse(argc, argv, &options);
  harness_init(&options, &h);
  for (int i = 0; i < PAIRS * OF_A_PAIR; i++) {
    table4_case c;
    make_case(i, options.seed, &c);
    if (!harness_wants(&h, c.name)) continue;
    if (options.list) printf("%s\n", c.name);
    else run_case(&h, &c, &counts[i / OF_A_PAIR]);
  }
  if (!options.list) print_table(counts);
  for (int p = 0; p < PAIRS; p++) wrong += counts[p].wrong + counts[p].refused;
  harness_fini(&h);
  return wrong ? 1 : 0;
}
