/* .safetensors files: round trips, malformed headers, and damage at every byte. */
#include "memory_file.h"

#include "tools/common/safetensors.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#define MODEL LLRT_TEST_SOURCE_DIR "/examples/data/silero_vad_16k.safetensors"

static bool read_bytes(const void *data, size_t size, const char *name, array *out,
                       array_error *error) {
  FILE *file = memory_file_open(data, size);
  bool done = safetensors_read(file, name, out, error);
  fclose(file);
  return done;
}

static bool write_w(FILE *file, const array *a, array_error *error) {
  return safetensors_write(file, "layer.w", a, error);
}

/* A file with this header text and `data_bytes` bytes of data. */
static memory_file make_file(const char *header, size_t data_bytes) {
  size_t length = strlen(header);
  memory_file made = {calloc(8 + length + data_bytes, 1), 8 + length + data_bytes};
  made.data[0] = (char)(length & 0xff);
  made.data[1] = (char)(length >> 8);
  memcpy(made.data + 8, header, length);
  return made;
}

Test(safetensors, round_trip) {
  static const llrt_dtype dtypes[] = {
      LLRT_F64, LLRT_F32, LLRT_F16, LLRT_BF16, LLRT_E4M3, LLRT_E5M2, LLRT_E8M0, LLRT_I64,
      LLRT_I32, LLRT_I16, LLRT_I8,  LLRT_U64,  LLRT_U32,  LLRT_U16,  LLRT_U8,   LLRT_BOOL};
  for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
    for (int rank = 0; rank <= 3; rank++) {
      array a = memory_file_sample(dtypes[i], rank, (int64_t[]){2, 3, 5}), b;
      array_error error;
      memory_file file = memory_file_write(write_w, &a);
      cr_assert(read_bytes(file.data, file.size, "layer.w", &b, &error), "%s", error.text);
      cr_assert(memory_file_same(&a, &b), "%s rank %d", llrt_dtype_name(dtypes[i]), rank);
      array_destroy(&a);
      array_destroy(&b);
      free(file.data);
    }
  }
}

/* What is said of a tensor's storage comes back, whatever its name. */
Test(safetensors, storage) {
  array a = memory_file_sample(LLRT_F32, 1, (int64_t[]){6}), b;
  array_error error;
  static const int64_t shape[] = {2, 3};
  cr_assert(array_store_as(&a, "col_major", 2, shape, &error));
  memory_file file = memory_file_write(write_w, &a);
  cr_assert(read_bytes(file.data, file.size, "layer.w", &b, &error), "%s", error.text);
  cr_expect(memory_file_same(&a, &b));
  cr_assert_not_null(b.stored_as);
  cr_expect_str_eq(b.stored_as, "col_major");
  cr_expect_eq(b.logical_rank, 2);
  cr_expect_arr_eq(b.logical_shape, shape, sizeof shape);
  array_forget_storage(&b);
  cr_expect_null(b.stored_as);
  array_destroy(&a);
  array_destroy(&b);
  free(file.data);
}

Test(safetensors, unwritable_types) {
  static const llrt_dtype dtypes[] = {LLRT_U4, LLRT_I4, LLRT_B32};
  for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
    array a = memory_file_sample(dtypes[i], 1, (int64_t[]){2});
    array_error error;
    FILE *sink = fopen("/dev/null", "wb");
    cr_assert_not(safetensors_write(sink, "w", &a, &error));
    fclose(sink);
    array_destroy(&a);
  }
}

Test(safetensors, real_model) {
  array a;
  array_error error;
  FILE *file = fopen(MODEL, "rb");
  cr_assert_not_null(file);
  cr_assert(safetensors_read(file, "lstm_cell.weight_ih", &a, &error), "%s", error.text);
  cr_assert_eq(a.dtype, LLRT_F32);
  cr_assert(a.rank == 2 && a.shape[0] == 512 && a.shape[1] == 128);
  array_destroy(&a);
  rewind(file);
  cr_assert_not(safetensors_read(file, "lstm", &a, &error));
  cr_assert(strstr(error.text, "lstm_cell.weight_hh"), "the names are listed: %s", error.text);
  fclose(file);
}

