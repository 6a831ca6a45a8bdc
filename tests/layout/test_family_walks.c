/* Register families with random parameters against mixed-radix arithmetic. A family is a list of
 * walks: an index of an in-dim steps over some positions along an axis, then the next walk takes
 * what is left of it. No bases, no products: what is divided and multiplied here are coordinates.
 */
#include "tests/layout/layout_text.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TRIALS 400
#define MAX_WALKS 40
#define MAX_TEXT 1024

enum { REGISTER, LANE, WARP, BLOCK, N_INS };
static const char *const ins[N_INS] = {"register", "lane", "warp", "block"};

/* `count` positions of in-dim `in`: along `axis`, or copies. */
typedef struct walk {
  int in, axis, count;
  bool copies;
} walk;

typedef struct model {
  char text[MAX_TEXT];
  int rank;
  int64_t shape[4];
  int grow[4]; /* axes in the order in which registers walk over what is left of a shape */
  int n_walks, n_blocks;
  walk at[MAX_WALKS], blocks[8];
  int64_t cta_shape[4];
  int sliced[4], n_sliced; /* axes that are dropped in the end, each among those left */
} model;

__attribute__((format(printf, 2, 3))) static void say(model *m, const char *format, ...) {
  size_t used = strlen(m->text);
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(m->text + used, sizeof m->text - used, format, arguments);
  va_end(arguments);
  cr_assert(n >= 0 && used + (size_t)n < sizeof m->text);
}

static void say_list(model *m, const char *name, const int *value, int n) {
  say(m, "%s=[", name);
  for (int i = 0; i < n; i++) say(m, "%s%d", i ? "," : "", value[i]);
  say(m, "]");
}

static void add_walk(model *m, int in, int axis, int count) {
  cr_assert(m->n_walks < MAX_WALKS);
  m->at[m->n_walks++] = (walk){in, axis, count, false};
}
static void add_copies(model *m, int in, int count) {
  cr_assert(m->n_walks < MAX_WALKS);
  m->at[m->n_walks++] = (walk){in, 0, count, true};
}

/* ---- evaluation ---- */

/* Adds the walks' positions to at[]; axes' sizes grow as they are walked. Returns the index's rest.
 */
static void follow(const walk *walks, int n, int64_t *index, int64_t *size, int64_t *at) {
  for (int i = 0; i < n; i++) {
    int64_t position = index[walks[i].in] % walks[i].count;
    index[walks[i].in] /= walks[i].count;
    if (walks[i].copies) continue;
    at[walks[i].axis] += position * size[walks[i].axis];
    size[walks[i].axis] *= walks[i].count;
  }
}

/* Where the element of register, lane, warp, block lies in the shape. */
static void locate(const model *m, const int64_t *where, int64_t *at) {
  int64_t index[N_INS], size[4] = {1, 1, 1, 1}, block_at[4] = {0}, blocks[4] = {1, 1, 1, 1};
  memcpy(index, where, sizeof index);
  for (int a = 0; a < 4; a++) at[a] = 0;
  follow(m->at, m->n_walks, index, size, at);
  for (int i = 0; i < m->rank; i++) { /* the rest of a block's part, by registers */
    int a = m->grow[i];
    if (size[a] >= m->cta_shape[a]) continue;
    int64_t more = m->cta_shape[a] / size[a];
    at[a] += index[REGISTER] % more * size[a];
    index[REGISTER] /= more;
  }
  follow(m->blocks, m->n_blocks, index, blocks, block_at);
  for (int a = 0; a < m->rank; a++)
    at[a] = at[a] % m->cta_shape[a] + block_at[a] * m->cta_shape[a] % m->shape[a];
}

/* Registers of the family: what the walks have, times what is left. */
static int64_t count_of(const model *m, int in) {
  int64_t size[4] = {1, 1, 1, 1}, n = 1;
  for (int i = 0; i < m->n_walks; i++) {
    if (m->at[i].in == in) n *= m->at[i].count;
    if (!m->at[i].copies) size[m->at[i].axis] *= m->at[i].count;
  }
  for (int i = 0; i < m->n_blocks; i++)
    if (in == BLOCK) n *= m->blocks[i].count;
  for (int a = 0; a < m->rank && in == REGISTER; a++)
    if (size[a] < m->cta_shape[a]) n *= m->cta_shape[a] / size[a];
  return n;
}

