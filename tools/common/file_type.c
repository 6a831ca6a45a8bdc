#include "tools/common/file_type.h"

#include <string.h>

#define MAX_BYTES (UINT64_C(1) << 62)

/* https://github.com/huggingface/safetensors, enum Dtype. Types of 6 and of 4 bits are packed. */
static const file_type safetensors_types[] = {
    {"F64", LLRT_F64, 0, 1, 8},
    {"F32", LLRT_F32, 0, 1, 4},
    {"F16", LLRT_F16, 0, 1, 2},
    {"BF16", LLRT_BF16, 0, 1, 2},
    {"I64", LLRT_I64, 0, 1, 8},
    {"I32", LLRT_I32, 0, 1, 4},
    {"I16", LLRT_I16, 0, 1, 2},
    {"I8", LLRT_I8, 0, 1, 1},
    {"U64", LLRT_U64, 0, 1, 8},
    {"U32", LLRT_U32, 0, 1, 4},
    {"U16", LLRT_U16, 0, 1, 2},
    {"U8", LLRT_U8, 0, 1, 1},
    {"BOOL", LLRT_BOOL, 0, 1, 1},
    {"F8_E4M3", LLRT_E4M3, 0, 1, 1},
    {"F8_E5M2", LLRT_E5M2, 0, 1, 1},
    {"F8_E8M0", LLRT_E8M0, 0, 1, 1},
    {"F8_E4M3FNUZ", LLRT_E4M3FNUZ, 0, 1, 1},
    {"F8_E5M2FNUZ", LLRT_E5M2FNUZ, 0, 1, 1},
    {"F4", LLRT_E2M1, 0, 2, 1},
    {"F6_E2M3", LLRT_DTYPE_NONE, 0, 4, 3},
    {"F6_E3M2", LLRT_DTYPE_NONE, 0, 4, 3},
    {"C64", LLRT_DTYPE_NONE, 0, 1, 8},
};

/* ggml.h, enum ggml_type; block sizes as in ggml-common.h (of Q8_1, which no file has, Python's
 * package gguf says 40). The numbers that are missing were removed from ggml. */
static const file_type ggml_types[] = {
    {"F32", LLRT_F32, 0, 1, 4},
    {"F16", LLRT_F16, 1, 1, 2},
    {"Q4_0", LLRT_DTYPE_NONE, 2, 32, 18},
    {"Q4_1", LLRT_DTYPE_NONE, 3, 32, 20},
    {"Q5_0", LLRT_DTYPE_NONE, 6, 32, 22},
    {"Q5_1", LLRT_DTYPE_NONE, 7, 32, 24},
    {"Q8_0", LLRT_DTYPE_NONE, 8, 32, 34},
    {"Q8_1", LLRT_DTYPE_NONE, 9, 32, 36},
    {"Q2_K", LLRT_DTYPE_NONE, 10, 256, 84},
    {"Q3_K", LLRT_DTYPE_NONE, 11, 256, 110},
    {"Q4_K", LLRT_DTYPE_NONE, 12, 256, 144},
    {"Q5_K", LLRT_DTYPE_NONE, 13, 256, 176},
    {"Q6_K", LLRT_DTYPE_NONE, 14, 256, 210},
    {"Q8_K", LLRT_DTYPE_NONE, 15, 256, 292},
    {"IQ2_XXS", LLRT_DTYPE_NONE, 16, 256, 66},
    {"IQ2_XS", LLRT_DTYPE_NONE, 17, 256, 74},
    {"IQ3_XXS", LLRT_DTYPE_NONE, 18, 256, 98},
    {"IQ1_S", LLRT_DTYPE_NONE, 19, 256, 50},
    {"IQ4_NL", LLRT_DTYPE_NONE, 20, 32, 18},
    {"IQ3_S", LLRT_DTYPE_NONE, 21, 256, 110},
    {"IQ2_S", LLRT_DTYPE_NONE, 22, 256, 82},
    {"IQ4_XS", LLRT_DTYPE_NONE, 23, 256, 136},
    {"I8", LLRT_I8, 24, 1, 1},
    {"I16", LLRT_I16, 25, 1, 2},
    {"I32", LLRT_I32, 26, 1, 4},
    {"I64", LLRT_I64, 27, 1, 8},
    {"F64", LLRT_F64, 28, 1, 8},
    {"IQ1_M", LLRT_DTYPE_NONE, 29, 256, 56},
    {"BF16", LLRT_BF16, 30, 1, 2},
    {"TQ1_0", LLRT_DTYPE_NONE, 34, 256, 54},
    {"TQ2_0", LLRT_DTYPE_NONE, 35, 256, 66},
    {"MXFP4", LLRT_DTYPE_NONE, 39, 32, 17},
    {"NVFP4", LLRT_DTYPE_NONE, 40, 64, 36},
    {"Q1_0", LLRT_DTYPE_NONE, 41, 128, 18},
};

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const file_type *find_dtype(const file_type *table, size_t n, llrt_dtype dtype) {
  for (size_t i = 0; i < n && dtype != LLRT_DTYPE_NONE; i++)
    if (table[i].dtype == dtype) return &table[i];
  return NULL;
}

const file_type *file_type_safetensors(const char *name) {
  for (size_t i = 0; i < COUNT(safetensors_types); i++)
    if (strcmp(safetensors_types[i].name, name) == 0) return &safetensors_types[i];
  return NULL;
}

const file_type *file_type_safetensors_of(llrt_dtype dtype) {
  return find_dtype(safetensors_types, COUNT(safetensors_types), dtype);
}

const file_type *file_type_ggml(uint32_t code) {
  for (size_t i = 0; i < COUNT(ggml_types); i++)
    if (ggml_types[i].code == code) return &ggml_types[i];
  return NULL;
}

const file_type *file_type_ggml_of(llrt_dtype dtype) {
  return find_dtype(ggml_types, COUNT(ggml_types), dtype);
}

bool file_type_bytes(const file_type *type, int rank, const int64_t *shape, uint64_t *bytes,
                     bool *large) {
  uint64_t elements = 1;
  *bytes = 0;
  *large = false;
  for (int axis = 0; axis < rank; axis++) {
    *large |= shape[axis] < 0;
    if (shape[axis] == 0) elements = 0;
  }
  for (int axis = 0; axis < rank && elements && !*large; axis++) {
    *large = elements > MAX_BYTES / (uint64_t)shape[axis];
    if (!*large) elements *= (uint64_t)shape[axis];
  }
  *large = *large || elements / type->elements > MAX_BYTES / type->bytes;
  if (*large || elements % type->elements) return false;
  *bytes = elements / type->elements * type->bytes;
  return true;
}
