/* Conversions in place, against the same conversion into memory of its own, on the host and on
 * emulated devices; and what is refused, with the reason. */
#include "runtime/described.h"

#include <llrt/llrt.h>

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const char *const devices[] = {"host", "cuda-emu:sm_80", "cuda-emu:sm_90a",
                                      "hip-emu:gfx90a"};

#define SUMS_OF_8 \
  "{register: [[0,0,0,0,1,0,0,0]], lane: " \
  "[[1,0,0,0,0,0,0,0],[0,0,1,0,0,2,0,0],[0,0,0,1,0,0,0,0]], warp: [], " \
  "block: " \
  "[[0,0,0,0,2,0,0,0],[0,0,0,0,0,1,0,0],[0,0,0,0,0,2,0,0],[0,0,0,0,4,0,0,0],[0,0,2,0,0,0,0,0]]} " \
  "-> " \
  "[dim2:2, dim7:1, dim3:4, dim4:2, dim5:8, dim6:4, dim1:1, dim0:1]"
#define SUMS_OF_3 \
  "{register: [[0,1,0],[0,16,0]], lane: " \
  "[[1,0,2],[2,0,0],[0,0,1],[0,2,0],[0,8,0],[0,32,0],[0,8,4],[4,0,0]," \
  "[0,6,0]], warp: [[0,0,2]]} -> [dim1:8, dim2:64, dim0:8]"

typedef struct row {
  const char *from, *to;
  llrt_dtype dtype;
  int rank;
  int64_t shape[LLRT_MAX_RANK];
  uint64_t xor_with;
  const char *reason; /* NULL: it works */
} row;

