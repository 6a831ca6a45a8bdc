#include "index_cases.h"
#include "index_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t next_random(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

static int below(uint64_t *state, int n) {
  return (int)((next_random(state) >> 32) * (uint64_t)n >> 32);
}

/* ---- values ---- */

/* A permutation of 0 .. n - 1. */
static int64_t *permutation(int64_t n, uint64_t *seed) {
  int64_t *p = malloc((size_t)(n + 1) * sizeof *p);
  for (int64_t i = 0; i < n; i++) {
    int64_t at = below(seed, (int)i + 1);
    p[i] = p[at];
    p[at] = i;
  }
  return p;
}

bool index_next_coordinate(const int64_t *shape, int rank, int64_t *coords) {
  for (int axis = rank - 1; axis >= 0; axis--) {
    if (++coords[axis] < shape[axis]) return true;
    coords[axis] = 0;
  }
  return false;
}

int64_t index_value_place(const llrt_index *index, int rank, const int64_t *coords) {
  int64_t at = 0;
  for (int axis = 0; axis < rank; axis++)
    if (index->axes >> axis & 1) at += coords[axis] * index->strides[axis];
  return at;
}

/* A number that is out of range in one of several ways. */
static int64_t bad_value(const llrt_index *index, uint64_t *seed) {
  if (index->kind == LLRT_INDEX_POINTER) return -1;
  switch (below(seed, 4)) {
  case 0: return index->extent;
  case 1: return index->dtype == LLRT_I32 ? INT32_MIN : INT64_MIN;
  case 2: return index->dtype == LLRT_I32 ? INT32_MAX : INT64_MAX;
  default: return -1;
  }
}

/* Values such that no two positions of the axis and the folded axes together choose the same; `bad`
 * in 16 are out of range. */
static void fill_values(const index_case *of, index_side *side, int number, int bad,
                        uint64_t *seed) {
  llrt_index *index = &side->index[number];
  int64_t positions = index->kind == LLRT_INDEX_POINTER ? side->layers : index->extent;
  int64_t coords[LLRT_MAX_RANK] = {0}, n = 1;
  for (int axis = 0; axis < of->rank; axis++)
    if (index->axes >> axis & 1) n += (of->shape[axis] - 1) * index->strides[axis];
  side->n_values[number] = n;
  side->values[number] = calloc((size_t)n, sizeof(int64_t));
  int64_t *order = permutation(positions, seed);
  uint64_t start = *seed;
  do {
    int64_t own = 0, others = 0;
    for (int axis = 0; axis < of->rank; axis++) {
      bool mine = axis == index->axis || index->folded >> axis & 1;
      if (!(index->axes >> axis & 1)) continue;
      if (mine) own = own * of->shape[axis] + coords[axis];
      else others = others * of->shape[axis] + coords[axis];
    }
    int64_t at = index_value_place(index, of->rank, coords);
    uint64_t mine = start + (uint64_t)at * 0x2545f4914f6cdd1d;
    bool is_bad = positions == 0 || below(&mine, 16) < bad;
    side->values[number][at] =
        is_bad ? bad_value(index, &mine) : order[(own + 7 * others) % positions];
  } while (index_next_coordinate(of->shape, of->rank, coords));
  next_random(seed);
  free(order);
}

/* ---- sides ---- */

static void seen_shape(const index_case *of, const index_side *side, int64_t *shape) {
  memcpy(shape, of->shape, sizeof of->shape);
  for (int i = 0; i < side->n_indices; i++) {
    const llrt_index *index = &side->index[i];
    shape[index->axis] = index->kind == LLRT_INDEX_POINTER ? 1 : index->extent;
    for (int axis = 0; axis < of->rank; axis++)
      if (index->folded >> axis & 1) shape[axis] = 1;
  }
}

void index_case_add_index(const index_case *of, index_side *side, llrt_index index, int pitch) {
  int64_t stride = 1;
  for (int axis = of->rank - 1; axis >= 0; axis--) {
    if (!(index.axes >> axis & 1)) continue;
    index.strides[axis] = stride;
    stride = stride * of->shape[axis] + pitch;
  }
  side->index[side->n_indices++] = index;
}

