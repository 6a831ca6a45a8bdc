/* Value maps: their cases, and what they do to an element, in plain C. */
#include "conformance.h"

#include "../number_reference.h"

#include <stdio.h>

#define MMA "nvmma(version=[2,0], warps_per_cta=[4,1], instr_shape=[16,8])"

static const struct row {
  int64_t shape[2];
  const char *source, *destination;
  llrt_dtype dtype;
  uint64_t constant; /* XOR; 0: none */
  bool words;        /* then the permutation of words */
  llrt_dtype to;     /* NONE: the same */
} table[] = {
    /* Q4_0 repacked for eight rows, and the int4 weights of FasterTransformer: +8 a nibble is ^8.
     */
    {{64, 128}, "row_major", "col_major", LLRT_U8, 0x88, false, LLRT_DTYPE_NONE},
    {{1000, 18}, "row_major", "col_major", LLRT_U8, 0x88, false, LLRT_DTYPE_NONE},
    {{33, 65}, "col_major", "row_major", LLRT_U16, 0x8888, false, LLRT_DTYPE_NONE},
    {{256, 256}, "row_major", "col_major", LLRT_U32, 0x88888888, false, LLRT_DTYPE_NONE},
    {{50, 60}, "row_major", "strided([64,1])", LLRT_F32, 0x80000000, false, LLRT_DTYPE_NONE},
    {{64, 64}, "row_major", "col_major", LLRT_I64, 0x8000000000000001, false, LLRT_DTYPE_NONE},
    /* fp4 weights in the order of Hopper kernels. */
    {{128, 256}, "row_major", "row_major", LLRT_U8, 0, true, LLRT_DTYPE_NONE},
    {{128, 256}, "row_major", "row_major", LLRT_U4, 0, true, LLRT_DTYPE_NONE},
    {{72, 136}, "row_major", "col_major", LLRT_U4, 0x8, true, LLRT_DTYPE_NONE},
    {{128, 256}, "row_major", "marlin_w4", LLRT_U4, 0x8, false, LLRT_DTYPE_NONE},
    {{128, 256}, "row_major", "col_major", LLRT_U8, 0x88, true, LLRT_DTYPE_NONE},
    {{1000, 36}, "row_major", "row_major", LLRT_U8, 0, true, LLRT_DTYPE_NONE},
    {{36, 1001}, "row_major", "col_major", LLRT_U16, 0x8008, true, LLRT_DTYPE_NONE},
    {{3, 4}, "row_major", "row_major", LLRT_U8, 0, true, LLRT_DTYPE_NONE},
    {{50, 60}, "row_major", "strided([72,1])", LLRT_U8, 0, true, LLRT_DTYPE_NONE},
    {{33, 65}, "row_major", "col_major", LLRT_U32, 0, true, LLRT_DTYPE_NONE},
    {{40, 24}, "row_major", "col_major", LLRT_U64, 1, true, LLRT_DTYPE_NONE},
    {{20, 3}, "row_major", "col_major", LLRT_B128, 0, true, LLRT_DTYPE_NONE},
    {{7, 130},
     "row_major",
     "storage(digits=[dim1: 5, dim0: rest, dim1: rest], pad=0)",
     LLRT_B128,
     0,
     true,
     LLRT_DTYPE_NONE},
    /* Fewer elements than the host's lanes and registers hold at a time. */
    {{1, 16},
     "{offset: [[0,4],[0,2],[0,1],[0,8]]} -> [dim0:1, dim1:16]",
     "row_major",
     LLRT_U4,
     0,
     true,
     LLRT_DTYPE_NONE},
    {{2, 8}, "col_major", "row_major", LLRT_U4, 0, true, LLRT_U8},
    {{1, 16}, "row_major", "row_major", LLRT_E2M1, 0, true, LLRT_U8},
    /* Bytes whose first element is in the high half. */
    {{1, 16},
     "{offset: [[0,4],[0,2],[0,1],[0,8]]} -> [dim0:1, dim1:16]",
     "bitsandbytes_w4",
     LLRT_U4,
     0,
     true,
     LLRT_DTYPE_NONE},
    {{16, 64}, "row_major", "bitsandbytes_w4", LLRT_U4, 0x8, true, LLRT_DTYPE_NONE},
    {{40, 72}, "col_major", "bitsandbytes_w4", LLRT_F32, 0, true, LLRT_E2M1},
    /* Casts among moves. */
    {{128, 256}, "row_major", "col_major", LLRT_F32, 0, false, LLRT_BF16},
    {{1000, 33}, "row_major", "col_major", LLRT_F32, 0, false, LLRT_BF16},
    {{128, 128}, "row_major", MMA, LLRT_E4M3, 0, false, LLRT_BF16},
    {{128, 128}, MMA, "row_major", LLRT_BF16, 0, false, LLRT_E5M2},
    {{50, 60}, "col_major", "strided([64,1])", LLRT_I8, 0x80, false, LLRT_F32},
    {{128, 256}, "row_major", "col_major", LLRT_F32, 0, true, LLRT_E4M3},
    {{1000, 36}, "col_major", "row_major", LLRT_F16, 0, true, LLRT_U8},
    {{36, 1001}, "row_major", "col_major", LLRT_U8, 0x80, true, LLRT_F16},
    {{40, 24}, "row_major", "col_major", LLRT_F64, 0, false, LLRT_I8},
    {{130, 9}, "row_major", "scale_128x4(pad=9)", LLRT_F32, 0, false, LLRT_E4M3},
    {{60, 9}, "scale_8x4(pad=keep)", "scale_128x4(pad=127)", LLRT_I8, 0x80, false, LLRT_U8},
    /* Weights of 4 bits made wide, packed ones on their way to plain matrices among them. */
    {{128, 256}, "marlin_w4", "row_major", LLRT_U4, 0, false, LLRT_F16},
    {{80, 192}, "marlin_w4", "col_major", LLRT_I4, 0x8, false, LLRT_BF16},
    {{50, 66}, "torchao_w4", "row_major", LLRT_U4, 0x8, false, LLRT_F32},
    {{128, 256}, "row_major", "col_major", LLRT_E2M1, 0, false, LLRT_BF16},
    {{131, 70}, "row_major", "col_major", LLRT_E2M1, 0, false, LLRT_F32},
    {{128, 64}, "row_major", MMA, LLRT_E2M1, 0, false, LLRT_E4M3},
    {{70, 131}, "col_major", "row_major", LLRT_I4, 0, false, LLRT_I8},
    {{128, 130}, "row_major", "col_major", LLRT_E2M1, 0, true, LLRT_U8},
    {{333, 96}, "col_major", "row_major", LLRT_E2M1, 0, false, LLRT_BF16},
    {{511, 130}, "col_major", "row_major", LLRT_I4, 0, false, LLRT_F32},
    {{255, 64}, "col_major", "row_major", LLRT_U4, 0x8, true, LLRT_U8},
    {{4, 70000}, "row_major", "col_major", LLRT_U4, 0, false, LLRT_U8},
    /* And numbers made to fit into them. */
    {{33, 65}, "row_major", "col_major", LLRT_F32, 0, false, LLRT_E2M1},
    {{131, 77}, "col_major", "row_major", LLRT_BF16, 0, false, LLRT_I4},
    {{20, 41}, "row_major", "strided([43,1])", LLRT_I8, 0, false, LLRT_U4},
    {{128, 256}, "row_major", "marlin_w4", LLRT_F16, 0, false, LLRT_U4},
    {{80, 192}, "col_major", "marlin_w4", LLRT_F32, 0, false, LLRT_I4},
    {{130, 66}, "row_major", "col_major", LLRT_BF16, 0, false, LLRT_E2M1},
    {{64, 128}, "col_major", "row_major", LLRT_E2M1, 0, true, LLRT_I4},
    {{50, 66}, "row_major", "torchao_w4", LLRT_I8, 0x80, false, LLRT_U4},
    {{333, 96}, "row_major", "col_major", LLRT_F32, 0, false, LLRT_E2M1},
    {{517, 67}, "row_major", "col_major", LLRT_I8, 0x80, false, LLRT_U4},
    {{255, 131}, "col_major", "row_major", LLRT_U4, 0x8, false, LLRT_DTYPE_NONE},
    {{131, 77}, "row_major", "col_major", LLRT_F64, 0, false, LLRT_I4},
    {{5, 8},
     "storage(digits=[dim1: 3, dim1: 12, dim0: rest, dim1: rest], pad=0)",
     "strided([10,1])",
     LLRT_I8,
     0,
     false,
     LLRT_I4},
};
#define N_TABLE ((int)(sizeof table / sizeof table[0]))