/* The coordinates that are left after the slices. */
static int project(const model *m, int64_t *at) {
  int rank = m->rank;
  for (int i = 0; i < m->n_sliced; i++, rank--)
    for (int a = m->sliced[i]; a + 1 < rank; a++) at[a] = at[a + 1];
  return rank;
}

/* Index bits of registers that move nothing are left out by slices. */
static int kept_registers(const model *m, int64_t *bit) {
  int n = 0;
  for (int64_t b = 1; b < count_of(m, REGISTER); b *= 2) {
    int64_t where[N_INS] = {b, 0, 0, 0}, at[4], any = 0;
    locate(m, where, at);
    int rank = project(m, at);
    for (int a = 0; a < rank; a++) any |= at[a];
    if (any || m->n_sliced == 0) bit[n++] = b;
  }
  return n;
}

static void expect_agreement(const model *m) {
  int64_t shape[4], kept[40];
  for (int a = 0; a < 4; a++) shape[a] = m->shape[a];
  int rank = project(m, shape), n_kept = kept_registers(m, kept);
  llrt_layout layout;
  cr_assert(llrt_layout_parse(m->text, rank, shape, &layout) == LLRT_OK, "%s: %s", m->text,
            llrt_last_error());
  int64_t sizes[N_INS] = {1ll << n_kept, count_of(m, LANE), count_of(m, WARP), count_of(m, BLOCK)};
  for (int i = 0; i < N_INS; i++)
    cr_assert_eq(1ll << layout.in[i].bits, sizes[i], "%s: %lld of %s, not %lld", m->text,
                 1ll << layout.in[i].bits, ins[i], (long long)sizes[i]);
  int64_t points = sizes[0] * sizes[1] * sizes[2] * sizes[3];
  int64_t step = points > 4096 ? points / 4096 | 1 : 1;
  for (int64_t point = 0; point < points; point += step) {
    int64_t where[N_INS], at[4], left = point;
    uint64_t in[N_INS], out[4];
    for (int i = 0; i < N_INS; left /= sizes[i++]) in[i] = (uint64_t)(where[i] = left % sizes[i]);
    where[REGISTER] = 0;
    for (int b = 0; b < n_kept; b++)
      if (in[REGISTER] >> b & 1) where[REGISTER] += kept[b];
    locate(m, where, at);
    project(m, at);
    cr_assert(llrt_layout_apply(&layout, in, out) == LLRT_OK);
    for (int a = 0; a < rank; a++)
      cr_assert_eq((int64_t)out[a], at[a],
                   "%s at %lld x %lld: register %lld lane %lld warp %lld block "
                   "%lld is at %lld along axis %d, not %lld",
                   m->text, (long long)shape[0], (long long)shape[1], (long long)in[0],
                   (long long)in[1], (long long)in[2], (long long)in[3], (long long)out[a], a,
                   (long long)at[a]);
  }
}

/* ---- random parameters ---- */

static int power(random_source *source, int bits) { return 1 << random_below(source, bits + 1); }

static void random_order(random_source *source, int n, int *order) {
  for (int i = 0; i < n; i++) order[i] = i;
  for (int i = n - 1; i > 0; i--) {
    int k = random_below(source, i + 1), other = order[i];
    order[i] = order[k], order[k] = other;
  }
}

/* ctas_per_cga and its fellows, in one of two cases. Axis k (-1: none) is not divided. */
static void random_cluster(random_source *source, int k, model *m) {
  int per_cga[4], split[4], order[4];
  for (int a = 0; a < m->rank; a++) m->cta_shape[a] = m->shape[a];
  if (random_below(source, 2)) return;
  random_order(source, m->rank, order);
  for (int a = 0; a < m->rank; a++) {
    per_cga[a] = power(source, 2);
    split[a] = 1 << random_below(source, per_cga[a] == 1 ? 1 : per_cga[a] == 2 ? 2 : 3);
  }
  say(m, ", ");
  say_list(m, "ctas_per_cga", per_cga, m->rank);
  say(m, ", ");
  say_list(m, "cta_split", split, m->rank);
  say(m, ", ");
  say_list(m, "cta_order", order, m->rank);
  for (int i = 0; i < m->rank; i++) {
    int a = order[i], parts = a == k ? 1 : split[a];
    m->blocks[m->n_blocks++] = (walk){BLOCK, a, parts, false};
    m->blocks[m->n_blocks++] = (walk){BLOCK, a, per_cga[a] / parts, true};
    int64_t held = parts < m->shape[a] ? parts : m->shape[a];
    m->cta_shape[a] = m->shape[a] / held;
  }
}