bool index_case_finish_side(index_case *of, index_side *side, int bad, uint64_t *seed) {
  int64_t shape[LLRT_MAX_RANK];
  seen_shape(of, side, shape);
  if (llrt_storage_bind(&side->storage, of->rank, shape, side->strides, &side->binding) != LLRT_OK)
    return false;
  if (side->layers == 0) side->layers = 1;
  side->pitch = (side->binding.span + 63) / 32 * 32; /* keeps 16-byte alignment, at any width */
  for (int i = 0; i < side->n_indices; i++) fill_values(of, side, i, bad, seed);
  return true;
}

bool index_case_parse(const index_case *of, index_side *side, const char *text) {
  int64_t shape[LLRT_MAX_RANK];
  seen_shape(of, side, shape);
  return llrt_storage_parse(text, of->rank, shape, &side->storage) == LLRT_OK;
}

size_t index_side_bytes(const index_case *of, int side) {
  const index_side *at = &of->side[side];
  int64_t elements = at->layers == 1 ? at->binding.span : at->layers * at->pitch;
  return (size_t)elements * (size_t)llrt_dtype_bits(of->dtype) / 8;
}

llrt_tensor index_side_tensor(const index_case *of, int side, void *data) {
  const index_side *at = &of->side[side];
  llrt_tensor tensor = {.data = data,
                        .dtype = of->dtype,
                        .rank = of->rank,
                        .storage = &at->storage,
                        .n_indices = at->n_indices};
  memcpy(tensor.shape, of->shape, sizeof tensor.shape);
  memcpy(tensor.strides, at->strides, sizeof tensor.strides);
  for (int i = 0; i < at->n_indices; i++)
    if (at->index[i].kind == LLRT_INDEX_POINTER) tensor.data = NULL;
  return tensor;
}

size_t index_side_values_bytes(const index_case *of, int side, int number) {
  const index_side *at = &of->side[side];
  return (size_t)at->n_values[number] * (size_t)llrt_dtype_bits(at->index[number].dtype) / 8;
}

void index_side_write_values(const index_case *of, int side, int number, void *data, void *values) {
  const index_side *at = &of->side[side];
  const llrt_index *index = &at->index[number];
  size_t layer = (size_t)at->pitch * (size_t)llrt_dtype_bits(of->dtype) / 8;
  for (int64_t i = 0; i < at->n_values[number]; i++) {
    int64_t value = at->values[number][i];
    if (index->kind == LLRT_INDEX_POINTER)
      value = value < 0 ? 0 : (int64_t)((uintptr_t)data + (size_t)value * layer);
    if (index->dtype == LLRT_I32) ((int32_t *)values)[i] = (int32_t)value;
    else ((int64_t *)values)[i] = value;
  }
}

/* ---- KV caches ---- */

static const char *const paged[] = {"vllm_paged_k(x=8)", "vllm_paged_v", "aiter_paged_v(x=8)",
                                    "kv_nhd", "kv_hnd"};
#define N_PAGED 5

static const llrt_dtype widths[] = {LLRT_U8, LLRT_BF16, LLRT_F32};

static llrt_index random_index(int axis, uint32_t axes, int64_t extent, bool written,
                               uint64_t *seed) {
  static const int read_policies[] = {LLRT_RANGE_SKIP, LLRT_RANGE_ZERO, LLRT_RANGE_CLAMP,
                                      LLRT_RANGE_REPORT};
  static const int write_policies[] = {LLRT_RANGE_SKIP, LLRT_RANGE_REPORT};
  return (llrt_index){.axis = axis,
                      .axes = axes,
                      .extent = extent,
                      .dtype = below(seed, 2) ? LLRT_I32 : LLRT_I64,
                      .out_of_range =
                          written ? write_policies[below(seed, 2)] : read_policies[below(seed, 4)]};
}

static llrt_index pointer_list(int axis, uint32_t axes, uint32_t folded, uint64_t *seed) {
  return (llrt_index){.axis = axis,
                      .axes = axes,
                      .folded = folded,
                      .dtype = LLRT_I64,
                      .kind = LLRT_INDEX_POINTER,
                      .alignment = below(seed, 2) ? 16 : 0,
                      .out_of_range = below(seed, 2) ? LLRT_RANGE_SKIP : LLRT_RANGE_REPORT};
}