/* ---- every cast ---- */

static const llrt_dtype types[] = {LLRT_F64,  LLRT_F32,      LLRT_F16,      LLRT_BF16, LLRT_E4M3,
                                   LLRT_E5M2, LLRT_E4M3FNUZ, LLRT_E5M2FNUZ, LLRT_E8M0, LLRT_I32,
                                   LLRT_I16,  LLRT_I8,       LLRT_U32,      LLRT_U16,  LLRT_U8,
                                   LLRT_E2M1, LLRT_I4,       LLRT_U4};
#define N_TYPES ((int)(sizeof types / sizeof types[0]))
#define E8M0_AT 8 /* no cast makes it */

/* All codes of up to 16 bits; of wider types 2^14 about every edge. */
static bool make_cast(int index, conformance_case *made) {
  int from = index / (N_TYPES - 1), to = index % (N_TYPES - 1);
  to += to >= E8M0_AT;
  made->dtype = types[from];
  made->to = types[to];
  made->every_code = true;
  made->rank = 2;
  int bits = llrt_dtype_bits(made->dtype);
  made->shape[0] = bits <= 8 ? 16 : 256;
  made->shape[1] = bits <= 8 ? 16 : bits == 16 ? 256 : 64;
  snprintf(made->title, sizeof made->title, "cast to %s", llrt_dtype_name(made->to));
  return llrt_storage_row_major(2, &made->source.storage) == LLRT_OK &&
         llrt_storage_col_major(2, &made->destination.storage) == LLRT_OK;
}