static void grow_row_major(model *m) {
  for (int i = 0; i < m->rank; i++) m->grow[i] = m->rank - 1 - i;
}

/* The shape of a matrix, in a batch where the rank is 3. `large` is log2 of a common extent. Of an
 * axis that is sliced away the extent is 1, and `slices` of them are. */
static void random_shape(random_source *source, int rank, int large, int slices, model *m) {
  *m = (model){.rank = rank, .shape = {1, 1, 1, 1}};
  int left[4] = {0, 1, 2, 3};
  for (int a = 0; a < rank; a++) m->shape[a] = power(source, rank == 3 && a == 0 ? 3 : large);
  for (; m->n_sliced < slices && rank > 1; rank--) {
    int which = random_below(source, rank);
    m->shape[left[which]] = 1;
    m->sliced[m->n_sliced++] = which;
    memmove(left + which, left + which + 1, (size_t)(3 - which) * sizeof *left);
  }
  for (int i = m->n_sliced - 1; i >= 0; i--) say(m, "slice(dim=%d, parent=", m->sliced[i]);
}

static void warps_of(model *m, const int *warps, const int *order, int k) {
  for (int i = 0; i < m->rank; i++) {
    if (order[i] == k) add_copies(m, WARP, warps[order[i]]);
    else add_walk(m, WARP, order[i], warps[order[i]]);
  }
}

/* Where the family is an operand: before and after its parent's text. operand -1: it is none. */
static void open_dot(model *m, int operand, int k_width) {
  if (operand < 0) return;
  say(m, "dot(operand=%d, ", operand);
  if (k_width) say(m, "k_width=%d, ", k_width);
  say(m, "parent=");
}

static int k_axis(const model *m, int operand) {
  return operand < 0 ? -1 : operand == 0 ? m->rank - 1 : m->rank - 2;
}

static void make_blocked(random_source *source, int operand, int slices, model *m) {
  int size[4], threads[4] = {1, 1, 1, 1}, warps[4], order[4];
  random_shape(source, operand >= 0 ? 2 + random_below(source, 2) : 1 + random_below(source, 3), 5,
               slices, m);
  int k = k_axis(m, operand);
  random_order(source, m->rank, order);
  for (int bits = 5 + random_below(source, 2); bits > 0; bits--)
    threads[random_below(source, m->rank)] *= 2;
  for (int a = 0; a < m->rank; a++) size[a] = power(source, 2), warps[a] = power(source, 2);
  open_dot(m, operand, 0);
  say(m, "blocked(");
  say_list(m, "size_per_thread", size, m->rank);
  say(m, ", ");
  say_list(m, "threads_per_warp", threads, m->rank);
  say(m, ", ");
  say_list(m, "warps_per_cta", warps, m->rank);
  say(m, ", ");
  say_list(m, "order", order, m->rank);
  random_cluster(source, k, m);
  say(m, operand < 0 ? ")" : "))");
  for (int i = 0; i < m->rank; i++)
    add_walk(m, REGISTER, order[i], order[i] == k ? (int)m->shape[k] : size[order[i]]);
  for (int i = 0; i < m->rank; i++) {
    if (order[i] == k) add_copies(m, LANE, threads[k]);
    else add_walk(m, LANE, order[i], threads[order[i]]);
  }
  warps_of(m, warps, order, k);
  memcpy(m->grow, order, sizeof order);
}

