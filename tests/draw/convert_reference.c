/* What a conversion has to leave in memory: coordinates alone, by include/llrt/convert.h, tensor.h
 * and map.h. */
#include "convert_case.h"
#include "tests/number_reference.h"

#include <stdlib.h>

/* ---- values of indices ---- */

int64_t convert_value_at(const llrt_index *index, int rank, const int64_t *coords) {
  int64_t at = 0;
  for (int a = 0; a < rank; a++)
    if (index->axes >> a & 1) at += coords[a] * index->strides[a];
  return at;
}

typedef struct found {
  int64_t place, layer;
  bool valid, left_out; /* in range; out of range of an index that leaves elements out */
} found;

static int64_t positions_of(const convert_run *run, int s, int i) {
  const drawn_index *of = &run->of->index[s][i];
  return of->index.kind == LLRT_INDEX_POINTER ? run->of->layers[s] : of->index.extent;
}

/* Of a gather into memory of its own SKIP gives zeros. Without a device its view is planned alone.
 */
static bool leaves_out(const convert_run *run, const llrt_index *index) {
  bool zeros = run->of->gather && run->of->route == ROUTE_ALLOCATED && !run->at->plan_target;
  return (index->out_of_range == LLRT_RANGE_SKIP && !zeros) ||
         index->out_of_range == LLRT_RANGE_REPORT;
}

/* The value of index i at coordinates, clamped where that is asked; whether it is in range. */
static bool read_value(const convert_run *run, int s, int i, const int64_t *coords,
                       int64_t *value) {
  const llrt_index *index = &run->of->index[s][i].index;
  int64_t end = positions_of(run, s, i);
  *value = run->tensor[s].value[i][convert_value_at(index, run->of->rank, coords)];
  if (index->out_of_range == LLRT_RANGE_CLAMP)
    *value = *value < 0 ? 0 : *value >= end ? end - 1 : *value;
  return *value >= 0 && *value < end;
}

/* Where side s has the element at coordinates. */
static found find(const convert_run *run, int s, const int64_t *coords, int copy) {
  int64_t seen[LLRT_MAX_RANK], value;
  found at = {.valid = true};
  memcpy(seen, coords, sizeof seen);
  for (int i = 0; i < run->of->n_indices[s]; i++) {
    const llrt_index *index = &run->of->index[s][i].index;
    for (int a = 0; a < run->of->rank; a++)
      if (index->folded >> a & 1) seen[a] = 0;
    bool in_range = read_value(run, s, i, coords, &value);
    at.valid &= in_range;
    at.left_out |= !in_range && leaves_out(run, index);
    if (index->kind == LLRT_INDEX_POINTER) at.layer = value;
    seen[index->axis] = index->kind == LLRT_INDEX_POINTER ? 0 : value;
  }
  if (at.valid) at.place = places_at(&run->tensor[s].at, seen, copy);
  return at;
}

/* ---- drawing values ---- */

static int64_t bad_value(const llrt_index *index, uint64_t *seed) {
  bool wide = index->dtype != LLRT_I32;
  if (index->kind == LLRT_INDEX_POINTER) return -1;
  switch (draw_below(seed, 5)) {
  case 0: return index->extent;
  case 1: return wide ? INT64_MIN : INT32_MIN;
  case 2: return wide ? INT64_MAX : INT32_MAX;
  case 3: return index->extent + draw_below(seed, 1000);
  default: return -1 - draw_below(seed, 3);
  }
}

static void draw_values(const convert_run *run, int s, int i) {
  const drawn_index *of = &run->of->index[s][i];
  int64_t n = run->tensor[s].n_values[i], end = positions_of(run, s, i),
          few = 1 + (int64_t)(of->seed % 5);
  uint64_t seed = of->seed;
  for (int64_t v = 0; v < n; v++) {
    int64_t value = end <= 0         ? 0
                    : of->order == 1 ? v % end
                    : of->order == 2 ? v % few % end
                                     : draw_below(&seed, end);
    bool bad = draw_below(&seed, 16) < of->bad || end <= 0;
    run->tensor[s].value[i][v] = bad ? bad_value(&of->index, &seed) : value;
  }
}

static int64_t count_values(const convert_case *of, const llrt_index *index) {
  int64_t n = 1;
  for (int a = 0; a < of->rank; a++) {
    if (!(index->axes >> a & 1)) continue;
    if (of->shape[a] == 0) return 0;
    n += (of->shape[a] - 1) * index->strides[a];
  }
  return n;
}

/* Marks the place of the element at coordinates; where it is taken, the value that led there
 * becomes one out of range. */