/* [block, t, h, d] between two pools, a list of block numbers on either. */
static bool make_paged(index_case *made, int from, int to, uint64_t *seed) {
  static const int64_t sizes[][4] = {{5, 16, 2, 32}, {3, 16, 4, 64}, {9, 8, 3, 24}};
  made->rank = 4;
  memcpy(made->shape, sizes[below(seed, 3)], 4 * sizeof(int64_t));
  const char *const texts[] = {paged[from], paged[to]};
  for (int s = 0; s < 2; s++) {
    int64_t pool = made->shape[0] + 1 + below(seed, 20);
    index_case_add_index(made, &made->side[s], random_index(0, 1, pool, s == 1, seed), 0);
    if (!index_case_parse(made, &made->side[s], texts[s])) return false;
    if (!index_case_finish_side(made, &made->side[s], below(seed, 2) * 4, seed)) return false;
  }
  snprintf(made->title, sizeof made->title, "%s -> %s by block numbers", texts[0], texts[1]);
  return true;
}

/* [request, block, t, h, d]: a pitched block table on one side, dense rows on the other. */
static bool make_table(index_case *made, int format, uint64_t *seed) {
  int tabled = below(seed, 2);
  made->rank = 5;
  memcpy(made->shape, (int64_t[]){3, 4, 16, 2, 32}, 5 * sizeof(int64_t));
  llrt_index table = random_index(1, 3, 40, tabled == 1, seed);
  table.folded = 1;
  index_case_add_index(made, &made->side[tabled], table, 5);
  snprintf(made->title, sizeof made->title, "block table on %s, %s", paged[format],
           tabled ? "destination" : "source");
  return index_case_parse(made, &made->side[tabled], paged[format]) &&
         index_case_parse(made, &made->side[1 - tabled], "row_major") &&
         index_case_finish_side(made, &made->side[tabled], 2, seed) &&
         index_case_finish_side(made, &made->side[1 - tabled], 0, seed);
}

/* The rule of a cache on axes (slot, h, d): a slot's low part is the position in its block.
 * `orders` lists the digits, fastest first: x low d, t position in a block, d, h. */
static void slot_storage(const char *orders, int block, int x, llrt_storage *out) {
  *out = (llrt_storage){.rank = 3, .tile = llrt_layout_empty()};
  for (const char *at = orders; *at; at++) {
    llrt_digit digit = {.extent = LLRT_EXTENT_REST, .stride = LLRT_STRIDE_PACKED};
    if (*at == 'x') digit.extent = x;
    if (*at == 't') digit.extent = block;
    digit.axis = *at == 't' ? 0 : *at == 'h' ? 1 : 2;
    out->digit[out->n_digits++] = digit;
  }
  out->digit[out->n_digits++] =
      (llrt_digit){.extent = LLRT_EXTENT_REST, .stride = LLRT_STRIDE_PACKED, .axis = 0};
}

static bool make_slots(index_case *made, int format, uint64_t *seed) {
  static const char *const orders[] = {"xtdh", "tdh", "dht", "dth"};
  static const int blocks[] = {16, 32, 12};
  int paged_side = below(seed, 2), block = blocks[below(seed, 3)];
  made->rank = 3;
  memcpy(made->shape, (int64_t[]){37 + below(seed, 60), 4, 64}, 3 * sizeof(int64_t));
  int64_t slots = (int64_t)block * (9 + below(seed, 4));
  index_case_add_index(made, &made->side[paged_side],
                       random_index(0, 1, slots, paged_side == 1, seed), 0);
  slot_storage(orders[format], block, 8, &made->side[paged_side].storage);
  snprintf(made->title, sizeof made->title, "slot mapping on the %s, order %s, blocks of %d",
           paged_side ? "destination" : "source", orders[format], block);
  return index_case_parse(made, &made->side[1 - paged_side],
                          below(seed, 2) ? "row_major" : "strided([1,6500,100])") &&
         index_case_finish_side(made, &made->side[paged_side], 3, seed) &&
         index_case_finish_side(made, &made->side[1 - paged_side], 0, seed);
}

/* [layer, block, t, h, d]: one address a layer and block numbers, on one or both sides. */
static bool make_layers(index_case *made, int format, uint64_t *seed) {
  int lists = 1 + below(seed, 3); /* bit s: side s has a list */
  made->rank = 5;
  memcpy(made->shape, (int64_t[]){4, 3, 16, 2, 32}, 5 * sizeof(int64_t));
  for (int s = 0; s < 2; s++) {
    index_side *side = &made->side[s];
    bool list = lists >> s & 1;
    if (list) {
      side->layers = 6;
      index_case_add_index(made, side, pointer_list(0, 1, 0, seed), 0);
    }
    if (below(seed, 2)) index_case_add_index(made, side, random_index(1, 2, 7, s == 1, seed), 0);
    const char *text = list ? paged[(format + s) % N_PAGED] : "lmcache_nb_nl_two_bs_nh_hs";
    if (!index_case_parse(made, side, list ? text : "row_major")) return false;
    if (!index_case_finish_side(made, side, 2, seed)) return false;
  }
  snprintf(made->title, sizeof made->title, "pointer lists on sides %d, %s", lists, paged[format]);
  return true;
}

