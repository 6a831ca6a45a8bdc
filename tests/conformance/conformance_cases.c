/* The cases: a table of storages that engines use, at every width; random ones of four kinds. */
#include "conformance.h"

#include <stdio.h>
#include <string.h>

static const llrt_dtype widths[] = {LLRT_U8, LLRT_BF16, LLRT_F32, LLRT_I64};
#define N_WIDTHS 4

/* ---- the table ---- */

#define MMA "nvmma(version=[2,0], warps_per_cta=[4,1], instr_shape=[16,8])"
#define BLOCKED \
  "blocked(size_per_thread=[1,8], threads_per_warp=[4,8], warps_per_cta=[4,1], order=[1,0])"
#define BLOCKED_COLUMNS \
  "blocked(size_per_thread=[4,1], threads_per_warp=[8,4], warps_per_cta=[1,4], order=[0,1])"

#define TILE_WITH_SUMS \
  "tiled([16,16], {offset: [[1,0],[0,1],[2,0],[0,2],[4,0],[0,4],[8,8],[0,8]]} -> [dim0:16, " \
  "dim1:16], order=[1,0])"

static const text_row table[] = {
    {0, {0}, "row_major", "col_major"},
    {1, {1}, "row_major", "row_major"},
    {1, {1000}, "row_major", "row_major"},
    {2, {1, 1}, "row_major", "col_major"},
    {2, {1, 4096}, "row_major", "col_major"},
    {2, {4096, 1}, "row_major", "col_major"},
    {2, {2, 3}, "row_major", "col_major"},
    {2, {33, 65}, "row_major", "col_major"},
    {2, {33, 65}, "col_major", "row_major"},
    {2, {64, 64}, "row_major", "col_major"},
    {2, {127, 129}, "row_major", "col_major"},
    {2, {256, 512}, "col_major", "row_major"},
    {2, {1000, 1001}, "row_major", "col_major"},
    {2, {1024, 512}, "row_major", "col_major"},
    {2, {3, 70000}, "row_major", "col_major"},
    {2, {70000, 3}, "col_major", "row_major"},
    {3, {5, 6, 7}, "row_major", "col_major"},
    {3, {32, 16, 8}, "col_major", "row_major"},
    {4, {2, 24, 10, 14}, "row_major", "strided([3360,1,336,24])"},
    {4, {2, 32, 16, 16}, "strided([8192,1,512,32])", "row_major"},
    {2, {50, 60}, "strided([64,1])", "col_major"},
    {2, {50, 60}, "row_major", "strided([1,56])"},
    {2, {64, 128}, "strided([0,1])", "row_major"},
    {2, {128, 64}, "row_major", MMA},
    {2, {128, 64}, MMA, "col_major"},
    {2, {64, 128}, "row_major", BLOCKED},
    {2, {64, 128}, BLOCKED, BLOCKED_COLUMNS},
    {2, {128, 128}, BLOCKED, MMA},
    {2, {128, 64}, "row_major", "dot(operand=0, k_width=2, parent=" MMA ")"},
    {2, {64, 128}, "dot(operand=1, k_width=2, parent=" MMA ")", "row_major"},
    {2, {240, 32}, TILE_WITH_SUMS, "col_major"}, /* two bits of an offset make one of a vector */
    {2, {48, 240}, "row_major", TILE_WITH_SUMS},
    {1, {64}, "row_major", "slice(dim=0, parent=" BLOCKED ")"},
    {1, {128}, "slice(dim=1, parent=" MMA ")", "row_major"},
};
#define N_TABLE ((int)(sizeof table / sizeof table[0]))

bool case_from_text(const text_row *row, llrt_dtype dtype, conformance_case *made) {
  made->dtype = dtype;
  made->rank = row->rank;
  memcpy(made->shape, row->shape, sizeof row->shape);
  const char *texts[2] = {row->source, row->destination};
  side *sides[2] = {&made->source, &made->destination};
  for (int i = 0; i < 2; i++) {
    if (llrt_storage_parse(texts[i], row->rank, row->shape, &sides[i]->storage)) return false;
  }
  snprintf(made->title, sizeof made->title, "%.40s -> %.40s", row->source, row->destination);
  return true;
}