/* mma.sync: 8 rows by 4 lanes of k_width elements; wgmma stacks its warps along M. */
static void make_nvmma(random_source *source, int operand, int slices, model *m) {
  int version = 2 + random_below(source, 2), k_width = operand < 0 ? 2 : power(source, 3);
  if (operand == 1) version = 2;
  random_shape(source, version == 3 ? 2 : 2 + random_below(source, 2), 7, slices, m);
  int row = m->rank - 2, column = m->rank - 1, k = k_axis(m, operand), warps[4], instr[4], order[4];
  for (int a = 0; a < m->rank; a++) warps[a] = power(source, a < row ? 1 : 2), instr[a] = 1;
  int instr_m = version == 2 && random_below(source, 4) == 0 ? 8 : 16;
  int instr_n = version == 2 ? 8 : 8 << random_below(source, 6);
  instr[row] = instr_m, instr[column] = instr_n;
  open_dot(m, operand, k_width);
  say(m, "nvmma(version=[%d,0], ", version);
  if (version == 3) say(m, "instr_shape=[%d,%d,16], ", instr_m, instr_n);
  else say_list(m, "instr_shape", instr, m->rank), say(m, ", ");
  say_list(m, "warps_per_cta", warps, m->rank);
  random_cluster(source, k, m);
  say(m, operand < 0 ? ")" : "))");
  int outer = operand == 1 ? column : row, inner = operand == 1 ? row : column;
  int high = operand == 1 ? 8 : instr_m;
  int wide = operand < 0 ? instr_n : (instr_m == 8 ? 4 : 8) * k_width;
  add_walk(m, REGISTER, inner, k_width);
  add_walk(m, LANE, inner, 4);
  add_walk(m, LANE, outer, 8);
  add_walk(m, REGISTER, outer, high / 8);
  add_walk(m, REGISTER, inner, wide / (4 * k_width));
  for (int i = 0; i < m->rank; i++) order[i] = m->rank - 1 - i;
  if (version == 3) order[0] = 0, order[1] = 1;
  warps_of(m, warps, order, k);
  grow_row_major(m);
  if (operand == 1) m->grow[0] = row, m->grow[1] = column;
}

/* The tile and tiles_per_warp of both of AMD's. */
static void say_amd(random_source *source, model *m, const int *warps, int *tiles) {
  bool given = random_below(source, 2);
  say_list(m, "warps_per_cta", warps, m->rank);
  for (int a = 0; a < m->rank; a++) tiles[a] = given && a >= m->rank - 2 ? power(source, 2) : 1;
  if (!given) return;
  say(m, ", ");
  say_list(m, "tiles_per_warp", tiles, m->rank);
}

static void make_mfma(random_source *source, int operand, int slices, model *m) {
  static const int shapes[][3] = {{32, 32, 8},  {16, 16, 16}, {4, 64, 4}, {64, 4, 4},
                                  {32, 32, 16}, {16, 16, 32}, {16, 16, 4}};
  const int *instr = shapes[random_below(source, 7)];
  bool transposed = random_below(source, 2), wide = instr == shapes[6] && random_below(source, 2);
  int k_width = power(source, 4), warps[4], tiles[4], order[4];
  random_shape(source, 2 + random_below(source, 2), 7, slices, m);
  int row = m->rank - 2, column = m->rank - 1, k = k_axis(m, operand);
  for (int a = 0; a < m->rank; a++) warps[a] = power(source, a < row ? 1 : 2);
  open_dot(m, operand, k_width);
  say(m, "mfma(version=%d, instr_shape=[%d,%d,%d], transposed=%s%s, ", 1 + random_below(source, 4),
      instr[0], instr[1], instr[2], transposed ? "true" : "false", wide ? ", element_bits=64" : "");
  say_amd(source, m, warps, tiles);
  random_cluster(source, k, m);
  say(m, operand < 0 ? ")" : "))");
  for (int i = 0; i < m->rank; i++) order[i] = m->rank - 1 - i;
  grow_row_major(m);
  if (operand < 0) {
    int tall = transposed ? column : row, across = transposed ? row : column, h = wide ? 1 : 4;
    int lanes = transposed ? instr[0] : instr[1], area = instr[0] * instr[1];
    add_walk(m, REGISTER, tall, h);
    add_walk(m, LANE, across, lanes);
    add_walk(m, LANE, tall, 64 / lanes);
    add_walk(m, REGISTER, tall, area / (64 * h));
    add_walk(m, REGISTER, column, tiles[column]);
    add_walk(m, WARP, column, warps[column]);
    int64_t held = (int64_t)instr[1] * tiles[column] * warps[column];
    if (held < m->shape[column]) add_walk(m, REGISTER, column, (int)(m->shape[column] / held));
    add_walk(m, REGISTER, row, tiles[row]);
    add_walk(m, WARP, row, warps[row]);
    if (m->rank == 3) add_walk(m, WARP, 0, warps[0]);
    return;
  }
  int other = operand == 0 ? row : column, size = instr[operand], across = instr[1 - operand];
  int depth = k_width * (64 / size);
  add_walk(m, REGISTER, k, k_width);
  add_walk(m, LANE, other, size);
  add_walk(m, LANE, k, 64 / size);
  if (size == 64 && across == 4) add_walk(m, REGISTER, k, 16), depth *= 16;
  if (depth < m->shape[k]) add_walk(m, REGISTER, k, (int)m->shape[k] / depth);
  add_walk(m, REGISTER, other, tiles[other]);
  warps_of(m, warps, order, k);
  if (operand == 1) m->grow[0] = row, m->grow[1] = column;
}