/* ---- block scales ---- */

static const struct scale_row {
  int64_t shape[2], group[2];
  const char *text[3]; /* source, destination, scales */
  llrt_dtype type[3];
} scales[] = {
    {{128, 256},
     {1, 32},
     {"row_major", "row_major", "row_major"},
     {LLRT_E4M3, LLRT_BF16, LLRT_E8M0}},
    {{131, 96},
     {1, 32},
     {"row_major", "col_major", "scale_128x4(pad=0)"},
     {LLRT_E4M3, LLRT_BF16, LLRT_E8M0}},
    {{128, 128}, {1, 16}, {"row_major", MMA, "row_major"}, {LLRT_E5M2, LLRT_F16, LLRT_E4M3}},
    {{130, 257},
     {128, 128},
     {"row_major", "col_major", "row_major"},
     {LLRT_F32, LLRT_E4M3, LLRT_F32}},
    {{100, 70},
     {1, LLRT_GROUP_ALL},
     {"col_major", "row_major", "row_major"},
     {LLRT_I8, LLRT_F32, LLRT_F32}},
    {{30, 60}, {1, 12}, {"row_major", "row_major", "col_major"}, {LLRT_I8, LLRT_BF16, LLRT_F16}},
    {{40, 24}, {8, 1}, {"row_major", "col_major", "row_major"}, {LLRT_F64, LLRT_F64, LLRT_F32}},
    /* MXFP4, NVFP4, and integers of 4 bits with a scale a group of rows. */
    {{128, 256},
     {1, 32},
     {"row_major", "row_major", "row_major"},
     {LLRT_E2M1, LLRT_BF16, LLRT_E8M0}},
    {{131, 96},
     {1, 32},
     {"row_major", "col_major", "scale_128x4(pad=0)"},
     {LLRT_E2M1, LLRT_BF16, LLRT_E8M0}},
    {{128, 64}, {1, 16}, {"row_major", MMA, "scale_128x4"}, {LLRT_E2M1, LLRT_F16, LLRT_E4M3}},
    {{70, 48}, {1, 16}, {"row_major", "row_major", "row_major"}, {LLRT_E2M1, LLRT_F32, LLRT_E4M3}},
    {{64, 64}, {1, 32}, {"row_major", "col_major", "row_major"}, {LLRT_E2M1, LLRT_E4M3, LLRT_E8M0}},
    {{256, 192}, {128, 1}, {"marlin_w4", "row_major", "row_major"}, {LLRT_I4, LLRT_F16, LLRT_F16}},
    {{256, 192}, {64, 1}, {"row_major", "col_major", "col_major"}, {LLRT_U4, LLRT_BF16, LLRT_BF16}},
    {{64, 96}, {1, 32}, {"row_major", "row_major", "row_major"}, {LLRT_BF16, LLRT_E2M1, LLRT_E8M0}},
    {{33, 70}, {1, 32}, {"row_major", "col_major", "row_major"}, {LLRT_BF16, LLRT_E2M1, LLRT_E8M0}},
    {{9, 33},
     {3, 5},
     {"col_major", "row_major", "scale_128x4(pad=0)"},
     {LLRT_F32, LLRT_U4, LLRT_F16}},
    /* Scales that are halves themselves, or are exact as such, and those that are not. */
    {{96, 256},
     {1, 16},
     {"row_major", "row_major", "row_major"},
     {LLRT_E2M1, LLRT_BF16, LLRT_BF16}},
    {{128, 130},
     {1, 10},
     {"row_major", "col_major", "row_major"},
     {LLRT_E2M1, LLRT_F16, LLRT_E5M2}},
    {{64, 96},
     {8, 4},
     {"row_major", "row_major", "col_major"},
     {LLRT_I4, LLRT_BF16, LLRT_E4M3FNUZ}},
    {{64, 96}, {1, 32}, {"row_major", "col_major", "row_major"}, {LLRT_E2M1, LLRT_F16, LLRT_E8M0}},
    {{64, 96}, {1, 32}, {"row_major", "row_major", "row_major"}, {LLRT_U4, LLRT_BF16, LLRT_F32}},
    /* Groups that are no powers of two, as long as the axis or longer: no walk comes to the scales'
       own digits and tiles. */
    {{3, 17}, {3, 2}, {"row_major", "row_major", "scale_128x4"}, {LLRT_U4, LLRT_BF16, LLRT_E5M2}},
    {{11, 137},
     {11, 2},
     {"row_major", "row_major", "scale_128x4"},
     {LLRT_E2M1, LLRT_BF16, LLRT_E5M2}},
    {{2, 64}, {3, 1}, {"col_major", "row_major", "row_major"}, {LLRT_U8, LLRT_I16, LLRT_F32}},
    {{4, 48},
     {5, 1},
     {"row_major", "col_major", "storage(digits=[dim1:3, dim1:4, dim1:rest, dim0:rest], pad=0)"},
     {LLRT_F16, LLRT_F16, LLRT_BF16}},
    {{32, 128},
     {36, 133},
     {"col_major", "row_major", "scale_128x4(pad=0)"},
     {LLRT_U8, LLRT_BF16, LLRT_E4M3}},
    {{130, 48},
     {1, 48},
     {"row_major", "col_major", "scale_128x4(pad=0)"},
     {LLRT_I8, LLRT_F32, LLRT_F16}},
};
#define N_SCALES ((int)(sizeof scales / sizeof scales[0]))