static bool take_place(convert_run *run, int s, const int64_t *coords, uint8_t *taken,
                       bool *changed) {
  found at = find(run, s, coords, 0);
  if (!at.valid || at.left_out) return true;
  int64_t place = at.place + at.layer * run->tensor[s].at.span;
  if (!taken[place]) {
    taken[place] = 1;
    return true;
  }
  int i = run->of->n_indices[s] - 1;
  const llrt_index *index = &run->of->index[s][i].index;
  run->tensor[s].value[i][convert_value_at(index, run->of->rank, coords)] = -1;
  *changed = true;
  return false;
}

static bool part_elements(convert_run *run, int s) {
  size_t n = (size_t)(run->tensor[s].at.span * run->of->layers[s]);
  uint8_t *taken = malloc(n + 1);
  for (bool changed = true; changed && taken;) {
    int64_t coords[LLRT_MAX_RANK] = {0};
    changed = false;
    memset(taken, 0, n + 1);
    do take_place(run, s, coords, taken, &changed);
    while (places_next(run->of->shape, run->of->rank, coords));
  }
  free(taken);
  return taken != NULL;
}

bool convert_values_make(convert_run *run, int s) {
  bool none = false;
  for (int a = 0; a < run->of->rank; a++) none |= run->of->shape[a] == 0;
  for (int i = 0; i < run->of->n_indices[s]; i++) {
    int64_t n = count_values(run->of, &run->of->index[s][i].index);
    run->tensor[s].n_values[i] = n;
    run->tensor[s].value[i] = calloc((size_t)n + 1, sizeof(int64_t));
    if (!run->tensor[s].value[i]) return false;
    draw_values(run, s, i);
  }
  return s == 0 || none || run->of->n_indices[s] == 0 || part_elements(run, s);
}

/* ---- elements ---- */

static bool rounds_to_double(llrt_dtype type) {
  return type == LLRT_F64 || type == LLRT_I32 || type == LLRT_U32;
}

static double scale_at(const convert_run *run, const int64_t *coords) {
  int64_t at[LLRT_MAX_RANK] = {0};
  uint64_t code[2];
  const llrt_map *map = run->of->maps;
  while (map->kind != LLRT_MAP_SCALE) map++;
  for (int a = 0; a < run->of->rank; a++)
    at[a] = map->group[a] == LLRT_GROUP_ALL ? 0 : coords[a] / (map->group[a] ? map->group[a] : 1);
  int64_t place = places_at(&run->tensor[2].at, at, 0);
  code_read(memory_image(&run->tensor[2].memory), llrt_dtype_bits(run->of->type[2]), place, code);
  return reference_decode(run->of->type[2], code[0]);
}

static uint64_t scaled(const convert_run *run, uint64_t code, double scale) {
  llrt_dtype from = run->of->type[0], to = run->of->type[1];
  double x = reference_decode(from, code) * scale;
  if (!rounds_to_double(from) && !rounds_to_double(to)) x = (double)(float)x;
  return reference_encode(to, x);
}

/* Casts of types of up to 16 bits, each code looked up once. */
typedef struct cast_table {
  uint64_t *code;
  uint8_t *known;
} cast_table;

static uint64_t cast_once(const convert_run *run, cast_table *table, uint64_t code) {
  llrt_dtype from = run->of->type[0], to = run->of->type[1];
  if (llrt_dtype_bits(from) > 16 || !table->code) return reference_cast(from, to, code, 1, false);
  if (!table->known[code]) table->code[code] = reference_cast(from, to, code, 1, false);
  table->known[code] = 1;
  return table->code[code];
}

static void map_element(const convert_run *run, cast_table *table, const int64_t *coords,
                        uint64_t code[2]) {
  const convert_case *of = run->of;
  int bits = llrt_dtype_bits(of->type[0]);
  for (int i = 0; i < of->n_maps; i++)
    if (of->maps[i].kind == LLRT_MAP_XOR) code[0] ^= of->maps[i].constant;
  if (bits < 64) code[0] &= (1ull << bits) - 1;
  if (of->type[2]) code[0] = scaled(run, code[0], scale_at(run, coords));
  else if (of->type[0] != of->type[1]) code[0] = cast_once(run, table, code[0]);
}

/* ---- the destination ---- */

typedef struct writer {
  convert_run *run;
  uint8_t *image, *written; /* a byte for each of the image's */
  int bits;
} writer;

static void put(writer *to, int64_t layer, int64_t place, const uint64_t code[2]) {
  size_t at = (size_t)(layer * to->run->tensor[1].layer_bytes) + (size_t)(place * to->bits / 8);
  code_write(to->image + layer * to->run->tensor[1].layer_bytes, to->bits, place, code);
  memset(to->written + at, 1, to->bits < 8 ? 1 : (size_t)to->bits / 8);
}