/* ---- random layouts: any invertible map of offset bits, columns of several bits included ---- */

static void add_dims(const conformance_case *made, llrt_layout *layout) {
  static const char *const names[] = {"dim0", "dim1", "dim2", "dim3"};
  for (int axis = 0; axis < made->rank; axis++) {
    llrt_layout_add_out(layout, names[axis], __builtin_ctzll((uint64_t)made->shape[axis]));
  }
}

/* `copies` more offset bits than the shape needs. A random matrix is surjective about one time in
 * three or better; permutations of unit vectors come as often as dense matrices. */
static bool random_layout(const conformance_case *made, int copies, uint64_t *seed,
                          llrt_storage *storage) {
  llrt_layout layout = llrt_layout_empty();
  int bits = 0;
  for (int axis = 0; axis < made->rank; axis++) {
    bits += __builtin_ctzll((uint64_t)made->shape[axis]);
  }
  if (llrt_layout_add_in(&layout, "offset", bits + copies)) return false;
  add_dims(made, &layout);
  bool dense = random_below(seed, 2);
  do {
    for (int i = 0; i < bits + copies; i++) {
      layout.column[i] = random_next(seed) & (((uint64_t)1 << bits) - 1);
      if (!dense && i < bits) layout.column[i] = (uint64_t)1 << i;
    }
    for (int i = bits + copies - 1; i > 0; i--) {
      int other = random_below(seed, i + 1);
      uint64_t column = layout.column[i];
      layout.column[i] = layout.column[other];
      layout.column[other] = column;
    }
  } while (!llrt_layout_is_surjective(&layout));
  return llrt_storage_from_layout(&layout, storage) == LLRT_OK;
}

/* A shape of 2^bits elements, at least 2^least of them along the last axis. */
static void random_power_shape(int bits, int least, uint64_t *seed, conformance_case *made) {
  made->rank = 1 + random_below(seed, 4);
  for (int axis = 0; axis < made->rank; axis++) made->shape[axis] = 1;
  for (int i = 0; i < bits; i++)
    made->shape[i < least ? made->rank - 1 : random_below(seed, made->rank)] *= 2;
}

static bool make_random_layouts(int copies, int least, uint64_t *seed, conformance_case *made) {
  random_power_shape(least + random_below(seed, (copies ? 13 : 17) - least), least, seed, made);
  int source_copies = copies ? random_below(seed, 3) : 0;
  int destination_copies = copies ? 1 + random_below(seed, 2) : 0;
  snprintf(made->title, sizeof made->title, "random layouts, rank %d, %d and %d copy bits",
           made->rank, source_copies, destination_copies);
  return random_layout(made, source_copies, seed, &made->source.storage) &&
         random_layout(made, destination_copies, seed, &made->destination.storage);
}

static bool make_image(int least, uint64_t *seed, conformance_case *made) {
  random_power_shape(least + random_below(seed, 17 - least), least, seed, made);
  snprintf(made->title, sizeof made->title, "random layout, rank %d, and row_major", made->rank);
  side *image = &made->source, *rows = &made->destination;
  if (random_below(seed, 2)) {
    image = &made->destination;
    rows = &made->source;
  }
  return random_layout(made, 0, seed, &image->storage) &&
         llrt_storage_row_major(made->rank, &rows->storage) == LLRT_OK;
}

bool random_layouts_make(int kind, int least, uint64_t *seed, conformance_case *made) {
  return kind < 2 ? make_random_layouts(kind, least, seed, made) : make_image(least, seed, made);
}

/* ---- random pitches: any axis order, any extents, constant or run-time strides ---- */

