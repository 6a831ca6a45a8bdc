#include <llrt/tensor.h>

#include "base/status.h"

#include <string.h>

static const struct {
  const char *name;
  int bits;
} dtypes[LLRT_DTYPE_COUNT] = {[LLRT_DTYPE_NONE] = {"none", 0},
#define DTYPE_ROW(name, text, bits) [LLRT_##name] = {text, bits},
                              LLRT_DTYPE_LIST(DTYPE_ROW)
#undef DTYPE_ROW
};

static int index_of(llrt_dtype dtype) {
  return (unsigned)dtype < LLRT_DTYPE_COUNT ? (int)dtype : LLRT_DTYPE_NONE;
}

const char *llrt_dtype_name(llrt_dtype dtype) { return dtypes[index_of(dtype)].name; }

int llrt_dtype_bits(llrt_dtype dtype) { return dtypes[index_of(dtype)].bits; }

llrt_status llrt_dtype_parse(const char *text, llrt_dtype *dtype) {
  LLRT_ENTRY();
  LLRT_REQUIRE(dtype, "dtype: NULL");
  *dtype = LLRT_DTYPE_NONE;
  LLRT_REQUIRE(text, "text: NULL");
  for (int i = LLRT_DTYPE_NONE + 1; i < LLRT_DTYPE_COUNT; i++)
    if (strcmp(dtypes[i].name, text) == 0) *dtype = (llrt_dtype)i;
  LLRT_REQUIRE(*dtype != LLRT_DTYPE_NONE, "unknown dtype '%.32s'", text);
  return LLRT_OK;
}
