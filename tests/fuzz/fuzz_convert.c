/* Bytes as a conversion: a shape and two storages of families with parameters of their own, run on the device
 * that LLRT_FUZZ_DEVICE names (the host, unless said) and compared byte for byte with the conformance
 * suite's reference. Storages that the shape does not suit are refused by llrt, and no finding. */
#include "tests/conformance/conformance.h"
#include "tests/fuzz/fuzz.h"

#include <stdarg.h>
#include <string.h>

typedef struct text {
  char *at, *end;
} text;

static void say(text *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(text *to, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  to->at += vsnprintf(to->at, (size_t)(to->end - to->at), format, arguments);
  va_end(arguments);
  FUZZ_CHECK(to->at < to->end);
}

/* A power of two from two bits. */
static int power(uint8_t byte, int shift) { return 1 << (byte >> shift & 3); }

static void say_blocked(bytes *from, text *to) {
  uint8_t sizes = bytes_next(from), rest = bytes_next(from), first = bytes_next(from) & 1;
  int lanes = 1 << rest % 6, warps = 1 << (rest >> 3) % 3;
  say(to, "blocked(size_per_thread=[%d,%d], threads_per_warp=[%d,%d], warps_per_cta=[%d,%d], "
          "order=[%d,%d])",
      power(sizes, 0), power(sizes, 2), lanes, 32 / lanes, warps, 4 / warps, first, !first);
}

static void say_nvmma(bytes *from, text *to) {
  int warps = 1 << bytes_next(from) % 3;
  say(to, "nvmma(version=[2,0], warps_per_cta=[%d,%d], instr_shape=[16,8])", warps, 4 / warps);
}

/* Strides of a permutation of the axes, with gaps. */
static void say_strided(bytes *from, int rank, const int64_t *shape, text *to) {
  int order[4] = {0, 1, 2, 3};
  long long strides[4], next = 1;
  for (int i = rank - 1; i > 0; i--) {
    int other = bytes_next(from) % (i + 1), kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
  for (int i = 0; i < rank; i++) {
    strides[order[i]] = next;
    next = next * shape[order[i]] + (bytes_next(from) & 3);
  }
  say(to, "strided([");
  for (int i = 0; i < rank; i++) say(to, "%s%lld", i ? "," : "", strides[i]);
  say(to, "])");
}

static void say_storage(bytes *from, int rank, const int64_t *shape, text *to) {
  int kind = bytes_next(from) % (rank == 2 ? 8 : 4);
  switch (kind) {
    case 0: say(to, "row_major"); return;
    case 1: say(to, "col_major"); return;
    case 2:
    case 3: say_strided(from, rank, shape, to); return;
    case 4:
    case 5: say_blocked(from, to); return;
    case 6: say_nvmma(from, to); return;
    default:
      say(to, "dot(operand=%d, k_width=%d, parent=", bytes_next(from) & 1, 1 << bytes_next(from) % 3);
      say_nvmma(from, to);
      say(to, ")");
  }
}

/* Powers of two, as the families want, or any small extents. */
static void read_shape(bytes *from, conformance_case *made) {
  made->rank = 1 + bytes_next(from) % 3;
  bool powers = bytes_next(from) & 1;
  for (int axis = 0; axis < made->rank; axis++) {
    uint8_t byte = bytes_next(from);
    int64_t any = 1 + byte % (made->rank == 3 ? 24 : 150);
    made->shape[axis] = powers ? (int64_t)1 << byte % (made->rank == 3 ? 5 : 8) : any;
  }
}

static bool read_side(bytes *from, conformance_case *made, side *of, char written[512]) {
  text to = {written, written + 512};
  say_storage(from, made->rank, made->shape, &to);
  of->shift = bytes_next(from) % 4 == 0 ? bytes_next(from) % 16 : 0;
  return llrt_storage_parse(written, made->rank, made->shape, &of->storage) == LLRT_OK;
}

static llrt_device *open_device(void) {
  static llrt_context *context;
  static llrt_device *device;
  const char *name = getenv("LLRT_FUZZ_DEVICE");
  if (device) return device;
  FUZZ_CHECK(llrt_context_create(NULL, &context) == LLRT_OK);
  FUZZ_CHECK(llrt_device_open(context, name && *name ? name : "host", NULL, &device) == LLRT_OK);
  return device;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const llrt_dtype types[] = {LLRT_U8, LLRT_BF16, LLRT_F32, LLRT_I64};
  bytes from = {.data = data, .size = size};
  conformance_case tested = {.dtype = types[bytes_next(&from) % 4]};
  char why[1024], written[2][512];
  tested.route = (route)(bytes_next(&from) % ROUTE_COUNT);
  tested.data_seed = bytes_next(&from);
  read_shape(&from, &tested);
  if (!read_side(&from, &tested, &tested.source, written[0]) ||
      !read_side(&from, &tested, &tested.destination, written[1])) {
    return -1;
  }
  if (case_passes(&tested, open_device(), why, sizeof why)) return 0;
  fprintf(stderr, "%s [", llrt_dtype_name(tested.dtype));
  for (int axis = 0; axis < tested.rank; axis++) {
    fprintf(stderr, "%s%lld", axis ? "," : "", (long long)tested.shape[axis]);
  }
  fprintf(stderr, "]\n%s +%d\n%s +%d\n%s\n", written[0], tested.source.shift, written[1],
          tested.destination.shift, why);
  abort();
}
