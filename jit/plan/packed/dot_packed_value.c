/* Who holds and who copies what in a kernel with packed weights: see dot_packed_kernel.h. */
#include "jit/plan/packed/dot_packed_kernel.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/dot/dot.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/types/dot_packed.h"

#define MAX_TILE 24 /* bits */

/* Tile bits in the order of an in-dim. */
typedef struct places {
  int n;
  uint64_t at[MAX_TILE];
} places;

static void add(places *list, uint64_t bit) { list->at[list->n++] = bit; }
static uint64_t m_bit(int i) { return 1ull << i; }
static uint64_t n_bit(const packed *p, int i) { return 1ull << (p->first_n + i); }
/* Those of a turn's positions that warps have lie lower in the tile. */
static uint64_t k_bit(const packed *p, int i) {
  return 1ull << (i < p->shape.k ? p->first_k + i : p->first_warp + i - p->shape.k);
}

/* The lowest bit of K that lanes have: those below are of one register. */
static int lane_k(const packed *p) { return p->bytes ? 2 : 1; }

/* Positions of a turn, of a block, log2. */
static int turn_bits(const packed *p) { return p->shape.k + p->shape.warps[PACKED_K]; }

static uint64_t m_bits(const packed *p) { return bits_mask(p->shape.m); }
static uint64_t n_bits(const packed *p) { return bits_mask(p->shape.n) << p->first_n; }

static llrt_status make_value(const packed *p, int bits, uint64_t reduced, const places *registers,
                              const places *lanes, const places *warps, plan_value *out) {
  const places *lists[] = {registers, lanes, warps};
  const plan_kernel *kernel = p->x.d.kernel;
  const int wanted[] = {registers->n, kernel->lane_bits, kernel->warp_bits};
  static const char *const names[] = {"register", "lane", "warp"};
  *out = (plan_value){.bits = (uint8_t)bits, .reduced = reduced};
  out->word = (uint8_t)bits_min(draft_word_of(&p->x.d, bits), registers->n);
  out->layout = llrt_layout_empty();
  LLRT_TRY(llrt_layout_add_out(&out->layout, "tile", p->x.d.tile_bits - bits_count(reduced)));
  for (int dim = 0; dim < 3; dim++) {
    int first = llrt_layout_in_bits(&out->layout);
    LLRT_TRY(llrt_layout_add_in(&out->layout, names[dim], wanted[dim]));
    for (int i = 0; i < lists[dim]->n; i++)
      out->layout.column[first + i] = plan_value_bits_of(out, lists[dim]->at[i]);
  }
  return llrt_layout_add_in(&out->layout, "iteration", 0);
}

/* ---- as the instruction wants it ---- */

static bool has(const places *list, uint64_t bit) {
  for (int i = 0; i < list->n; i++)
    if (list->at[i] == bit) return true;
  return false;
}

/* The positions of a turn that are a block's own: others of its cluster have the rest. */
static int own_bits(const packed *p) { return turn_bits(p) - p->shape.cluster; }

/* Where a tile bit moves an operand's address; bits of one digit whose stride a run gives: all
 * alike. */
static int memory_place(const packed *p, int operand, uint64_t bit) {
  int tensor = p->operand[operand].tensor,
      place = dot_memory_order(&p->x, tensor, bits_lowest(p->x.d.order[0][bits_lowest(bit)]));
  return place < LLRT_MAX_BITS ? place : place - place % LLRT_MAX_BITS;
}

/* What a block has of W, its scales or zero points, in memory's order. */
static void list_packed(const packed *p, int operand, places *out) {
  int order[MAX_TILE];
  for (int i = operand == PACKED_WEIGHTS ? 0 : p->scale_bits; i < own_bits(p); i++)
    add(out, k_bit(p, i));
  for (int i = 0; i < p->shape.n; i++) add(out, n_bit(p, i));
  for (int i = 0; i < out->n; i++) {
    uint64_t bit = out->at[i];
    int at = i, place = memory_place(p, operand, bit);
    for (; at > 0 && order[at - 1] > place; at--) {
      out->at[at] = out->at[at - 1];
      order[at] = order[at - 1];
    }
    out->at[at] = bit;
    order[at] = place;
  }
}

/* The columns that warps share: those that lie in no access of memory, then the highest, so that
 * lanes read what words they can at once. */
static void list_warp_columns(const packed *p, places *out) {
  int access = bits_log2(p->x.d.kernel->target.access_bytes * 8 /
                         p->x.d.kernel->tensor_bits[p->operand[PACKED_WEIGHTS].tensor]);
  places memory = {0};
  list_packed(p, PACKED_WEIGHTS, &memory);
  memory.n = bits_min(memory.n, access);
  for (int i = DOT_PACKED_N; i < p->shape.n && out->n < p->shape.warps[PACKED_N]; i++)
    if (!has(&memory, n_bit(p, i))) add(out, n_bit(p, i));
  for (int i = p->shape.n - 1; i >= DOT_PACKED_N && out->n < p->shape.warps[PACKED_N]; i--)
    if (has(&memory, n_bit(p, i))) add(out, n_bit(p, i));
}