/* [layer, k/v, block, t, h, d]: an address for every layer's K and V; the other side one tensor. */
static bool make_layer_pairs(index_case *made, int format, uint64_t *seed) {
  made->rank = 6;
  memcpy(made->shape, (int64_t[]){2, 2, 3, 16, 2, 32}, 6 * sizeof(int64_t));
  int listed = below(seed, 2);
  index_side *side = &made->side[listed];
  side->layers = 4;
  index_case_add_index(made, side, pointer_list(0, 3, 2, seed), 0);
  index_case_add_index(made, side, random_index(2, 4, 7, listed == 1, seed), 0);
  snprintf(made->title, sizeof made->title, "a pointer for each layer's K and V, %s",
           paged[format]);
  return index_case_parse(made, side, paged[format]) &&
         index_case_parse(made, &made->side[1 - listed], "lmcache_nb_nl_two_nh_bs_hs") &&
         index_case_finish_side(made, side, 2, seed) &&
         index_case_finish_side(made, &made->side[1 - listed], 0, seed);
}

/* ---- gather and scatter ---- */

#define MMA "nvmma(version=[2,0], warps_per_cta=[4,1], instr_shape=[16,8])"

static const struct plain {
  int rank;
  int64_t shape[3];
  int axis;
  uint32_t axes;
  int64_t extent;
  const char *indexed, *other;
} plain[] = {
    {1, {1000}, 0, 1, 77, "row_major", "row_major"},
    {1, {1}, 0, 1, 5, "row_major", "row_major"},
    {2, {50, 72}, 0, 1, 90, "row_major", "row_major"},
    {2, {50, 72}, 0, 1, 90, "row_major", "col_major"},
    {2, {50, 72}, 1, 2, 100, "row_major", "row_major"},
    {2, {64, 128}, 1, 2, 256, "col_major", "row_major"},
    {2, {50, 72}, 0, 3, 60, "row_major", "row_major"},
    {2, {50, 72}, 1, 3, 80, "row_major", "col_major"},
    {2, {50, 72}, 1, 0, 80, "row_major", "row_major"},
    {2, {40, 64}, 0, 1, 128, "scale_128x4", "row_major"},
    {2, {128, 8}, 1, 2, 16, "scale_128x4", "row_major"},
    {2, {50, 64}, 0, 1, 128, MMA, "row_major"},
    {2, {128, 20}, 1, 2, 64, MMA, "row_major"},
    {2, {96, 64}, 0, 1, 128, "aiter_16x16(element_bits=8)", "row_major"},
    {3, {6, 50, 33}, 1, 3, 64, "row_major", "strided([1,300,6])"},
    {3, {6, 50, 33}, 2, 6, 70, "col_major", "row_major"},
    {2, {300, 16}, 0, 1, 4096, "strided([48,1])", "row_major"},
    {2, {20, 30}, 0, 1, 0, "row_major", "row_major"},
};
#define N_PLAIN ((int)(sizeof plain / sizeof *plain))

static bool make_plain(index_case *made, const struct plain *row, bool scatter, uint64_t *seed) {
  made->rank = row->rank;
  memcpy(made->shape, row->shape, sizeof row->shape);
  int64_t extent = row->extent;
  if (scatter && extent) extent = extent > 2 * row->shape[row->axis] ? extent : extent * 2;
  if (strcmp(row->indexed, MMA) == 0) extent = row->extent;
  bool repeats = scatter && (!(row->axes >> row->axis & 1) || extent < row->shape[row->axis]);
  index_side *side = &made->side[scatter && !repeats], *other = &made->side[!(scatter && !repeats)];
  llrt_index index = random_index(row->axis, row->axes, extent, scatter && !repeats, seed);
  if (extent == 0 && index.out_of_range == LLRT_RANGE_CLAMP) index.out_of_range = LLRT_RANGE_ZERO;
  index_case_add_index(made, side, index, 3);
  snprintf(made->title, sizeof made->title, "%s along axis %d of %.40s",
           scatter ? "scatter" : "gather", row->axis, row->indexed);
  return index_case_parse(made, side, row->indexed) && index_case_parse(made, other, row->other) &&
         index_case_finish_side(made, side, below(seed, 2) * 3, seed) &&
         index_case_finish_side(made, other, 0, seed);
}