static const row rows[] = {
    {"row_major", "col_major", LLRT_U8, 2, {48, 40}, 0, NULL},
    {"row_major", "col_major", LLRT_F32, 2, {64, 64}, 0, NULL},
    {"row_major", "aiter_16x16(element_bits=8)", LLRT_U8, 2, {64, 192}, 0, NULL},
    {"aiter_16x16(element_bits=16)", "row_major", LLRT_BF16, 2, {64, 352}, 0, NULL},
    {"row_major", "aiter_16x16(element_bits=16)", LLRT_BF16, 2, {32, 7168 / 8}, 0x8000, NULL},
    {"row_major", "scale_128x4", LLRT_U8, 2, {384, 12}, 0, NULL},
    {"scale_128x4", "row_major", LLRT_U8, 2, {256, 20}, 0, NULL},
    {"row_major", "hipblaslt_col16_4r8", LLRT_BF16, 2, {64, 160}, 0, NULL},
    {"row_major", "shuffle_matrix_a_16(row=90)", LLRT_F16, 2, {64, 90}, 0, NULL},
    {"row_major", "channels_last", LLRT_I16, 4, {5, 12, 7, 9}, 0, NULL},
    {"strided([72,1])", "strided([72,4])", LLRT_U8, 2, {20, 18}, 0, NULL},
    {"row_major", "row_major", LLRT_I64, 2, {33, 3}, 0x55, NULL},
    {"row_major", "col_major", LLRT_E2M1, 2, {32, 48}, 0, NULL},
    {"row_major", "gptq_w4", LLRT_U4, 2, {64, 24}, 0, NULL},
    {"row_major", "awq_w4", LLRT_U4, 2, {24, 64}, 0x8, NULL},
    {"row_major", "marlin_w4", LLRT_U4, 2, {48, 192}, 0, NULL},
    /* lanes at banks of their own: places in another order, rows that are skewed */
    {"marlin_w4", "gptq_w4", LLRT_U4, 2, {32, 1024}, 0, NULL},
    {"marlin_w4", "awq_w4", LLRT_U4, 2, {32, 448}, 0x3, NULL},
    {"awq_w4", "marlin_w4", LLRT_U4, 2, {32, 1792}, 0, NULL},
    {"gptq_w4", "marlin_w4", LLRT_U4, 2, {48, 448}, 0, NULL},
    {"row_major", "col_major", LLRT_U8, 2, {256, 128}, 0, NULL},
    {"row_major", "col_major", LLRT_U16, 2, {96, 128}, 0, NULL},
    /* panels beside each other are one */
    {"row_major",
     "storage(rank=2, digits=[dim1: 8 @ 8, dim1: 8 @ 1, dim1: rest @ 64, dim0: rest @ 448])",
     LLRT_F16,
     2,
     {6, 448},
     0,
     NULL},
    {"storage(rank=2, digits=[dim1: 8 @ 8, dim1: 8 @ 1, dim1: rest @ 64, dim0: rest @ 1024])",
     "row_major",
     LLRT_BF16,
     2,
     {5, 1024},
     0,
     NULL},
    /* columns that are sums of bits: a panel ends with its last element, not with the bits of all
       columns */
    {SUMS_OF_8, "row_major", LLRT_U64, 8, {1, 1, 2, 4, 2, 8, 4, 1}, 0, NULL},
    {SUMS_OF_8, "row_major", LLRT_B128, 8, {1, 1, 2, 4, 2, 8, 4, 1}, 0, NULL},
    /* digits that overhang the source: the last panel ends where the tensor does */
    {"storage(rank=3, digits=[dim2: rest, dim1: rest, dim0: rest @ 2563])",
     "storage(rank=3, digits=[dim0: 2, dim2: rest, dim0: rest, dim1: rest], pad=keep)",
     LLRT_U8,
     3,
     {13, 32, 16},
     0,
     NULL},
    {"row_major",
     "storage(rank=2, digits=[dim0: 4, dim1: rest, dim0: rest], pad=keep)",
     LLRT_U4,
     2,
     {7, 6},
     0,
     NULL},
    {"storage(rank=2, digits=[dim0: 2, dim0: rest, dim1: rest], pad=keep)",
     "row_major",
     LLRT_B128,
     2,
     {1, 2},
     0,
     NULL},
    {"row_major",
     "storage(rank=2, digits=[dim0: 4, dim1: rest, dim0: rest], pad=keep)",
     LLRT_B128,
     2,
     {7, 6},
     0,
     NULL},
    {SUMS_OF_3, "turbomind_w4", LLRT_I16, 3, {8, 8, 64}, 0, NULL},
    {"row_major", "col_major", LLRT_I4, 2, {1024, 512}, 0, "shared memory"},
    {"row_major", "col_major", LLRT_B128, 2, {12, 10}, 0, NULL},
    {"row_major", "col_major", LLRT_F64, 2, {512, 512}, 0, "shared memory"},
    {"row_major", "w31_rows(half=24)", LLRT_U8, 2, {48, 16}, 0, "different offsets"},
    /* strides that the tensor brings */
    {"row_major", "strided(null)", LLRT_U8, 2, {8, 8}, 0, NULL},
    {"strided(null)", "col_major", LLRT_U16, 2, {6, 8}, 0, NULL},
    {"storage(rank=2, digits=[dim1: 4 @ runtime, dim0: rest @ runtime, dim1: rest @ runtime])",
     "row_major",
     LLRT_F32,
     2,
     {5, 8},
     0,
     NULL},
    {"storage(rank=2, digits=[dim1: rest reversed @ runtime, dim0: rest @ runtime])",
     "row_major",
     LLRT_F32,
     2,
     {5, 8},
     0,
     "different offsets"},
    {"storage(rank=2, digits=[dim1: rest reversed @ runtime, dim0: rest @ runtime])",
     "storage(rank=2, digits=[dim1: 4 reversed, dim1: rest reversed, dim0: rest])",
     LLRT_F32,
     2,
     {5, 8},
     0,
     "counts down"},
};

typedef struct fixture {
  llrt_context *context;
  llrt_device *device;
  llrt_storage storage[2];
  llrt_tensor tensor[2];
  size_t bytes[2], most;
} fixture;

static void describe(fixture *at, const row *r) {
  at->most = 0;
  for (int i = 0; i < 2; i++) {
    const char *text = i ? r->to : r->from;
    if (strcmp(text, "strided(null)") == 0)
      cr_assert_eq(llrt_storage_strided(r->rank, NULL, &at->storage[i]), LLRT_OK);
    else
      cr_assert_eq(llrt_storage_parse(text, r->rank, r->shape, &at->storage[i]), LLRT_OK, "%s: %s",
                   text, llrt_last_error());
    at->tensor[i] = (llrt_tensor){.dtype = r->dtype,
                                  .rank = r->rank,
                                  .strides = {8, 1},
                                  .storage = &at->storage[i],
                                  .device = at->device};
    memcpy(at->tensor[i].shape, r->shape, sizeof r->shape);
    cr_assert_eq(llrt_tensor_bytes(&at->tensor[i], &at->bytes[i]), LLRT_OK, "%s",
                 llrt_last_error());
    if (at->bytes[i] > at->most) at->most = at->bytes[i];
  }
}

