#include "tests/fuzz/convert_case.h"

#include <string.h>

#define MOST_ELEMENTS (1 << 16) /* places of either tensor */

/* ---- shapes ---- */

/* Powers of two, as the families want, any small extents, some such as tiles of a few positions divide, and tiny ones; now and
 * then none. */
static int64_t read_extent(bytes *from, int rank, int kind) {
  uint8_t byte = bytes_next(from);
  if (bytes_next(from) % 64 == 0) return 0;
  switch (kind) {
    case 0: return (int64_t)1 << byte % (rank > 2 ? 5 : 8);
    case 1: return 1 + byte % (rank > 2 ? 24 : 150);
    case 2: return 2 * (1 + byte % (rank > 2 ? 12 : 75));
    case 3: return ((int64_t)8 << byte % 3) * (1 + byte / 4 % (rank > 2 ? 2 : 6));
    default: return 1 + byte % 9;
  }
}

static void read_shape(bytes *from, conformance_case *made) {
  uint8_t byte = bytes_next(from);
  int kind = bytes_next(from) % 5;
  made->rank = byte % 16 == 0 ? 0 : byte % 16 < 3 ? 1 : byte % 16 < 11 ? 2 : byte % 16 < 14 ? 3 : 4;
  for (int axis = 0; axis < made->rank; axis++)
    made->shape[axis] = read_extent(from, made->rank, bytes_next(from) % 4 ? kind : 2);
}

/* ---- types ---- */

static const llrt_dtype moved[] = {LLRT_U8,  LLRT_BF16, LLRT_F32, LLRT_I64,  LLRT_U4, LLRT_E2M1,
                                   LLRT_I4,  LLRT_B4,   LLRT_U4,  LLRT_B128, LLRT_E2M1, LLRT_F16};
#define N_MOVED (sizeof moved / sizeof *moved)
static const llrt_dtype numbers[] = {LLRT_F64, LLRT_F32,  LLRT_F16, LLRT_BF16, LLRT_E4M3, LLRT_E5M2,
                                     LLRT_E2M1, LLRT_I32, LLRT_I8,  LLRT_U8,   LLRT_I4,   LLRT_U4};
#define N_NUMBERS (sizeof numbers / sizeof *numbers)

/* Most keep their type; some XOR a constant, some are cast. */
static void read_types(bytes *from, conformance_case *made) {
  uint8_t kind = bytes_next(from);
  made->dtype = moved[bytes_next(from) % N_MOVED];
  if (kind % 8 == 0) {
    made->dtype = numbers[bytes_next(from) % N_NUMBERS];
    made->to = numbers[bytes_next(from) % N_NUMBERS];
    if (made->to == made->dtype) made->to = LLRT_DTYPE_NONE;
  }
  if (kind % 8 == 1) {
    uint64_t constant = bytes_next(from) * 0x0101010101010101u;
    made->maps[made->n_maps++] = (llrt_map){.kind = LLRT_MAP_XOR, .constant = constant};
  }
}

/* ---- storages ---- */

static bool read_side(bytes *from, conformance_case *made, llrt_dtype dtype, side *of, char text[STORAGE_TEXT_BYTES]) {
  int bits = llrt_dtype_bits(dtype);
  llrt_storage_binding binding;
  storage_text_make(from, made->rank, made->shape, bits, of->strides, text);
  of->shift = bytes_next(from) % 4 == 0 ? bytes_next(from) % 16 : 0;
  if (bits < 8) of->shift &= ~1; /* bases are bytes */
  if (llrt_storage_parse(text, made->rank, made->shape, &of->storage) != LLRT_OK) return false;
  if (of->storage.n_targets > 0) return false;
  if (llrt_storage_bind(&of->storage, made->rank, made->shape, of->strides, &binding) != LLRT_OK) return false;
  return binding.span <= MOST_ELEMENTS;
}

bool convert_case_make(bytes *from, conformance_case *made, char text[2][STORAGE_TEXT_BYTES]) {
  *made = (conformance_case){.n_maps = 0};
  made->route = (route)(bytes_next(from) % ROUTE_COUNT);
  made->data_seed = bytes_next(from);
  read_types(from, made);
  read_shape(from, made);
  return read_side(from, made, made->dtype, &made->source, text[0]) &&
         read_side(from, made, result_type(made), &made->destination, text[1]);
}

/* ---- what may be refused ---- */

bool convert_case_may_be_refused(const char *why) {
  static const char *const limits[] = {
      "a digit that counts down from a place that only a run knows",
      "destination's pad value",           /* what is no value of the source */
      "128-bit elements: other values", /* of pads */
      "XOR of 128-bit elements",
  };
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
    if (strstr(why, limits[i])) return true;
  return false;
}
