/* See dot_layout.h. */
#include "jit/plan/dot/dot_layout.h"

#include "base/bits.h"
#include "jit/plan/facts/value.h"

#include <string.h>

typedef struct columns {
  int n;
  uint64_t at[24];
} columns;

static void add(columns *list, uint64_t x) {
  if (list->n < 24) list->at[list->n++] = x;
}

/* The tile's bits under construction: how many of each dim are placed. */
typedef struct placer {
  const dot_space *space;
  const dot_instruction *row;
  const dot_sharing *how;
  int placed[3];
} placer;

/* Which of the tile's dims is the instruction's. */
static int tile_dim(const dot_sharing *how, int dim) {
  return how->swapped && dim != DOT_DIM_K ? 1 - dim : dim;
}

/* The tile vector of an instruction's coordinate. */
static uint64_t image(const placer *p, uint32_t coordinate) {
  int bit = bits_lowest(coordinate), dim = DOT_DIM_M;
  if (bit >= p->row->m) bit -= p->row->m, dim = DOT_DIM_N;
  if (dim == DOT_DIM_N && bit >= p->row->n) bit -= p->row->n, dim = DOT_DIM_K;
  return 1ull << p->space->bit[tile_dim(p->how, dim)][bit];
}

/* The next bit of a dim that is not placed yet; 0: there is none. */
static uint64_t next(placer *p, int dim) {
  if (p->placed[dim] == p->space->n[dim]) return 0;
  return 1ull << p->space->bit[dim][p->placed[dim]++];
}

/* The bits of a dim that are placed above everything else. */
static uint64_t top(const placer *p, int dim, int taken, int of) {
  int at = p->space->n[dim] - of + taken;
  return at >= p->placed[dim] ? 1ull << p->space->bit[dim][at] : 0;
}

/* ---- values ---- */

static bool fill_value(const plan_kernel *kernel, uint64_t reduced, llrt_dtype type,
                       const columns dims[3], int max_registers, plan_value *out) {
  static const char *const names[] = {"register", "lane", "warp"};
  int bits = llrt_dtype_bits(type), word = kernel->target.word_bits ? kernel->target.word_bits : 8;
  *out = (plan_value){.bits = (uint8_t)bits, .reduced = reduced};
  out->word = (uint8_t)bits_min(bits_max(bits_log2(word) - bits_log2(bits), 0), dims[0].n);
  if (dims[0].n - out->word > max_registers) return false;
  out->layout = llrt_layout_empty();
  bool made = llrt_layout_add_out(&out->layout, "tile",
                                  kernel->space.in[0].bits - bits_count(reduced)) == LLRT_OK;
  for (int i = 0; i < 3 && made; i++) {
    int first = llrt_layout_in_bits(&out->layout);
    made = llrt_layout_add_in(&out->layout, names[i], dims[i].n) == LLRT_OK;
    for (int j = 0; j < dims[i].n && made; j++)
      out->layout.column[first + j] = plan_value_bits_of(out, dims[i].at[j]);
  }
  return made && llrt_layout_add_in(&out->layout, "iteration", 0) == LLRT_OK;
}

static uint64_t mask_of(const dot_space *space, int dim) {
  uint64_t mask = 0;
  for (int i = 0; i < space->n[dim]; i++) mask |= 1ull << space->bit[dim][i];
  return mask;
}

/* Lanes and warps of the result: FMA's own, the instruction's, and copies where there are more than
 * bits. */
static void place_threads(const plan_kernel *kernel, placer *p, const dot_operand *acc,
                          columns dims[3]) {
  const dot_sharing *how = p->how;
  for (int i = 0; i < acc->lanes; i++) add(&dims[1], image(p, acc->column[acc->registers + i]));
  for (int i = 0; i < acc->warps; i++)
    add(&dims[2], image(p, acc->column[acc->registers + acc->lanes + i]));
  if (acc->lanes == 0) {
    for (int dim = 1; dim >= 0; dim--)
      for (int i = 0; i < how->lanes[dim]; i++) add(&dims[1], next(p, dim));
    while (dims[1].n < kernel->lane_bits) add(&dims[1], 0);
  }
  for (int dim = 0; dim < 2; dim++)
    for (int i = 0; i < how->warps[dim]; i++) add(&dims[2], top(p, dim, i, how->warps[dim]));
  while (dims[2].n < kernel->warp_bits - bits_count(p->space->cluster)) add(&dims[2], 0);
  for (uint64_t left = p->space->cluster; left; left &= left - 1) add(&dims[2], left & -left);
}

/* The operand's registers: the instruction's, then sums, then its own dim's bits that the result
 * has in registers. */