#define TENSOR(dtype, shape, offsets) \
  "{\"w\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

/* w, and another tensor v of the same type and size. */
#define TWO(offsets, others) \
  "{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":" offsets "}," \
  "\"v\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":" others "}}"

/* w, behind metadata. */
#define WITH(metadata) \
  "{\"__metadata__\":" metadata ",\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}"

static const struct {
  const char *header, *name;
  size_t data_bytes;
  const char *why; /* part of the message; NULL: is read */
} headers[] = {
    {TENSOR("\"F32\"", "[2,3]", "[0,24]"), "w", 24, NULL},
    {TENSOR("\"F32\"", "[2,3]", "[8,32]"), "w", 32,
     "the bytes 0 to 8, before 'w', are no tensor's"},
    {TENSOR("\"F32\"", "[2,3]", "[0,24]"), "w", 40, "16 bytes follow the last tensor"},
    {TENSOR("\"F4\"", "[2,4]", "[0,4]"), "w", 4, NULL},
    {TENSOR("\"F4\"", "[3,3]", "[0,5]"), "w", 5, "no whole bytes"},
    {TENSOR("\"F8_E4M3FNUZ\"", "[4]", "[0,4]"), "w", 4, NULL},
    {TENSOR("\"F8_E5M2FNUZ\"", "[4]", "[0,4]"), "w", 4, NULL},
    {TWO("[0,4]", "[4,8]"), "w", 8, NULL},
    {TWO("[4,8]", "[0,4]"), "w", 8, NULL},
    {TWO("[0,4]", "[0,4]"), "w", 4, "overlap"},
    {TWO("[0,4]", "[2,6]"), "w", 6, "the tensors 'w' and 'v' overlap"},
    {TWO("[0,4]", "[6,10]"), "w", 10, "the bytes 4 to 6, before 'v', are no tensor's"},
    {TWO("[0,4]", "[4,12]"), "w", 8,
     "the tensor 'v' has no data_offsets within the file's 8 bytes"},
    {TWO("[0,4]", "null"), "w", 4, "the tensor 'v' has no data_offsets"},
    {TENSOR("\"F32\"", "[0,3]", "[0,0]"), "w", 0, NULL},
    {TENSOR("\"F32\"", "[2,3]", "[0,24]"), "v", 24, "has: w"},
    {"{\"__metadata__\":{\"format\":\"pt\"}}", "__metadata__", 0, "no tensor"},
    {WITH("{\"format\":\"pt\"}"), "w", 4, NULL},
    {WITH("{\"format\":1}"), "w", 4, "no text"},
    {WITH("[\"format\"]"), "w", 4, "no text"},
    {WITH("{\"llrt.storage.w\":\"col_major\",\"llrt.shape.w\":\"2x2\"}"), "w", 4, NULL},
    {WITH("{\"llrt.storage.w\":\"col_major\"}"), "w", 4,
     "llrt.shape.w of the metadata is no shape"},
    {WITH("{\"llrt.storage.w\":\"col_major\",\"llrt.shape.w\":\"2x\"}"), "w", 4, "no shape"},
    {TENSOR("\"F33\"", "[2,3]", "[0,24]"), "w", 24, "'F33'"},
    {TENSOR("7", "[2,3]", "[0,24]"), "w", 24, "no dtype"},
    {TENSOR("\"F32\"", "[2,-3]", "[0,24]"), "w", 24, "shape"},
    {TENSOR("\"F32\"", "[2,3.0]", "[0,24]"), "w", 24, "shape"},
    {TENSOR("\"F32\"", "6", "[0,24]"), "w", 24, "shape"},
    {TENSOR("\"F32\"", "[1,1,1,1,1,1,1,1,6]", "[0,24]"), "w", 24, "shape"},
    {TENSOR("\"F32\"", "[4611686018427387904,8]", "[0,24]"), "w", 24, "too large"},
    {TENSOR("\"F32\"", "[92233720368547758070]", "[0,24]"), "w", 24, "JSON"},
    {TENSOR("\"F32\"", "[2,3]", "[0,20]"), "w", 24, "span 20"},
    {TENSOR("\"F32\"", "[2,3]", "[4,28]"), "w", 24, "outside"},
    {TENSOR("\"F32\"", "[2,3]", "[24,0]"), "w", 24, "outside"},
    {TENSOR("\"F32\"", "[2,3]", "[-24,0]"), "w", 24, "data_offsets"},
    {TENSOR("\"F32\"", "[2,3]", "[0]"), "w", 24, "data_offsets"},
    {TENSOR("\"F32\"", "[2,3]", "[0,12,24]"), "w", 24, "data_offsets"},
    {"{\"w\":3}", "w", 0, "no dtype"},
    {"[1,2]", "w", 0, "no JSON object"},
    {"{\"w\":{},\"w\":{}}", "w", 0, "JSON"},
    {"{\"w\":", "w", 0, "JSON"},
    {"", "w", 0, "JSON"},
};