void scale_shape(const conformance_case *tested, int64_t *shape) {
  const int64_t *group = tested->maps[0].group;
  for (int a = 0; a < tested->rank; a++)
    shape[a] = group[a] < 0 ? 1 : (tested->shape[a] + group[a] - 1) / group[a];
}

void scale_coords(const conformance_case *tested, const int64_t *coords, int64_t *at) {
  const int64_t *group = tested->maps[0].group;
  for (int a = 0; a < tested->rank; a++) at[a] = group[a] < 0 ? 0 : coords[a] / group[a];
}

double scale_value(const conformance_case *tested, uint64_t code) {
  return reference_decode(tested->scale_type, code);
}

static bool make_scale(int index, conformance_case *made) {
  const struct scale_row *row = &scales[index];
  int64_t shape[LLRT_MAX_RANK] = {0};
  made->dtype = row->type[0];
  made->to = row->type[1];
  made->scale_type = row->type[2];
  made->rank = 2;
  memcpy(made->shape, row->shape, sizeof row->shape);
  made->maps[made->n_maps].kind = LLRT_MAP_SCALE;
  memcpy(made->maps[made->n_maps++].group, row->group, sizeof row->group);
  scale_shape(made, shape);
  snprintf(made->title, sizeof made->title, "%.20s -> %.20s, scales %s of %dx%d", row->text[0],
           row->text[1], llrt_dtype_name(made->scale_type), (int)row->group[0], (int)row->group[1]);
  return llrt_storage_parse(row->text[0], 2, row->shape, &made->source.storage) == LLRT_OK &&
         llrt_storage_parse(row->text[1], 2, row->shape, &made->destination.storage) == LLRT_OK &&
         llrt_storage_parse(row->text[2], 2, shape, &made->scale.storage) == LLRT_OK;
}