static void *device_memory(fixture *at, const unsigned char *content) {
  void *memory;
  cr_assert_eq(llrt_memory_allocate(at->device, at->most, &memory), LLRT_OK);
  cr_assert_eq(llrt_memory_copy(at->device, memory, content, at->most, LLRT_COPY_TO_DEVICE, NULL),
               LLRT_OK);
  return memory;
}

static void read_back(fixture *at, void *memory, unsigned char *content) {
  cr_assert_eq(llrt_memory_copy(at->device, content, memory, at->most, LLRT_COPY_FROM_DEVICE, NULL),
               LLRT_OK);
  cr_assert_eq(llrt_stream_synchronize(at->device, NULL), LLRT_OK, "%s", llrt_last_error());
}

static llrt_status convert(fixture *at, const row *r, void *source, void *destination) {
  const llrt_map map = {.kind = LLRT_MAP_XOR, .constant = r->xor_with};
  llrt_convert_params params = {.n_maps = r->xor_with != 0, .maps = &map};
  at->tensor[0].data = source;
  at->tensor[1].data = destination;
  return llrt_convert_into(&at->tensor[0], &at->tensor[1], &params, NULL);
}

/* Where the destination has no element, both keep what was there: the source's own bytes. Each row
 * has others, so that none finds its own in shared memory that another has left. */
static void check_row(fixture *at, const row *r, const char *device) {
  describe(at, r);
  unsigned char *content = malloc(at->most), *wanted = malloc(at->most), *got = malloc(at->most);
  for (size_t i = 0; i < at->most; i++)
    content[i] = (unsigned char)((i + 977 * (size_t)(r - rows)) * 2654435761u >> 13);
  void *source = device_memory(at, content), *apart = device_memory(at, content);
  llrt_status status = convert(at, r, source, source);
  if (r->reason) {
    cr_expect_eq(status, LLRT_UNSUPPORTED, "%s to %s", r->from, r->to);
    cr_expect(strstr(llrt_last_error(), r->reason), "%s", llrt_last_error());
  } else {
    cr_assert_eq(status, LLRT_OK, "%s: %s to %s: %s", device, r->from, r->to, llrt_last_error());
    read_back(at, source, got);
    void *second = device_memory(at, content);
    cr_assert_eq(convert(at, r, second, apart), LLRT_OK, "%s", llrt_last_error());
    read_back(at, apart, wanted);
    cr_expect_eq(memcmp(got, wanted, at->bytes[1]), 0, "%s: %s to %s", device, r->from, r->to);
    llrt_memory_free(at->device, second);
  }
  llrt_memory_free(at->device, source);
  llrt_memory_free(at->device, apart);
  free(content);
  free(wanted);
  free(got);
}

static const llrt_context_params context_params = {.jit_library = LLRT_TEST_JIT_LIBRARY};

static void check_device(const char *name) {
  fixture at;
  cr_assert_eq(llrt_context_create(&context_params, &at.context), LLRT_OK);
  cr_assert_eq(llrt_device_open(at.context, name, NULL, &at.device), LLRT_OK, "%s",
               llrt_last_error());
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_row(&at, &rows[i], name);
  llrt_device_close(&at.device);
  llrt_context_destroy(&at.context);
}

Test(in_place, every_device) {
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) check_device(devices[i]);
}

