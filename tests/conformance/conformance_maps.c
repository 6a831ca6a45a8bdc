/* Value maps: their cases, and what they do to an element, in plain C. */
#include "conformance.h"

#include "../number_reference.h"

#include <stdio.h>

static const struct row {
  int64_t shape[2];
  const char *source, *destination;
  llrt_dtype dtype;
  uint64_t constant; /* XOR; 0: none */
  bool words;        /* then the permutation of words */
} table[] = {
    /* Q4_0 repacked for eight rows, and the int4 weights of FasterTransformer: +8 a nibble is ^8. */
    {{64, 128}, "row_major", "col_major", LLRT_U8, 0x88, false},
    {{1000, 18}, "row_major", "col_major", LLRT_U8, 0x88, false},
    {{33, 65}, "col_major", "row_major", LLRT_U16, 0x8888, false},
    {{256, 256}, "row_major", "col_major", LLRT_U32, 0x88888888, false},
    {{50, 60}, "row_major", "strided([64,1])", LLRT_F32, 0x80000000, false},
    {{64, 64}, "row_major", "col_major", LLRT_I64, 0x8000000000000001, false},
    /* fp4 weights in the order of Hopper kernels. */
    {{128, 256}, "row_major", "row_major", LLRT_U8, 0, true},
    {{128, 256}, "row_major", "col_major", LLRT_U8, 0x88, true},
    {{1000, 36}, "row_major", "row_major", LLRT_U8, 0, true},
    {{36, 1001}, "row_major", "col_major", LLRT_U16, 0x8008, true},
    {{3, 4}, "row_major", "row_major", LLRT_U8, 0, true},
    {{50, 60}, "row_major", "strided([72,1])", LLRT_U8, 0, true},
    {{33, 65}, "row_major", "col_major", LLRT_U32, 0, true},
    {{40, 24}, "row_major", "col_major", LLRT_U64, 1, true},
};
#define N_TABLE ((int)(sizeof table / sizeof table[0]))

int map_cases_count(void) { return N_TABLE; }

bool map_cases_make(int index, conformance_case *made) {
  const struct row *row = &table[index];
  made->dtype = row->dtype;
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

uint64_t map_element(const conformance_case *tested, uint64_t bits) {
  for (int i = 0; i < tested->n_maps; i++)
    if (tested->maps[i].kind == LLRT_MAP_XOR) bits ^= tested->maps[i].constant;
  return bits;
}

bool maps_words(const conformance_case *tested) {
  return tested->n_maps > 0 && tested->maps[tested->n_maps - 1].kind == LLRT_MAP_WORD_BITS;
}

uint32_t map_word(const conformance_case *tested, uint32_t word) {
  return reference_permute(tested->maps[tested->n_maps - 1].perm, word);
}