/* ---- extents in device memory ---- */

/* 50 counts from 0 to past the limit: scale factors, a cache by slots, transposes. */
static bool make_counted(index_case *made, int i, uint64_t *seed) {
  static const struct {
    int64_t shape[3];
    int rank, axis;
    const char *source, *destination;
  } kinds[] = {
      {{300, 16}, 2, 0, "row_major", "scale_128x4"},
      {{97, 2, 32}, 3, 0, "row_major", "strided([64,32,1])"},
      {{256, 64}, 2, 0, "row_major", "col_major"},
      {{64, 200}, 2, 1, "row_major", "row_major"},
      {{97, 2, 32}, 3, 0, "row_major", "slots"},
  };
  int kind = i % 5;
  made->rank = kinds[kind].rank;
  memcpy(made->shape, kinds[kind].shape, sizeof kinds[kind].shape);
  int axis = kinds[kind].axis;
  int32_t *count = &made->count[axis];
  int64_t limit = made->shape[axis];
  made->counted = 1u << axis;
  made->said = 1u << (made->seed & 1); /* either side may say it */
  *count = i < 5 ? 0 : i < 10 ? (int32_t)limit + i - 7 : below(seed, (int)limit + 1);
  if (i == 10) *count = -3;
  bool slots = strcmp(kinds[kind].destination, "slots") == 0;
  if (slots) {
    index_case_add_index(made, &made->side[1], random_index(0, 1, 16 * 12, true, seed), 0);
    slot_storage("xtdh", 16, 8, &made->side[1].storage);
  }
  snprintf(made->title, sizeof made->title, "%d of %lld along axis %d, %s -> %s", *count,
           (long long)limit, axis, kinds[kind].source, kinds[kind].destination);
  return index_case_parse(made, &made->side[0], kinds[kind].source) &&
         (slots || index_case_parse(made, &made->side[1], kinds[kind].destination)) &&
         index_case_finish_side(made, &made->side[0], 0, seed) &&
         index_case_finish_side(made, &made->side[1], 3, seed);
}

/* ---- the list ---- */

#define N_COUNTED 50

#define N_PAIRS (N_PAGED * N_PAGED)
#define N_SLOTS 12
#define N_LAYERS 10
#define N_LAYER_PAIRS N_PAGED

int index_cases_count(void) {
  return N_PAIRS + N_PAGED + N_SLOTS + N_LAYERS + N_LAYER_PAIRS + 4 * N_PLAIN + N_COUNTED +
         index_rows_count();
}

static bool make(index_case *made, int i, uint64_t *seed) {
  if (i < N_PAIRS) return make_paged(made, i % N_PAGED, i / N_PAGED, seed);
  if ((i -= N_PAIRS) < N_PAGED) return make_table(made, i, seed);
  if ((i -= N_PAGED) < N_SLOTS) return make_slots(made, i % 4, seed);
  if ((i -= N_SLOTS) < N_LAYERS) return make_layers(made, i % N_PAGED, seed);
  if ((i -= N_LAYERS) < N_LAYER_PAIRS) return make_layer_pairs(made, i, seed);
  if ((i -= N_LAYER_PAIRS) < 4 * N_PLAIN) return make_plain(made, &plain[i / 4], i & 1, seed);
  if ((i -= 4 * N_PLAIN) < N_COUNTED) return make_counted(made, i, seed);
  return index_row_make(made, i - N_COUNTED, seed);
}

bool index_case_make(int number, uint64_t seed, index_case *made) {
  *made = (index_case){.seed = seed * 0x2545f4914f6cdd1d + (uint64_t)number};
  uint64_t state = made->seed;
  made->dtype = widths[below(&state, 3)];
  bool done = make(made, number, &state);
  size_t used = strlen(made->title);
  snprintf(made->title + used, sizeof made->title - used, ", %s", llrt_dtype_name(made->dtype));
  return done;
}

void index_case_free(index_case *made) {
  for (int s = 0; s < 2; s++)
    for (int i = 0; i < LLRT_MAX_INDICES; i++) free(made->side[s].values[i]);
}