/* Prepared operations do not know strides that tensors bring. */
Test(in_place, prepared_of_any_strides) {
  fixture at;
  llrt_op *op;
  const row r = {"row_major", "strided(null)", LLRT_U8, 2, {8, 8}, 0, NULL};
  cr_assert_eq(llrt_context_create(&context_params, &at.context), LLRT_OK);
  cr_assert_eq(llrt_device_open(at.context, "host", NULL, &at.device), LLRT_OK);
  describe(&at, &r);
  unsigned char data[64] = {0};
  for (int i = 0; i < 2; i++) at.tensor[i].data = data;
  op_description desc = {.kind = LLRT_OP_CONVERT,
                         .n_tensors = 2,
                         .in_place = true,
                         .tensors = {at.tensor[0], at.tensor[1]}};
  cr_assert_eq(described_promise(&desc), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(described_prepare(at.device, &desc, &op), LLRT_UNSUPPORTED);
  cr_expect(strstr(llrt_last_error(), "strides"), "%s", llrt_last_error());
  llrt_device_close(&at.device);
  llrt_context_destroy(&at.context);
}

/* Prepared operations say so beforehand, are saved with it, and take no tensors apart. */
Test(in_place, prepared_and_saved) {
  fixture at;
  cr_assert_eq(llrt_context_create(&context_params, &at.context), LLRT_OK);
  cr_assert_eq(llrt_device_open(at.context, "host", NULL, &at.device), LLRT_OK);
  describe(&at, &rows[0]);
  unsigned char data[2][4096] = {{0}}, saved[65536];
  size_t size = sizeof saved;
  for (int i = 0; i < 2; i++) at.tensor[i].data = data[0];
  op_description desc = {.kind = LLRT_OP_CONVERT,
                         .n_tensors = 2,
                         .in_place = true,
                         .tensors = {at.tensor[0], at.tensor[1]}};
  llrt_op *op, *loaded;
  cr_assert_eq(described_promise(&desc), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(described_prepare(at.device, &desc, &op), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_op_save(op, saved, &size), LLRT_OK);
  cr_assert_eq(llrt_op_load(at.device, saved, size, &loaded), LLRT_OK, "%s", llrt_last_error());
  data[0][1] = 7; /* row 0, column 1 */
  cr_expect_eq(llrt_op_run(loaded, NULL, at.tensor, 2, NULL), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(data[0][48], 7, "column-major: a column has 48 rows");
  at.tensor[1].data = data[1];
  cr_expect_eq(llrt_op_run(op, NULL, at.tensor, 2, NULL), LLRT_INVALID_ARGUMENT);
  llrt_op_destroy(&op);
  llrt_op_destroy(&loaded);
  llrt_device_close(&at.device);
  llrt_context_destroy(&at.context);
}

/* sm_80 on a device of compute capability 8.6: what fits 163 KiB, but not 99, is refused when it is
 * planned there, and as bytes that were made for the target's name. */
Test(in_place, a_smaller_devices_shared_memory) {
  static const row matrix = {"row_major", "col_major", LLRT_U16, 2, {256, 256}, 0, NULL};
  static const row refused = {"row_major",
                              "col_major",
                              LLRT_U16,
                              2,
                              {256, 256},
                              0,
                              "131072 bytes, a block's shared memory 101376"};
  fixture at;
  cr_assert_eq(llrt_context_create(&context_params, &at.context), LLRT_OK);
  cr_assert_eq(llrt_device_open(at.context, "cuda-emu:sm_80", NULL, &at.device), LLRT_OK, "%s",
               llrt_last_error());
  check_row(&at, &matrix, "163 KiB");
  llrt_device_close(&at.device);
  setenv("LLRT_EMU_SHARED_KIB", "99", 1);
  cr_assert_eq(llrt_device_open(at.context, "cuda-emu:sm_80", NULL, &at.device), LLRT_OK, "%s",
               llrt_last_error());
  check_row(&at, &refused, "99 KiB");
  op_description desc = {.kind = LLRT_OP_CONVERT,
                         .n_tensors = 2,
                         .in_place = true,
                         .tensors = {at.tensor[0], at.tensor[1]}};
  char *bytes;
  size_t size;
  llrt_op *op;
  cr_assert_eq(described_promise(&desc), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(described_compile(at.context, "sm_80", &desc, LLRT_EMIT_KERNEL, &bytes, &size),
               LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(llrt_op_load(at.device, bytes, size, &op), LLRT_UNSUPPORTED);
  cr_expect(strstr(llrt_last_error(), "101376"), "%s", llrt_last_error());
  llrt_buffer_free(&bytes);
  llrt_device_close(&at.device);
  llrt_context_destroy(&at.context);
}