static bool random_strides(conformance_case *made, uint64_t *seed, side *out) {
  int order[LLRT_MAX_RANK] = {0};
  for (int i = 0; i < made->rank; i++) {
    int at = random_below(seed, i + 1);
    order[i] = order[at];
    order[at] = i;
  }
  int64_t stride = 1;
  for (int i = 0; i < made->rank; i++) {
    out->strides[order[i]] = stride;
    stride *= made->shape[order[i]];
    if (random_below(seed, 2)) stride += random_below(seed, 20);
  }
  bool runtime = random_below(seed, 2);
  return llrt_storage_strided(made->rank, runtime ? NULL : out->strides, &out->storage) == LLRT_OK;
}

static bool make_strided(uint64_t *seed, conformance_case *made) {
  made->rank = 1 + random_below(seed, 4);
  int most = made->rank == 1 ? 100000 : made->rank == 2 ? 400 : made->rank == 3 ? 50 : 18;
  for (int axis = 0; axis < made->rank; axis++) made->shape[axis] = 1 + random_below(seed, most);
  snprintf(made->title, sizeof made->title, "random strides, rank %d", made->rank);
  return random_strides(made, seed, &made->source) &&
         random_strides(made, seed, &made->destination);
}

/* ---- the list ---- */

#define N_RANDOM 48 /* of each kind */

static bool make_random(int kind, uint64_t *seed, conformance_case *made) {
  made->dtype = widths[random_below(seed, N_WIDTHS)];
  /* Bases off their alignment, in a third of the cases. */
  if (random_below(seed, 3) == 0) made->source.shift = random_below(seed, 16);
  if (random_below(seed, 3) == 0) made->destination.shift = random_below(seed, 16);
  return kind < 3 ? random_layouts_make(kind, 0, seed, made) : make_strided(seed, made);
}

enum { TABLE, RANDOM, GENERAL, NAMED, MAPS, WIDTHS, N_PARTS };

static int part_count(int part) {
  const int counts[N_PARTS] = {
      [TABLE] = N_TABLE * N_WIDTHS,  [RANDOM] = 4 * N_RANDOM,    [GENERAL] = general_cases_count(),
      [NAMED] = named_cases_count(), [MAPS] = map_cases_count(), [WIDTHS] = width_cases_count()};
  return counts[part];
}

int cases_count(void) {
  int n = 0;
  for (int part = 0; part < N_PARTS; part++) n += part_count(part);
  return n;
}

static bool make_case(int part, int number, uint64_t *seed, conformance_case *made) {
  switch (part) {
  case TABLE: return case_from_text(&table[number / N_WIDTHS], widths[number % N_WIDTHS], made);
  case RANDOM: return make_random(number / N_RANDOM, seed, made);
  case GENERAL: return general_cases_make(number, made);
  case NAMED: return named_cases_make(number, made);
  case MAPS: return map_cases_make(number, made);
  default: return width_cases_make(number, seed, made);
  }
}

/* "…, [5,6,7] of u8"; random cases are numbered. */
static void end_title(int part, int number, conformance_case *made) {
  size_t used = strlen(made->title), size = sizeof made->title;
  used += (size_t)snprintf(made->title + used, size - used,
                           part == RANDOM ? ", number %d, [" : ", [", number);
  for (int axis = 0; axis < made->rank && used < size; axis++)
    used += (size_t)snprintf(made->title + used, size - used, "%s%lld", axis ? "," : "",
                             (long long)made->shape[axis]);
  if (used < size)
    snprintf(made->title + used, size - used, "] of %s", llrt_dtype_name(made->dtype));
}

/* What is drawn depends on the number in its part, so that a row which is added to one part changes
 * no other. */
bool cases_make(int index, uint64_t seed, conformance_case *made) {
  memset(made, 0, sizeof *made);
  int part = 0, number = index;
  while (number >= part_count(part)) number -= part_count(part++);
  uint64_t state = seed * 0x2545f4914f6cdd1d + ((uint64_t)part << 32) + (uint64_t)number;
  random_next(&state);
  made->data_seed = random_next(&state);
  made->route = (route)(number % ROUTE_COUNT);
  bool done = make_case(part, number, &state, made);
  end_title(part, number, made);
  return done;
}