/* Columns beyond an instruction's that a thread has. */
static void list_own_columns(const packed *p, places *out) {
  places warps = {0};
  list_warp_columns(p, &warps);
  for (int i = DOT_PACKED_N; i < p->shape.n; i++)
    if (!has(&warps, n_bit(p, i))) add(out, n_bit(p, i));
}

static void list_warps(const packed *p, places *out) {
  const packed_shape *s = &p->shape;
  list_warp_columns(p, out);
  for (int i = s->m - s->warps[PACKED_M]; i < s->m; i++) add(out, m_bit(i));
  for (int i = s->k; i < turn_bits(p); i++) add(out, k_bit(p, i));
}

/* Of W^T, the first operand: words and vectors as memory has them, then what more a lane has. */
static void list_weights(const packed *p, places *registers, places *lanes) {
  places memory = {0}, others = {0};
  for (int i = lane_k(p); i < lane_k(p) + 2; i++) add(lanes, k_bit(p, i));
  for (int i = 0; i < 3; i++) add(lanes, n_bit(p, i));
  list_warps(p, &others);
  list_packed(p, PACKED_WEIGHTS, &memory);
  for (int i = 0; i < memory.n; i++)
    if (!has(lanes, memory.at[i]) && !has(&others, memory.at[i])) add(registers, memory.at[i]);
}

llrt_status packed_weights_value(const packed *p, plan_value *out) {
  places registers = {0}, lanes = {0}, warps = {0};
  list_weights(p, &registers, &lanes);
  list_warps(p, &warps);
  return make_value(p, p->x.d.kernel->tensor_bits[p->operand[PACKED_WEIGHTS].tensor], m_bits(p),
                    &registers, &lanes, &warps, out);
}

static uint64_t group_bits(const packed *p) {
  uint64_t out = 0;
  for (int i = 0; i < bits_min(p->scale_bits, turn_bits(p)); i++) out |= k_bit(p, i);
  return out;
}

llrt_status packed_group_value(const packed *p, int operand, plan_value *out) {
  plan_value weights;
  int bits = p->x.d.kernel->tensor_bits[p->operand[operand].tensor];
  LLRT_TRY(packed_weights_value(p, &weights));
  plan_value_reduce(&weights, group_bits(p), out);
  out->bits = (uint8_t)bits;
  out->word = (uint8_t)bits_min(draft_word_of(&p->x.d, bits), plan_value_bits(out, PLAN_REGISTER));
  return LLRT_OK;
}

llrt_status packed_rows_value(const packed *p, plan_value *out) {
  places registers = {0}, lanes = {0}, warps = {0};
  int lane = lane_k(p);
  for (int i = 0; i < lane; i++) add(&registers, k_bit(p, i));
  for (int i = lane + 2; i < p->shape.k; i++) add(&registers, k_bit(p, i));
  for (int i = 3; i < p->shape.m - p->shape.warps[PACKED_M]; i++) add(&registers, m_bit(i));
  for (int i = lane; i < lane + 2; i++) add(&lanes, k_bit(p, i));
  for (int i = 0; i < 3; i++) add(&lanes, m_bit(i));
  list_warps(p, &warps);
  return make_value(p, llrt_dtype_bits(p->rows), n_bits(p), &registers, &lanes, &warps, out);
}

llrt_status packed_sums_value(const packed *p, plan_value *out) {
  places registers = {0}, lanes = {0}, warps = {0};
  add(&registers, m_bit(0));
  add(&registers, n_bit(p, 3));
  for (int i = 3; i < p->shape.m - p->shape.warps[PACKED_M]; i++) add(&registers, m_bit(i));
  list_own_columns(p, &registers);
  for (int i = 1; i < 3; i++) add(&lanes, m_bit(i));
  for (int i = 0; i < 3; i++) add(&lanes, n_bit(p, i));
  list_warps(p, &warps);
  LLRT_TRY(make_value(p, 32, bits_mask(p->shape.k) << p->first_k, &registers, &lanes, &warps, out));
  out->word = 0;
  return LLRT_OK;
}

/* ---- as it is copied ---- */

/* Brings bits along K from `from` on behind the others: a thread's accesses then follow each other
 * along K, at distances that are known, in one row or column. */
static void move_behind(const packed *p, int from, places *list) {
  places sorted = {.n = from};
  for (int along_k = 0; along_k < 2; along_k++)
    for (int i = from; i < list->n; i++)
      if ((list->at[i] >= 1ull << p->first_warp) == along_k) add(&sorted, list->at[i]);
  for (int i = from; i < list->n; i++) list->at[i] = sorted.at[i];
}

/* A's: rows of the turn's positions. */
static void list_rows(const packed *p, places *out) {
  for (int i = 0; i < own_bits(p); i++) add(out, k_bit(p, i));
  for (int i = 0; i < p->shape.m; i++) add(out, m_bit(i));
}