static void move_element(writer *to, const uint8_t *source, const int64_t *coords,
                         cast_table *table) {
  convert_run *run = to->run;
  found from = find(run, 0, coords, 0);
  uint64_t code[2] = {0};
  if (from.left_out) return;
  if (from.valid)
    code_read(source + from.layer * run->tensor[0].layer_bytes, llrt_dtype_bits(run->of->type[0]),
              from.place, code);
  map_element(run, table, coords, code);
  for (int copy = 0; copy < run->tensor[1].at.copies; copy++) {
    found into = find(run, 1, coords, copy);
    if (into.valid) put(to, into.layer, into.place, code);
  }
}

/* The axes of an index: an index tensor of TAKE_ALONG has one of a single position where its
 * store's has one, too. */
static uint32_t axes_of(const convert_case *of, const llrt_index *index) {
  uint32_t axes = index->axes;
  for (int a = 0; a < of->rank && of->gather == 1 + LLRT_GATHER_TAKE_ALONG; a++)
    axes |= (uint32_t)(of->shape[a] == 1) << a;
  return axes;
}

/* Whether an index of the source leaves out everything that has these coordinates, a pad's among
 * them. */
static bool pad_stays(const convert_run *run, const int64_t *coords) {
  for (int i = 0; i < run->of->n_indices[0]; i++) {
    const llrt_index *index = &run->of->index[0][i].index;
    int64_t value;
    bool known = leaves_out(run, index);
    for (int a = 0; a < run->of->rank; a++)
      known &= !(axes_of(run->of, index) >> a & 1) || coords[a] < run->end[a];
    if (known && !read_value(run, 0, i, coords, &value)) return true;
  }
  return false;
}

/* Pads up to the next whole unit of every axis. */
static void write_pads(writer *to) {
  convert_run *run = to->run;
  const places *into = &run->tensor[1].at;
  int64_t coords[LLRT_MAX_RANK] = {0}, ends[LLRT_MAX_RANK];
  if (into->rule.pad != LLRT_PAD_VALUE || run->of->n_indices[1]) return;
  for (int a = 0; a < run->of->rank; a++)
    ends[a] = run->end[a] == into->shape[a]
                  ? into->padded[a]
                  : (run->end[a] + into->unit[a] - 1) / into->unit[a] * into->unit[a];
  do {
    bool pad = false;
    for (int a = 0; a < run->of->rank; a++) pad |= coords[a] >= run->end[a];
    if (!pad || pad_stays(run, coords)) continue;
    for (int copy = 0; copy < into->copies; copy++)
      put(to, 0, places_at(into, coords, copy), (uint64_t[2]){into->rule.pad_value, 0});
  } while (places_next(ends, run->of->rank, coords));
}

static void map_words(const writer *to, size_t bytes) {
  const convert_case *of = to->run->of;
  const llrt_map *last = of->n_maps ? &of->maps[of->n_maps - 1] : NULL;
  if (!last || last->kind != LLRT_MAP_WORD_BITS) return;
  for (size_t at = 0; at + 4 <= bytes; at += 4) {
    uint32_t word;
    if (!(to->written[at] | to->written[at + 1] | to->written[at + 2] | to->written[at + 3]))
      continue;
    memcpy(&word, to->image + at, 4);
    word = reference_permute(last->perm, word);
    memcpy(to->image + at, &word, 4);
  }
}

/* Every value out of range counts once, however many elements it stands for. */
static void count_reports(convert_run *run, const int64_t *coords) {
  for (int s = 0; s < 2; s++)
    for (int i = 0; i < run->of->n_indices[s]; i++) {
      const llrt_index *index = &run->of->index[s][i].index;
      bool counts = index->out_of_range == LLRT_RANGE_REPORT;
      int64_t value;
      int32_t reported;
      for (int a = 0; a < run->of->rank; a++) counts &= coords[a] == 0 || (index->axes >> a & 1);
      if (!counts || read_value(run, s, i, coords, &value)) continue;
      uint8_t *counter = memory_image(&run->tensor[s].report[i]);
      memcpy(&reported, counter, sizeof reported);
      reported++;
      memcpy(counter, &reported, sizeof reported);
    }
}

bool convert_reference(convert_run *run) {
  const convert_case *of = run->of;
  memory *into = &run->tensor[1].memory;
  uint8_t *source = memory_image(&run->tensor[0].memory), *kept = NULL;
  cast_table table = {calloc(1 << 16, sizeof *table.code), calloc(1 << 16, 1)};
  writer to = {run, memory_image(into), calloc(into->span + 4, 1), llrt_dtype_bits(of->type[1])};
  int64_t coords[LLRT_MAX_RANK] = {0};
  if (of->in_place && (kept = malloc(into->span + 1))) source = memcpy(kept, to.image, into->span);
  bool made = to.written && (kept || !of->in_place);
  if (made && !run->empty) {
    do {
      count_reports(run, coords);
      move_element(&to, source, coords, &table);
    } while (places_next(run->end, of->rank, coords));
    write_pads(&to);
    map_words(&to, into->span);
  }
  free(kept);
  free(to.written);
  free(table.code);
  free(table.known);
  return made;
}