static void place_operand(const placer *p, const dot_operand *operand, const columns acc[3],
                          uint64_t bits, int inside, columns dims[3]) {
  dims[0].n = dims[1].n = dims[2].n = 0;
  for (int i = 0; i < operand->registers; i++) add(&dims[0], image(p, operand->column[i]));
  for (int i = p->row->k; i < p->space->n[DOT_DIM_K]; i++)
    add(&dims[0], 1ull << p->space->bit[DOT_DIM_K][i]);
  for (int i = inside; i < acc[0].n; i++)
    if (acc[0].at[i] & bits) add(&dims[0], acc[0].at[i]);
  for (int i = 0; i < acc[1].n; i++)
    add(&dims[1],
        operand->lanes ? image(p, operand->column[operand->registers + i]) : acc[1].at[i] & bits);
  for (int i = 0; i < acc[2].n; i++)
    add(&dims[2], i < operand->warps
                      ? image(p, operand->column[operand->registers + operand->lanes + i])
                      : acc[2].at[i] & bits);
}

/* Of a multiprocessor, for all instructions of all warps. */
static double clocks_of(const placer *p, const columns *acc, const dot_operand *inside,
                        const plan_kernel *kernel) {
  int outer = acc[0].n - inside->registers + p->space->n[DOT_DIM_K] - p->row->k;
  return p->row->clocks * (double)((int64_t)1 << outer) * (1 << kernel->warp_bits);
}

static bool fits_tile(const placer *p) {
  const int wanted[3] = {p->row->m, p->row->n, p->row->k};
  for (int dim = 0; dim < 3; dim++)
    if (p->space->n[tile_dim(p->how, dim)] < wanted[dim]) return false;
  return true;
}

bool dot_layouts_make(const plan_kernel *kernel, const dot_space *space, const dot_sharing *how,
                      const dot_room *room, dot_layouts *out) {
  placer p = {.space = space, .row = dot_instruction_at(how->instruction), .how = how};
  dot_operand operand[3];
  columns acc[3] = {{0}}, dims[3];
  uint64_t m = mask_of(space, DOT_DIM_M), n = mask_of(space, DOT_DIM_N),
           k = mask_of(space, DOT_DIM_K), all = k | space->cluster;
  int first = how->swapped; /* the instruction's operand that is A */
  if (!fits_tile(&p)) return false;
  for (int o = 0; o < 3; o++) dot_instruction_operand(p.row, o, &operand[o]);
  p.placed[tile_dim(how, DOT_DIM_M)] = p.row->m;
  p.placed[tile_dim(how, DOT_DIM_N)] = p.row->n;
  for (int i = 0; i < operand[DOT_ACC].registers; i++)
    add(&acc[0], image(&p, operand[DOT_ACC].column[i]));
  for (int dim = 1; dim >= 0 && p.row->family == DOT_FMA; dim--)
    for (int i = 0; i < how->registers[dim]; i++) add(&acc[0], next(&p, dim));
  while (acc[0].n > 0 && acc[0].at[acc[0].n - 1] == 0) acc[0].n--;
  place_threads(kernel, &p, &operand[DOT_ACC], acc);
  for (int dim = 1; dim >= 0; dim--)
    while (p.placed[dim] < space->n[dim] - how->warps[dim]) add(&acc[0], next(&p, dim));
  out->how = *how;
  if (!fill_value(kernel, k, space->acc, acc, room->results, &out->acc)) return false;
  place_operand(&p, &operand[first], acc, m | all, operand[DOT_ACC].registers, dims);
  if (!fill_value(kernel, n, space->a, dims, room->operand, &out->a)) return false;
  if (!p.row->layout[DOT_B]) {
    out->b = (plan_value){.bits = 0};
    out->clocks = clocks_of(&p, acc, &operand[DOT_ACC], kernel);
    return true;
  }
  place_operand(&p, &operand[1 - first], acc, n | all, operand[DOT_ACC].registers, dims);
  if (!fill_value(kernel, m, space->b, dims, room->operand, &out->b)) return false;
  out->clocks = clocks_of(&p, acc, &operand[DOT_ACC], kernel);
  return true;
}

/* ---- the list ---- */

static void insert(dot_layouts *list, int *n, int most, const dot_layouts *one) {
  int at = *n;
  while (at > 0 && list[at - 1].clocks > one->clocks) at--;
  if (at == most) return;
  if (*n == most) --*n;
  memmove(&list[at + 1], &list[at], (size_t)(*n - at) * sizeof *list);
  list[at] = *one;
  ++*n;
}

/* FMA: registers and lanes of either dim, both as square as they come; on the host lanes along n.
 */
static void share_lanes(const plan_kernel *kernel, const dot_space *space, dot_sharing *how) {
  int room[2], lanes = kernel->lane_bits;
  for (int dim = 0; dim < 2; dim++) room[dim] = space->n[dim] - how->warps[dim];
  if (kernel->target.simd_lanes) {
    int dim = room[DOT_DIM_N] >= bits_min(lanes, room[DOT_DIM_M]) ? DOT_DIM_N : DOT_DIM_M;
    how->lanes[dim] = bits_min(lanes, room[dim]);
    return;
  }
  for (int i = 0; i < lanes; i++) {
    int left[2] = {room[0] - how->lanes[0], room[1] - how->lanes[1]};
    int dim = left[DOT_DIM_N] >= left[DOT_DIM_M] ? DOT_DIM_N : DOT_DIM_M;
    if (left[dim] > 0) how->lanes[dim]++;
  }
  for (int dim = 0; dim < 2; dim++) how->registers[dim] = bits_min(room[dim] - how->lanes[dim], 2);
}