static void make_wmma(random_source *source, int operand, int slices, model *m) {
  int version = 1 + random_below(source, 3), warps[4], tiles[4], order[4];
  bool transposed = random_below(source, 2),
       tall_tile = version > 1 && random_below(source, 3) == 0;
  int instr_m = tall_tile ? 32 : 16, instr_k = 16 << random_below(source, 4),
      k_width = power(source, 4);
  random_shape(source, 2 + random_below(source, 2), 7, slices, m);
  int row = m->rank - 2, column = m->rank - 1, k = k_axis(m, operand);
  for (int a = 0; a < m->rank; a++) warps[a] = power(source, a < row ? 1 : 2);
  open_dot(m, operand, k_width);
  say(m, "wmma(version=%d, instr_shape=[%d,16,%d], transposed=%s, ", version, instr_m, instr_k,
      transposed ? "true" : "false");
  say_amd(source, m, warps, tiles);
  random_cluster(source, k, m);
  say(m, operand < 0 ? ")" : "))");
  for (int i = 0; i < m->rank; i++) order[i] = m->rank - 1 - i;
  grow_row_major(m);
  if (operand < 0) {
    int tall = transposed ? column : row, across = transposed ? row : column;
    add_walk(m, LANE, across, 16);
    if (version == 1) add_walk(m, LANE, tall, 2);
    add_walk(m, REGISTER, tall, 8);
    if (version > 1) add_walk(m, LANE, tall, 2);
    add_walk(m, REGISTER, tall, instr_m / 16);
  } else {
    int other = operand == 0 ? row : column, repeats = instr_k / (2 * k_width);
    add_walk(m, REGISTER, k, k_width);
    add_walk(m, LANE, other, 16);
    if (version == 1) add_copies(m, LANE, 2);
    else add_walk(m, LANE, k, 2);
    if (repeats > 1) add_walk(m, REGISTER, k, repeats);
    if (operand == 0) add_walk(m, REGISTER, other, instr_m / 16);
    if (operand == 1) m->grow[0] = row, m->grow[1] = column;
  }
  for (int i = 0; i < m->rank; i++)
    if (order[i] != k) add_walk(m, REGISTER, order[i], tiles[order[i]]);
  warps_of(m, warps, order, k);
}

typedef void maker(random_source *source, int operand, int slices, model *m);
static maker *const makers[] = {make_blocked, make_nvmma, make_mfma, make_wmma};
enum { N_MAKERS = sizeof makers / sizeof makers[0] };

/* operands: operand A, operand B or the result; slices: at most so many. */
static void check_random(const char *test, bool operands, int slices) {
  random_source source = random_start(test);
  for (int trial = 0; trial < TRIALS * N_MAKERS; trial++) {
    model m;
    makers[trial % N_MAKERS](&source, operands ? random_below(&source, 3) - 1 : -1, slices, &m);
    for (int i = 0; i < m.n_sliced; i++) say(&m, ")");
    expect_agreement(&m);
  }
}

Test(family_walks, results) { check_random("family_walks/results", false, 0); }
Test(family_walks, operands) { check_random("family_walks/operands", true, 0); }
Test(family_walks, slices) { check_random("family_walks/slices", true, 1); }
Test(family_walks, slices_of_slices) { check_random("family_walks/slices_of_slices", true, 2); }