int packed_line(const packed *p) {
  return p->bytes ? bits_min(PACKED_LINE + 1, own_bits(p)) : PACKED_LINE;
}

/* Where rows lie in shared memory: lines of 128 bytes, or of 64 where elements have 8 bits and are
 * cast, swizzled so that eight rows' same 16 bytes (two rows' same 64) lie in all banks. They are
 * swizzles of wgmma's operands, too, and of boxes (PTX ISA). */
static void list_lines(const packed *p, int bits, int line, places *out) {
  int piece = bits == 8 ? 4 : 3,
      same = 3 - (line - piece); /* rows whose pieces lie behind each other */
  for (int i = 0; i < line; i++) add(out, k_bit(p, i));
  for (int i = 0; i < same; i++) add(out, m_bit(i));
  for (int i = same; i < 3; i++) add(out, m_bit(i) | k_bit(p, piece + i - same));
  for (int i = 3; i < p->shape.m; i++) add(out, m_bit(i));
  for (int i = line; i < own_bits(p); i++) add(out, k_bit(p, i));
}

static llrt_status make_buffer(const packed *p, const plan_value *value, const places *list,
                               plan_buffer *out) {
  llrt_layout *layout = &out->layout;
  *out = (plan_buffer){.bits = value->bits,
                       .bytes = plan_access_bytes(value->bits, list->n),
                       .slots = (uint8_t)p->shape.slots};
  *layout = llrt_layout_empty();
  LLRT_TRY(llrt_layout_add_out(layout, "tile", value->layout.out[0].bits));
  LLRT_TRY(llrt_layout_add_in(layout, "offset", list->n));
  for (int i = 0; i < list->n; i++) layout->column[i] = plan_value_bits_of(value, list->at[i]);
  LLRT_TRY(llrt_layout_add_in(layout, "repetition", 0));
  LLRT_TRY(llrt_layout_add_in(layout, "block", p->shape.cluster));
  for (int i = 0; i < p->shape.cluster; i++)
    layout->column[list->n + i] = plan_value_bits_of(value, k_bit(p, own_bits(p) + i));
  return LLRT_OK;
}

/* Rows that are not cast are copied to where products read them, others to where their threads take
 * them from. */
llrt_status packed_copied(const packed *p, int operand, int access, bool in_lines,
                          plan_value *value, plan_buffer *buffer) {
  const plan_kernel *kernel = p->x.d.kernel;
  bool rows = operand == PACKED_ROWS, weights = operand == PACKED_WEIGHTS;
  int warps = kernel->warp_bits - kernel->cluster_bits;
  int bits = kernel->tensor_bits[p->operand[operand].tensor];
  int at = 0;
  places memory = {0}, lines = {0}, lists[3] = {{0}};
  if (rows) list_rows(p, &memory);
  else list_packed(p, operand, &memory);
  if (rows && (!packed_casts_rows(p) || in_lines)) list_lines(p, bits, packed_line(p), &lines);
  else if (!rows) lines = memory;
  move_behind(p, bits_min(rows ? packed_line(p) : access + kernel->lane_bits, memory.n), &memory);
  if (lines.n == 0) lines = memory;
  while (at < bits_min(access, memory.n)) add(&lists[0], memory.at[at++]);
  while (at < memory.n && lists[1].n < kernel->lane_bits) add(&lists[1], memory.at[at++]);
  while (at < memory.n && lists[2].n < warps) add(&lists[2], memory.at[at++]);
  while (at < memory.n) add(&lists[0], memory.at[at++]);
  while (lists[2].n < warps) add(&lists[2], 0);
  for (int i = own_bits(p); i < turn_bits(p); i++) add(&lists[2], k_bit(p, i));
  uint64_t reduced = rows ? n_bits(p) : m_bits(p) | (weights ? 0 : group_bits(p));
  LLRT_TRY(make_value(p, bits, reduced, &lists[0], &lists[1], &lists[2], value));
  return make_buffer(p, value, &lines, buffer);
}

llrt_status packed_rows_buffer(const packed *p, const plan_value *value, int slots,
                               plan_buffer *buffer) {
  places lines = {0};
  list_lines(p, 16, PACKED_LINE, &lines);
  LLRT_TRY(make_buffer(p, value, &lines, buffer));
  buffer->slots = (uint8_t)slots;
  return LLRT_OK;
}

/* Rows of 128 bytes of results, swizzled as boxes are. */
llrt_status packed_results_buffer(const packed *p, const plan_value *value, plan_buffer *buffer) {
  places lines = {0};
  for (int i = 0; i < PACKED_LINE; i++) add(&lines, n_bit(p, i));
  for (int i = 0; i < 3; i++) add(&lines, m_bit(i) | n_bit(p, 3 + i));
  for (int i = 3; i < p->shape.m; i++) add(&lines, m_bit(i));
  for (int i = PACKED_LINE; i < p->shape.n; i++) add(&lines, n_bit(p, i));
  LLRT_TRY(make_buffer(p, value, &lines, buffer));
  buffer->slots = 0;
  return LLRT_OK;
}
