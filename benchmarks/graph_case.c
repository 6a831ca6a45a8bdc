#include "graph_case.h"

#include "harness.h"

#include <stdlib.h>
#include <string.h>

enum { TOKENS = 16, HEADS = 8, HEAD_SIZE = 128, PER_BLOCK = TOKENS * HEADS * HEAD_SIZE };
enum { SCALES = 512, ROW_TILE = 128 };

/* ---- the layouts ---- */

static int64_t place_blocks(int64_t position, int64_t inner) {
  return position * PER_BLOCK + inner;
}

/* [block, head, token, element] */
static int64_t place_hnd(int64_t position, int64_t inner) {
  int64_t token = inner / (HEADS * HEAD_SIZE), head = inner / HEAD_SIZE % HEADS;
  return ((position * HEADS + head) * TOKENS + token) * HEAD_SIZE + inner % HEAD_SIZE;
}

/* [block, head, element / 8, token, element % 8] */
static int64_t place_vllm_keys(int64_t position, int64_t inner) {
  int64_t token = inner / (HEADS * HEAD_SIZE), head = inner / HEAD_SIZE % HEADS;
  int64_t element = inner % HEAD_SIZE;
  return (((position * HEADS + head) * (HEAD_SIZE / 8) + element / 8) * TOKENS + token) * 8 +
         element % 8;
}

static int64_t place_rows(int64_t position, int64_t inner) { return position * SCALES + inner; }

/* Tiles of 128 rows by 4 columns: [row / 128, column / 4, row % 32, row / 32 % 4, column % 4] */
static int64_t place_128x4(int64_t position, int64_t inner) {
  int64_t row = position % ROW_TILE;
  int64_t tile = position / ROW_TILE * (SCALES / 4) + inner / 4;
  return tile * ROW_TILE * 4 + row % 32 * 16 + row / 32 * 4 + inner % 4;
}

const graph_case graph_cases[GRAPH_CASES] = {
    {"paged KV, NHD to contiguous",
     "kv_nhd",
     "row_major",
     place_blocks,
     place_blocks,
     LLRT_BF16,
     4,
     {TOKENS, HEADS, HEAD_SIZE},
     12,
     4096,
     1,
     true},
    {"paged KV, vLLM keys to HND",
     "vllm_paged_k",
     "kv_hnd",
     place_vllm_keys,
     place_hnd,
     LLRT_BF16,
     4,
     {TOKENS, HEADS, HEAD_SIZE},
     12,
     4096,
     1,
     true},
    {"scales, rows to 128x4",
     "row_major",
     "scale_128x4",
     place_rows,
     place_128x4,
     LLRT_U8,
     2,
     {SCALES},
     300,
     131072,
     ROW_TILE,
     false},
};

/* ---- data ---- */

static int64_t round_up(int64_t number, int64_t unit) { return (number + unit - 1) / unit * unit; }

/* Positions of the pool in random order, each at most once; one in 16 is -1. */
static bool fill_table(graph_data *data, uint64_t seed) {
  int32_t *order = malloc((size_t)data->pool * sizeof *order);
  data->table = malloc((size_t)data->limit * sizeof *data->table);
  if (!order || !data->table) {
    free(order);
    return false;
  }
  for (int64_t i = 0; i < data->pool; i++) {
    int64_t at = (int64_t)(harness_mix(seed + (uint64_t)i) % (uint64_t)(i + 1));
    order[i] = at == i ? (int32_t)i : order[at];
    order[at] = (int32_t)i;
  }
  for (int64_t i = 0; i < data->limit; i++) data->table[i] = i % 16 == 5 ? -1 : order[i];
  free(order);
  return true;
}

bool graph_data_init(const graph_case *of, int64_t limit, uint64_t seed, graph_data *data) {
  *data = (graph_data){.of = of, .limit = limit, .inner = 1};
  for (int axis = 1; axis < of->rank; axis++) data->inner *= of->inner[axis - 1];
  data->pool = of->paged ? limit + limit / 4 : limit;
  data->element = (size_t)llrt_dtype_bits(of->dtype) / 8;
  size_t one = (size_t)data->inner * data->element;
  data->source_bytes = (size_t)data->pool * one;
  data->destination_bytes = (size_t)round_up(limit, of->unit) * one;
  data->source = malloc(data->source_bytes);
  if (!data->source) return false;
  for (size_t i = 0; i < data->source_bytes / 8; i++) {
    uint64_t word = harness_mix(seed + i);
    memcpy(data->source + 8 * i, &word, sizeof word);
  }
  return !of->paged || fill_table(data, seed);
}

void graph_data_fini(graph_data *data) {
  free(data->source);
  free(data->table);
}

/* ---- what is right ---- */

/* Of one outer position of the destination, `count` being within its limits. */
static int64_t position_wrong(const graph_data *data, int64_t count, int64_t position,
                              const unsigned char *destination) {
  static const unsigned char zeros[8];
  unsigned char poison[8];
  const graph_case *of = data->of;
  bool element = position < count, pad = !element && position < round_up(count, of->unit);
  int64_t from = element && data->table ? data->table[position] : position, wrong = 0;
  memset(poison, GRAPH_POISON, sizeof poison);
  for (int64_t i = 0; i < data->inner; i++) {
    const unsigned char *expected = pad ? zeros : poison;
    if (element && from >= 0)
      expected = data->source + (size_t)of->place_from(from, i) * data->element;
    const unsigned char *found = destination + (size_t)of->place_to(position, i) * data->element;
    wrong += memcmp(found, expected, data->element) != 0;
  }
  return wrong;
}

int64_t graph_data_wrong(const graph_data *data, int64_t count, const unsigned char *destination) {
  int64_t wrong = 0, end = round_up(data->limit, data->of->unit);
  if (count < 0) count = 0;
  if (count > data->limit) count = data->limit;
#pragma omp parallel for reduction(+ : wrong)
  for (int64_t position = 0; position < end; position++)
    wrong += position_wrong(data, count, position, destination);
  return wrong;
}