/* ---- the list ---- */

#define N_CASTS (N_TYPES * (N_TYPES - 1))

int map_cases_count(void) { return N_TABLE + N_CASTS + N_SCALES; }

bool map_cases_make(int index, conformance_case *made) {
  if (index >= N_TABLE + N_CASTS) return make_scale(index - N_TABLE - N_CASTS, made);
  if (index >= N_TABLE) return make_cast(index - N_TABLE, made);
  const struct row *row = &table[index];
  made->dtype = row->dtype;
  made->to = row->to;
  made->rank = 2;
  memcpy(made->shape, row->shape, sizeof row->shape);
  if (llrt_storage_parse(row->source, 2, row->shape, &made->source.storage) ||
      llrt_storage_parse(row->destination, 2, row->shape, &made->destination.storage))
    return false;
  if (row->constant)
    made->maps[made->n_maps++] = (llrt_map){.kind = LLRT_MAP_XOR, .constant = row->constant};
  if (row->words) {
    made->maps[made->n_maps].kind = LLRT_MAP_WORD_BITS;
    reference_hopper_fp4(made->maps[made->n_maps++].perm);
  }
  snprintf(made->title, sizeof made->title, "%.30s -> %.30s, xor %#llx%s", row->source,
           row->destination, (unsigned long long)row->constant, row->words ? ", word bits" : "");
  return true;
}

llrt_dtype result_type(const conformance_case *tested) {
  return tested->to ? tested->to : tested->dtype;
}

/* Near numbers that some format ends at or rounds at: any format's codes as values of this one, and
 * their neighbours, halfway points among them. */
uint64_t source_code(llrt_dtype dtype, uint64_t i) {
  static const llrt_dtype narrow[] = {LLRT_F16,  LLRT_BF16, LLRT_E4M3,
                                      LLRT_E5M2, LLRT_I16,  LLRT_F32};
  int bits = llrt_dtype_bits(dtype);
  uint64_t mask = UINT64_MAX >> (64 - bits), state = i;
  if (bits <= 16) return i & mask;
  uint64_t random = random_next(&state), kind = i % 8;
  if (kind == 7) return random & mask;
  if (kind == 6) {
    static const uint64_t tops[] = {0, 1, 0x7FF, 0x7FE, 0xFFF, 0x380, 0x47F};
    uint64_t top = tops[random >> 8 & 7 & -(uint64_t)((random >> 8 & 7) < 7)];
    return (top << (bits - 12) | ((random >> 12 & 1) << (bits - 1)) | (random & 3) |
            (random >> 40 & 1 ? mask >> 12 : 0)) &
           mask;
  }
  llrt_dtype near = narrow[kind];
  int near_bits = llrt_dtype_bits(near);
  uint64_t code = random >> 16 & (UINT64_MAX >> (64 - near_bits));
  double value = reference_decode(near, code), next = reference_decode(near, code ^ 1);
  if (random & 1) value = (value + next) / 2;
  code = reference_encode(dtype, value);
  return (code + (random >> 1 & 3) - (random >> 3 & 1) * 3) & mask;
}

uint64_t map_element(const conformance_case *tested, uint64_t bits, double scale) {
  for (int i = 0; i < tested->n_maps; i++)
    if (tested->maps[i].kind == LLRT_MAP_XOR) bits ^= tested->maps[i].constant;
  bool scaled = tested->scale_type != LLRT_DTYPE_NONE;
  if (result_type(tested) == tested->dtype && !scaled) return bits;
  bits &= UINT64_MAX >> (64 - llrt_dtype_bits(tested->dtype));
  return reference_cast(tested->dtype, result_type(tested), bits, scale, scaled);
}

bool maps_words(const conformance_case *tested) {
  return tested->n_maps > 0 && tested->maps[tested->n_maps - 1].kind == LLRT_MAP_WORD_BITS;
}

uint32_t map_word(const conformance_case *tested, uint32_t word) {
  return reference_permute(tested->maps[tested->n_maps - 1].perm, word);
}