static bool types_match(const dot_space *space, const dot_instruction *row, bool swapped) {
  llrt_dtype a = swapped ? space->b : space->a, b = swapped ? space->a : space->b;
  return row->a == a && row->b == b && row->acc == space->acc && (space->tf32 || !row->tf32);
}

int dot_layouts_list(const plan_kernel *kernel, const dot_space *space, const dot_room *room,
                     dot_layouts *list, int most) {
  int n = 0;
  for (int i = 0; i < dot_instruction_count(); i++) {
    const dot_instruction *row = dot_instruction_at(i);
    if (!dot_instruction_is_of(row, &kernel->target) || row->family == DOT_WGMMA) continue;
    for (int s = 0; s < 2 && (s == 0 || row->family != DOT_FMA); s++)
      for (int w = 0; w <= kernel->warp_bits; w++) {
        dot_sharing how = {.instruction = i, .swapped = s, .warps = {w, kernel->warp_bits - w}};
        dot_layouts one;
        if (!types_match(space, row, s)) continue;
        int used[2] = {s ? row->n : row->m, s ? row->m : row->n};
        for (int dim = 0; dim < 2; dim++)
          how.warps[dim] = bits_min(how.warps[dim], bits_max(space->n[dim] - used[dim], 0));
        if (row->family == DOT_FMA) share_lanes(kernel, space, &how);
        if (dot_layouts_make(kernel, space, &how, room, &one)) insert(list, &n, most, &one);
      }
  }
  return n;
}

/* ---- one row ---- */

static int find_fma(const plan_kernel *kernel, const dot_space *space) {
  for (int i = 0; i < dot_instruction_count(); i++) {
    const dot_instruction *row = dot_instruction_at(i);
    if (row->family == DOT_FMA && row->k == 0 && dot_instruction_is_of(row, &kernel->target) &&
        types_match(space, row, false))
      return i;
  }
  return -1;
}

static void add_bits(columns *list, const dot_space *space, int dim, int from, int to) {
  for (int i = from; i < to; i++) add(list, 1ull << space->bit[dim][i]);
}

bool dot_layouts_row(const plan_kernel *kernel, const dot_space *space, dot_layouts *out) {
  const int k = space->n[DOT_DIM_K], warps = kernel->warp_bits - 1,
            lanes = warps + kernel->lane_bits, room = 7; /* log2 words of a value */
  columns a[3] = {{0}}, b[3], acc[3] = {{0}};
  out->how = (dot_sharing){.instruction = find_fma(kernel, space)};
  if (out->how.instruction < 0 || k < lanes || space->n[DOT_DIM_N] == 0) return false;
  add_bits(&acc[0], space, DOT_DIM_N, 1, space->n[DOT_DIM_N]);
  add_bits(&acc[1], space, DOT_DIM_K, warps, lanes);
  add_bits(&acc[2], space, DOT_DIM_N, 0, 1);
  add_bits(&acc[2], space, DOT_DIM_K, 0, warps);
  memcpy(b, acc, sizeof b);
  b[0].n = 0;
  add_bits(&b[0], space, DOT_DIM_K, lanes, k);
  memcpy(a, b, sizeof a);
  a[2].at[0] = 0; /* all rows of B take the same elements of A */
  add_bits(&b[0], space, DOT_DIM_N, 1, space->n[DOT_DIM_N]);
  uint64_t summed = 0;
  for (int i = lanes; i < k; i++) summed |= 1ull << space->bit[DOT_DIM_K][i];
  out->clocks = 0;
  return fill_value(kernel, summed, space->acc, acc, room, &out->acc) &&
         fill_value(kernel, mask_of(space, DOT_DIM_N), space->a, a, room, &out->a) &&
         fill_value(kernel, 0, space->b, b, room, &out->b);
}

/* ---- warpgroups ---- */

#define GROUP_BITS 2 /* log2 warps */

bool dot_layouts_group(const plan_kernel *kernel, const dot_space *space, const dot_room *room,
                       bool swapped, dot_layouts *out) {
  int best = -1, m = swapped ? DOT_DIM_N : DOT_DIM_M,
      n = 1 - m; /* the instruction's, of the tile's dims */
  for (int i = 0; i < dot_instruction_count(); i++) {
    const dot_instruction *row = dot_instruction_at(i);
    bool fits = row->family == DOT_WGMMA && dot_instruction_is_of(row, &kernel->target) &&
                types_match(space, row, swapped);
    if (!fits || row->n > space->n[n] || row->tf32 != space->tf32) continue;
    if (room->columns && row->n > room->columns) continue;
    if (best < 0 || row->n > dot_instruction_at(best)->n) best = i;
  }
  int groups = kernel->warp_bits - kernel->cluster_bits - GROUP_BITS;
  if (best < 0 || groups < 0) return false;
  int rows = bits_min(groups, space->n[m] - dot_instruction_at(best)->m);
  dot_sharing how = {.instruction = best, .swapped = swapped};
  how.warps[m] = rows;
  how.warps[n] = groups - rows;
  return rows >= 0 && dot_layouts_make(kernel, space, &how, room, out);
}
