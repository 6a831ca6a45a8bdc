/* Outputs whose storages fill extents up to whole tiles: what lies beyond the shape gets the value
 * that the storage says, with the same access that stores elements. */
#include "jit/plan/rows/rows.h"

#include "base/status.h"
#include "jit/plan/types/number.h"

#include <math.h>
#include <string.h>

bool rows_has_pads(const rows *r, int tensor) {
  bool has = false;
  for (int a = 0; a < r->program->rank; a++) has |= draft_stores_pads(&r->d, tensor, a);
  return has;
}

/* The number that is stored as this code. NaN where there is none. */
static double pad_number(llrt_dtype store, uint64_t code) {
  if (store == LLRT_E8M0) return code == 255 ? (double)NAN : ldexp(1, (int)code - 127);
  if (store == LLRT_BOOL) return code > 1 ? (double)NAN : (double)code;
  if (store == LLRT_I64 || store == LLRT_U64) return (double)(int64_t)code;
  return number_value(number_format_of(store), code);
}

/* The code in a type that is computed in. False where that has no such number. */
static bool code_in(llrt_dtype type, double number, int64_t *code) {
  float narrow = (float)number;
  uint32_t bits;
  if (isnan(number)) return false;
  if (type == LLRT_F64) {
    memcpy(code, &number, sizeof *code);
    return true;
  }
  *code = (int64_t)number;
  if (type != LLRT_F32) return (double)*code == number;
  memcpy(&bits, &narrow, sizeof bits);
  *code = bits;
  return (double)narrow == number;
}

llrt_status rows_fill_pads(rows *r, int tensor, int *value) {
  const program_tensor *own = &r->program->tensor[tensor];
  uint64_t pad = r->d.desc->tensors[tensor].storage->pad_value;
  llrt_dtype type = (llrt_dtype)r->program->node[own->node].type;
  int64_t code;
  if (!code_in(type, pad_number((llrt_dtype)own->store, pad), &code))
    return llrt_error(LLRT_UNSUPPORTED,
                      "an output's storage has pads of 0x%llx, which is no number that expressions "
                      "store there",
                      (unsigned long long)pad);
  if (type == LLRT_BOOL) type = LLRT_U32;
  for (int a = 0; a < r->program->rank; a++)
    if (draft_stores_pads(&r->d, tensor, a)) LLRT_TRY(rows_replace_beyond(r, a, type, code, value));
  return LLRT_OK;
}