Test(safetensors, headers) {
  for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
    memory_file file = make_file(headers[i].header, headers[i].data_bytes);
    array a;
    array_error error = {""};
    bool done = read_bytes(file.data, file.size, headers[i].name, &a, &error);
    cr_expect_eq(done, headers[i].why == NULL, "%s: %s", headers[i].header, error.text);
    if (!done) {
      cr_expect(headers[i].why && strstr(error.text, headers[i].why), "%s: %s", headers[i].header,
                error.text);
      cr_expect_null(a.data);
    }
    array_destroy(&a);
    free(file.data);
  }
}

/* Of many names those are told that are nearest to the one that is asked for. */
Test(safetensors, many_names) {
  char header[32 * 600];
  size_t used = 0;
  array a;
  array_error error;
  for (int i = 0; i < 600; i++)
    used += (size_t)snprintf(header + used, sizeof header - used, "%s\"layer.%d.weight\":{}",
                             i ? "," : "{", i);
  snprintf(header + used, sizeof header - used, "}");
  memory_file file = make_file(header, 0);
  cr_assert_not(read_bytes(file.data, file.size, "layers.417.weigth", &a, &error));
  cr_assert(
      strstr(
          error.text,
          "there is no tensor 'layers.417.weigth'; of its 600 the nearest are: layer.417.weight "),
      "%s", error.text);
  cr_assert(strlen(error.text) < 200, "%s", error.text);
  cr_assert_not(read_bytes(file.data, file.size, "599", &a, &error));
  cr_assert(strstr(error.text, "nearest are: layer.599.weight "), "%s", error.text);
  free(file.data);
}

Test(safetensors, truncated) {
  array a = memory_file_sample(LLRT_F32, 2, (int64_t[]){3, 4}), b;
  array_error error;
  memory_file file = memory_file_write(write_w, &a);
  for (size_t size = 0; size < file.size; size++)
    cr_assert_not(read_bytes(file.data, size, "layer.w", &b, &error), "%zu bytes are read", size);
  array_destroy(&a);
  free(file.data);
}

/* Whatever one byte becomes, the file is refused or read; the sanitizers watch. */
Test(safetensors, flipped_bytes) {
  array a = memory_file_sample(LLRT_F32, 2, (int64_t[]){3, 4}), b;
  array_error error;
  memory_file file = memory_file_write(write_w, &a);
  for (size_t at = 0; at < file.size - a.bytes; at++) {
    char kept = file.data[at];
    for (int value = 0; value < 256; value++) {
      file.data[at] = (char)value;
      bool done = read_bytes(file.data, file.size, "layer.w", &b, &error);
      cr_assert(!done || b.bytes <= a.bytes, "byte %zu as %d", at, value);
      array_destroy(&b);
    }
    file.data[at] = kept;
  }
  array_destroy(&a);
  free(file.data);
}
