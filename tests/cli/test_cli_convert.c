/* `llrt convert` on the host: results against plain C, and what is refused with nothing written. */
#include "tool_run.h"

#include "tools/common/array_file.h"

#include <llrt/llrt.h>

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define MODEL LLRT_TEST_SOURCE_DIR "/examples/data/silero_vad_16k.safetensors"
#define NVMMA "nvmma(version=[2,0], warps_per_cta=[2,1], instr_shape=[16,8])"

/* An array numbered through from 1 by its elements' bytes, in a file. */
static array write_sample(const char *name, llrt_dtype dtype, int rank, const int64_t *shape,
                          bool col_major) {
  array a;
  array_error error;
  cr_assert(array_create(dtype, rank, shape, &a, &error), "%s", error.text);
  for (size_t i = 0; i < a.bytes; i++)
    ((unsigned char *)a.data)[i] = (unsigned char)(i * 2654435761u >> 13);
  a.col_major = col_major;
  cr_assert(array_write(name, &a, &error), "%s", error.text);
  return a;
}

/* Whether destination(x) = source(x) for all x of shape, both storages given as expressions. */
static bool agrees(const array *source, const char *from, const array *destination, const char *to,
                   int rank, const int64_t *shape) {
  llrt_storage a, b;
  llrt_storage_binding bind_a, bind_b;
  size_t width = (size_t)llrt_dtype_bits(source->dtype) / 8;
  int64_t coords[2];
  cr_assert_eq(rank, 2);
  cr_assert_eq(llrt_storage_parse(from, rank, shape, &a), LLRT_OK);
  cr_assert_eq(llrt_storage_parse(to, rank, shape, &b), LLRT_OK);
  cr_assert_eq(llrt_storage_bind(&a, rank, shape, NULL, &bind_a), LLRT_OK);
  cr_assert_eq(llrt_storage_bind(&b, rank, shape, NULL, &bind_b), LLRT_OK);
  for (coords[0] = 0; coords[0] < shape[0]; coords[0]++) {
    for (coords[1] = 0; coords[1] < shape[1]; coords[1]++) {
      size_t i = (size_t)llrt_storage_offset(&a, &bind_a, coords);
      size_t o = (size_t)llrt_storage_offset(&b, &bind_b, coords);
      if (memcmp((char *)source->data + i * width, (char *)destination->data + o * width, width))
        return false;
    }
  }
  return true;
}

TestSuite(cli_convert, .init = tool_folder_enter, .fini = tool_folder_leave);

static const struct {
  llrt_dtype dtype;
  int64_t rows, columns;
  const char *to;
} pairs[] = {
    {LLRT_U8, 64, 32, "col_major"},
    {LLRT_F16, 64, 32, "col_major"},
    {LLRT_F32, 64, 32, "col_major"},
    {LLRT_I64, 64, 32, "col_major"},
    {LLRT_F32, 64, 32, NVMMA},
    {LLRT_U8, 128, 64, NVMMA},
    {LLRT_F32, 33, 65, "col_major"},
    {LLRT_BOOL, 1, 7, "col_major"},
    {LLRT_F32, 64, 32, "row_major"},
    {LLRT_U16, 16, 8, "strided([8,1])"},
    {LLRT_U16, 128, 128, "dot(operand=0, k_width=2, parent=" NVMMA ")"},
};

/* There, and back with --from, whatever the layout. */
Test(cli_convert, there_and_back) {
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    char line[512];
    int64_t shape[2] = {pairs[i].rows, pairs[i].columns};
    array in = write_sample("in.npy", pairs[i].dtype, 2, shape, false);
    snprintf(line, sizeof line, "convert in.npy --to '%s' --device host -o out.npy", pairs[i].to);
    tool_run_quietly(line);
    array out = tool_array_read("out.npy");
    bool shaped = strcmp(pairs[i].to, "row_major") == 0;
    cr_expect_eq(out.dtype, in.dtype);
    cr_expect_eq(out.rank, shaped ? 2 : 1, "%s", line);
    cr_expect(agrees(&in, "row_major", &out, pairs[i].to, 2, shape), "%s", line);

    snprintf(line, sizeof line,
             "convert out.npy --from '%s' --shape %dx%d --to row_major --device host -o back.npy",
             pairs[i].to, (int)shape[0], (int)shape[1]);
    tool_run_quietly(line);
    array back = tool_array_read("back.npy");
    cr_expect(back.rank == 2 && back.shape[0] == shape[0] && back.shape[1] == shape[1]);
    cr_expect(back.bytes == in.bytes && memcmp(back.data, in.data, in.bytes) == 0, "%s", line);
    array_destroy(&in);
    array_destroy(&out);
    array_destroy(&back);
  }
}

Test(cli_convert, fortran_order_is_col_major) {
  int64_t shape[2] = {16, 8};
  array in = write_sample("in.npy", LLRT_F32, 2, shape, true);
  tool_run_quietly("convert in.npy --to row_major --device host -o out.npy");
  array out = tool_array_read("out.npy");
  cr_expect(out.rank == 2 && out.shape[0] == 16 && out.shape[1] == 8 && !out.col_major);
  cr_expect(agrees(&in, "col_major", &out, "row_major", 2, shape));
  array_destroy(&in);
  array_destroy(&out);
}

/* A literal brings its shape, as --from and as --to. */
Test(cli_convert, literal) {
  static const unsigned char expected[8] = {0, 4, 1, 5, 2, 6, 3, 7};
  array_error error;
  array in;
  cr_assert(array_create(LLRT_U8, 1, (int64_t[]){8}, &in, &error));
  for (int i = 0; i < 8; i++) ((unsigned char *)in.data)[i] = (unsigned char)i;
  cr_assert(array_write("in.npy", &in, &error));
  tool_run_quietly("convert in.npy --from '{offset: [[1],[2],[4]]} -> [dim0:8]' --device host"
                   " --to '{offset: [[4],[1],[2]]} -> [dim0:8]' -o out.npy");
  array out = tool_array_read("out.npy");
  cr_expect_arr_eq(out.data, expected, 8);
  array_destroy(&in);
  array_destroy(&out);
}

/* Gaps of a destination stay zero, and zero columns make copies. */
Test(cli_convert, gaps_and_copies) {
  int64_t shape[2] = {4, 8};
  array in = write_sample("in.npy", LLRT_U8, 2, shape, false);
  tool_run_quietly("convert in.npy --to 'strided([10,1])' --device host -o gaps.npy");
  array out = tool_array_read("gaps.npy");
  cr_assert_eq(out.bytes, 38);
  for (int i = 0; i < 38; i++) {
    unsigned char want = i % 10 < 8 ? ((unsigned char *)in.data)[i / 10 * 8 + i % 10] : 0;
    cr_expect_eq(((unsigned char *)out.data)[i], want, "byte %d", i);
  }
  array_destroy(&out);
  tool_run_quietly("convert in.npy --shape 32 --device host -o twice.npy"
                   " --to '{offset: [[1],[2],[4],[0],[8],[16]]} -> [dim0:32]'");
  out = tool_array_read("twice.npy");
  cr_assert_eq(out.bytes, 64);
  for (int i = 0; i < 64; i++)
    cr_expect_eq(((unsigned char *)out.data)[i], ((unsigned char *)in.data)[i % 8 + i / 16 * 8],
                 "byte %d", i);
  array_destroy(&out);
  array_destroy(&in);
}

Test(cli_convert, dtype_reads_bytes_anew) {
  array in = write_sample("in.npy", LLRT_U16, 2, (int64_t[]){16, 8}, false);
  tool_run_quietly("convert in.npy --dtype bf16 --to row_major --device host -o new.safetensors:w");
  array out = tool_array_read("new.safetensors:w");
  cr_expect(out.dtype == LLRT_BF16 && out.rank == 2 && out.shape[1] == 8);
  array_destroy(&out);
  tool_run_quietly("convert in.npy --dtype u8 --to row_major --device host -o bytes.npy");
  out = tool_array_read("bytes.npy");
  cr_expect(out.dtype == LLRT_U8 && out.shape[0] == 16 && out.shape[1] == 16);
  cr_expect_arr_eq(out.data, in.data, in.bytes);
  array_destroy(&out);
  array_destroy(&in);
}

Test(cli_convert, empty_tensors) {
  array in = write_sample("in.npy", LLRT_F32, 2, (int64_t[]){0, 4}, false);
  tool_run_quietly("convert in.npy --to row_major --device host -o out.npy");
  array out = tool_array_read("out.npy");
  cr_expect(out.rank == 2 && out.shape[0] == 0 && out.shape[1] == 4);
  array_destroy(&out);
  array_destroy(&in);
}

/* Real weights, on whatever device is best here. */
Test(cli_convert, model_on_the_best_device) {
  tool_run_quietly("convert " MODEL ":lstm_cell.weight_ih --to col_major -o out.npy");
  array in = tool_array_read(MODEL ":lstm_cell.weight_ih");
  array out = tool_array_read("out.npy");
  cr_expect(agrees(&in, "row_major", &out, "col_major", 2, in.shape));
  array_destroy(&in);
  array_destroy(&out);
}

#define SWAPPED_BYTES \
  "8,9,10,11,12,13,14,15,0,1,2,3,4,5,6,7,24,25,26,27,28,29,30,31,16,17,18,19,20,21,22,23"

/* Maps act on the way: XOR, a cast, bits of words. */
Test(cli_convert, maps) {
  array_error error;
  array in;
  cr_assert(array_create(LLRT_U8, 2, (int64_t[]){8, 16}, &in, &error));
  for (int i = 0; i < 128; i++) ((unsigned char *)in.data)[i] = (unsigned char)(2 * i + 1);
  cr_assert(array_write("in.npy", &in, &error));
  tool_run_quietly(
      "convert in.npy --to col_major --xor 0x88 --out-dtype f32 --device host -o out.npy");
  array out = tool_array_read("out.npy");
  cr_assert_eq(out.dtype, LLRT_F32);
  for (int i = 0; i < 128; i++)
    cr_expect_eq(((float *)out.data)[i % 16 * 8 + i / 16], (float)((2 * i + 1) ^ 0x88));
  array_destroy(&out);
  array scale;
  cr_assert(array_create(LLRT_U8, 2, (int64_t[]){1, 4}, &scale, &error));
  for (int i = 0; i < 4; i++) ((unsigned char *)scale.data)[i] = (unsigned char)(126 + i);
  cr_assert(array_write("s.npy", &scale, &error));
  tool_run_quietly(
      "convert in.npy --to col_major --scale s.npy --out-dtype f32 --device host -o out.npy");
  out = tool_array_read("out.npy");
  for (int i = 0; i < 128; i++)
    cr_expect_eq(((float *)out.data)[i % 16 * 8 + i / 16],
                 (float)((2 * i + 1) & 255) * (float)(1 << i % 16 / 4) / 2);
  array_destroy(&out);
  array_destroy(&scale);
  tool_expect_failure("convert in.npy --shape 16x8 --to row_major --scale in.npy -o out2.npy", 1,
                      "does not divide");
  tool_run_quietly("convert in.npy --to row_major --word-bits " SWAPPED_BYTES
                   " --device host -o out.npy");
  out = tool_array_read("out.npy");
  for (int i = 0; i < 128; i++)
    cr_expect_eq(((unsigned char *)out.data)[i], ((unsigned char *)in.data)[i ^ 1]);
  array_destroy(&out);
  tool_run_quietly("convert in.npy --to row_major --dtype e4m3 --out-dtype bf16 --device host"
                   " -o new.safetensors:w");
  out = tool_array_read("new.safetensors:w");
  cr_expect(out.dtype == LLRT_BF16 && out.shape[1] == 16);
  cr_expect_eq(((uint16_t *)out.data)[28], 0x3F90, "0x39 is 1.125"); /* element 28 is 57 */
  array_destroy(&out);
  array_destroy(&in);
}

/* MXFP4: two numbers of 4 bits a byte, with a scale for 32 along the last axis. */
Test(cli_convert, mxfp4) {
  static const float magnitude[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  array_error error;
  array in, scale;
  cr_assert(array_create(LLRT_U8, 2, (int64_t[]){8, 32}, &in, &error));
  for (int i = 0; i < 256; i++) ((unsigned char *)in.data)[i] = (unsigned char)i;
  cr_assert(array_write("in.npy", &in, &error));
  cr_assert(array_create(LLRT_U8, 2, (int64_t[]){8, 2}, &scale, &error));
  for (int i = 0; i < 16; i++) ((unsigned char *)scale.data)[i] = (unsigned char)(120 + i);
  cr_assert(array_write("s.npy", &scale, &error));
  tool_run_quietly("convert in.npy --dtype e2m1 --to row_major --scale s.npy --out-dtype f32"
                   " --device host -o out.npy");
  array out = tool_array_read("out.npy");
  cr_assert(out.dtype == LLRT_F32 && out.shape[0] == 8 && out.shape[1] == 64);
  for (int i = 0; i < 512; i++) {
    int code = i / 2 >> i % 2 * 4 & 15;
    float number = magnitude[code & 7] * (code & 8 ? -1.0f : 1.0f);
    cr_expect_eq(((float *)out.data)[i], ldexpf(number, i / 32 - 7));
  }
  array_destroy(&out);
  array_destroy(&scale);
  array_destroy(&in);
}

/* ---- indices ---- */

static void write_list(const char *name, llrt_dtype dtype, int n, const int *values) {
  array_error error;
  array list;
  cr_assert(array_create(dtype, 1, (int64_t[]){n}, &list, &error), "%s", error.text);
  for (int i = 0; i < n; i++) {
    if (dtype == LLRT_I32) ((int32_t *)list.data)[i] = values[i];
    else ((int64_t *)list.data)[i] = values[i];
  }
  cr_assert(array_write(name, &list, &error), "%s", error.text);
  array_destroy(&list);
}

enum { ROWS = 12, COLUMNS = 10, PICKED_ROWS = 5, PICKED_COLUMNS = 12 };
static const int picked_rows[PICKED_ROWS] = {3, 0, -1, 11, 3};
static const int picked_columns[PICKED_COLUMNS] = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 10, 1 << 20};

static const struct {
  const char *options;
  bool rows, columns, col_major, clamps;
} picks[] = {
    {"--to row_major --index 0=rows.npy", true, false, false, false},
    {"--to col_major --index 1=columns.npy", false, true, true, false},
    {"--to row_major --index=1=columns.npy --index 0=rows.npy", true, true, false, false},
    {"--to col_major --index 0=rows.npy --index 1=columns.npy --out-of-range zero", true, true,
     true, false},
    {"--to row_major --index 0=rows.npy --index 1=columns.npy --out-of-range clamp", true, true,
     false, true},
};

/* The position that a list picks of `extent`; -1: none. */
static int picked(const int *list, int i, int extent, bool clamps) {
  int at = list ? list[i] : i;
  if (at >= 0 && at < extent) return at;
  return !clamps ? -1 : at < 0 ? 0 : extent - 1;
}

/* Positions of the source are picked along one axis or two; the result has the lists' lengths. */
Test(cli_convert, index) {
  array in = write_sample("in.npy", LLRT_U16, 2, (int64_t[]){ROWS, COLUMNS}, false);
  write_list("rows.npy", LLRT_I32, PICKED_ROWS, picked_rows);
  write_list("columns.npy", LLRT_I64, PICKED_COLUMNS, picked_columns);
  for (size_t p = 0; p < sizeof picks / sizeof picks[0]; p++) {
    char line[256];
    snprintf(line, sizeof line, "convert in.npy %s --device host -o out.npy", picks[p].options);
    tool_run_quietly(line);
    array out = tool_array_read("out.npy");
    int rows = picks[p].rows ? PICKED_ROWS : ROWS;
    int columns = picks[p].columns ? PICKED_COLUMNS : COLUMNS;
    cr_assert_eq(out.bytes, (size_t)(rows * columns * 2), "%s", line);
    if (!picks[p].col_major) cr_expect(out.shape[0] == rows && out.shape[1] == columns, "%s", line);
    for (int i = 0; i < rows * columns; i++) {
      int r = i / columns, c = i % columns;
      int row = picked(picks[p].rows ? picked_rows : NULL, r, ROWS, picks[p].clamps);
      int column = picked(picks[p].columns ? picked_columns : NULL, c, COLUMNS, picks[p].clamps);
      uint16_t want = row < 0 || column < 0 ? 0 : ((uint16_t *)in.data)[row * COLUMNS + column];
      uint16_t got = ((uint16_t *)out.data)[picks[p].col_major ? c * rows + r : i];
      cr_expect_eq(got, want, "%s: [%d,%d]", line, r, c);
    }
    array_destroy(&out);
  }
  array_destroy(&in);
}

/* Blocks of a paged cache, by a list; a list without values. */
Test(cli_convert, index_of_blocks) {
  const int blocks[] = {6, 1, 2};
  array in = write_sample("pool.npy", LLRT_U16, 4, (int64_t[]){7, 16, 2, 32}, false);
  write_list("blocks.npy", LLRT_I32, 3, blocks);
  write_list("none.npy", LLRT_I32, 0, blocks);
  tool_run_quietly(
      "convert pool.npy --from kv_nhd --to kv_hnd --index 0=blocks.npy --out-of-range error"
      " --device host -o out.npy");
  array out = tool_array_read("out.npy");
  cr_assert_eq(out.bytes, (size_t)3 * 16 * 2 * 32 * 2);
  for (int i = 0; i < 3 * 16 * 2 * 32; i++) {
    int d = i % 32, h = i / 32 % 2, t = i / 64 % 16, b = i / 1024;
    cr_expect_eq(((uint16_t *)out.data)[((b * 2 + h) * 16 + t) * 32 + d],
                 ((uint16_t *)in.data)[((blocks[b] * 16 + t) * 2 + h) * 32 + d], "element %d", i);
  }
  array_destroy(&out);
  tool_run_quietly("convert pool.npy --to row_major --index 0=none.npy --device host -o out.npy");
  out = tool_array_read("out.npy");
  cr_expect(out.rank == 4 && out.shape[0] == 0 && out.shape[1] == 16);
  array_destroy(&out);
  array_destroy(&in);
}

/* "-" is standard output, whatever that is. */
Test(cli_convert, standard_output) {
  size_t size;
  array in = write_sample("in.npy", LLRT_F32, 2, (int64_t[]){4, 6}, false);
  tool_run_quietly("convert in.npy --to col_major --device host -o out.npy");
  tool_result piped = tool_expect_success("convert in.npy --to col_major --device host -o -");
  char *file = tool_read_file("out.npy", &size);
  cr_assert_eq(size, piped.out_size);
  cr_expect_arr_eq(file, piped.out, size);
  free(file);
  tool_result_fini(&piped);
  array_destroy(&in);
}

/* "-" is standard input: a file, or a pipe, whose length nobody knows beforehand. */
Test(cli_convert, standard_input) {
  array in = write_sample("in.npy", LLRT_F32, 2, (int64_t[]){40, 60}, false);
  tool_run_quietly("convert in.npy --to col_major --device host -o out.npy");
  array expected = tool_array_read("out.npy");
  cr_assert_eq(mkfifo("pipe", 0600), 0);
  static const char *const lines[] = {"convert - --to col_major --device host -o out.npy < in.npy",
                                      "convert - --to col_major --device host -o out.npy < pipe",
                                      "convert pipe --to col_major --device host -o out.npy"};
  for (int i = 0; i < 3; i++) {
    if (i > 0) cr_assert_eq(system("cat in.npy > pipe &"), 0);
    tool_run_quietly(lines[i]);
    array out = tool_array_read("out.npy");
    cr_expect(out.bytes == in.bytes && memcmp(out.data, expected.data, in.bytes) == 0, "%s",
              lines[i]);
    array_destroy(&out);
  }
  array_destroy(&expected);
  array_destroy(&in);
}

/* A .safetensors file tells in which storage its tensor lies, and is read so. */
Test(cli_convert, the_file_tells_its_storage) {
  static const char *const storages[] = {NVMMA, "col_major", "strided([80,1])"};
  array in = write_sample("in.npy", LLRT_F32, 2, (int64_t[]){64, 32}, false);
  for (int i = 0; i < 3; i++) {
    char line[512];
    remove("p.safetensors");
    snprintf(line, sizeof line, "convert in.npy --to '%s' --device host -o p.safetensors:w",
             storages[i]);
    tool_run_quietly(line);
    tool_run_quietly("convert p.safetensors:w --to row_major --device host -o back.npy");
    array back = tool_array_read("back.npy");
    cr_expect(back.rank == 2 && back.shape[0] == 64 && back.shape[1] == 32, "%s", storages[i]);
    cr_expect(back.bytes == in.bytes && memcmp(back.data, in.data, in.bytes) == 0, "%s",
              storages[i]);
    array_destroy(&back);
    tool_run_quietly("reduce p.safetensors:w --op max --axis 0 --device host -o max.npy");
    tool_run_quietly("reduce in.npy --op max --axis 0 --device host -o expected.npy");
    array max = tool_array_read("max.npy"), expected = tool_array_read("expected.npy");
    cr_expect(max.bytes == 128 && memcmp(max.data, expected.data, 128) == 0, "%s", storages[i]);
    array_destroy(&max);
    array_destroy(&expected);
  }
  tool_expect_failure("convert p.safetensors:w --to row_major --dtype u8 --device host -o out.npy",
                      1, "the file says that f32 elements lie in strided([80,1])");
  tool_expect_failure(
      "convert in.npy --to row_major --scale p.safetensors:w --device host -o o.npy", 1,
      "lies in a storage of its own");
  tool_run_quietly("convert p.safetensors:w --from row_major --dtype u8 --shape 10144x2"
                   " --to row_major --device host -o out.npy"); /* 63 * 80 + 32 floats */
  array_destroy(&in);
}

static const tool_failure failures[] = {
    {"convert - --to row_major -o out.npy < cut.npy", 1, "standard input: the header promises"},
    {"convert - --to row_major -o out.npy", 1, "standard input: not a .npy file"},
    {"convert in.npy --to row_major --index 0=missing.npy -o out.npy", 1, "missing.npy: No such"},
    {"convert in.npy --to row_major --index 0=in.npy -o out.npy", 1, "no list of int32 or int64"},
    {"convert in.npy --to row_major --index 2=list.npy -o out.npy", 1, "has 2 axes"},
    {"convert in.npy --to row_major --index 0=list.npy --out-of-range error -o out.npy", 1,
     "value 64 at 1 of list.npy is not in 0..63"},
    {"convert in.npy --to row_major --index list.npy -o out.npy", 2, "nothing like 0=I.npy"},
    {"convert in.npy --to row_major --index 0=list.npy --index 0=list.npy -o out.npy", 2,
     "twice for axis 0"},
    {"convert in.npy --to row_major --index 0=list.npy --out-of-range skip -o out.npy", 2, "skip"},
    {"convert in.npy --to row_major --index 0=list.npy --in-place -o out.npy", 2, "exclude"},
    {"convert in.npy --to row_major --out-of-range zero -o out.npy", 2, "without --index"},
    {"convert in.npy --to row_major --index 0=a --index 1=a --index 2=a --index 3=a --index 4=a"
     " -o out.npy",
     2, "more than 4 times"},
    {"convert in.npy --to row_major --out-dtype i64 --device host -o out.npy", 1, "no such cast"},
    {"convert in.npy --to row_major --out-dtype i63 -o out.npy", 2,
     "--out-dtype: unknown dtype 'i63'"},
    {"convert in.npy --to row_major --xor -1 -o out.npy", 2, "-1"},
    {"convert in.npy --to row_major --word-bits 0,1,2 -o out.npy", 2, "32 numbers"},
    {"convert in.npy --to row_major --device host -o full/out.npy", 1, "full/out.npy"},
    {"convert missing.npy --to row_major -o out.npy", 1, "missing.npy: No such file"},
    {"convert cut.npy --to row_major -o out.npy", 1, "cut.npy: the header promises"},
    {"convert cut.safetensors:w --to row_major -o out.npy", 1, "cut.safetensors"},
    {"convert empty.npy --to row_major -o out.npy", 1, "not a .npy file"},
    {"convert " MODEL " --to row_major -o out.npy", 1, "name one tensor"},
    {"convert " MODEL ":lstm --to row_major -o out.npy", 1, "lstm_cell.weight_ih"},
    {"convert in.npy --to row_major -o " MODEL ":w", 1, "exists"},
    {"convert in.npy --to 'blocked(order=[1,0]' -o out.npy", 1, "column"},
    {"convert in.npy --to row_mayor -o out.npy", 1, "row_mayor"},
    {"convert in.npy --to row_major --from bloked -o out.npy", 1, "--from"},
    {"convert in.npy --to '{offset: [[1],[2]]} -> [dim0:4]' -o out.npy", 1, "--to"},
    {"convert in.npy --to '{offset: [[1],[1]]} -> [dim0:4]' --shape 4 -o out.npy", 1, "--to"},
    {"convert in.npy --to row_major --shape 64x33 -o out.npy", 1, "bytes"},
    {"convert in.npy --to row_major --device tpu:0 -o out.npy", 1, "tpu"},
    {"convert in.npy --to row_major --device cuda:99 -o out.npy", 1, ""},
    {"convert in.npy --to row_major --dtype f99 -o out.npy", 2, "unknown dtype 'f99'"},
    {"convert in.npy --to row_major --xor 0x100000000 --device host -o out.npy", 1,
     "more than the 32 bits of f32 elements"},
    {"convert in.npy --to row_major --device host -o new.safetensors", 1,
     "name the tensor in it, as new.safetensors:NAME"},
    {"convert in.npy --to row_major --device host -o new.safetensors:", 1, "name the tensor in it"},
    {"convert in.npy --to row_major --device host --dtype f64 --shape 3x3 -o out.npy", 1, "bytes"},
    {"convert", 2, "too few"},
    {"convert in.npy", 2, "--to is missing"},
    {"convert in.npy --to row_major", 2, "-o OUT is missing"},
    {"convert in.npy --to row_major -o out.npy more", 2, "more"},
    {"convert in.npy --to row_major --shape 0x -o out.npy", 2, "0x"},
    {"convert in.npy --to row_major --to row_major -o out.npy", 2, "twice"},
    {"convert in.npy --to row_major -o", 2, "needs OUT"},
};

Test(cli_convert, failures_write_nothing) {
  array in = write_sample("in.npy", LLRT_F32, 2, (int64_t[]){64, 32}, false);
  array_error error;
  size_t size;
  char *file = tool_read_file("in.npy", &size);
  tool_write_file("cut.npy", file, size - 1);
  tool_write_file("empty.npy", file, 0);
  free(file);
  cr_assert(array_write("whole.safetensors:w", &in, &error), "%s", error.text);
  file = tool_read_file("whole.safetensors", &size);
  tool_write_file("cut.safetensors", file, size - 1);
  free(file);
  write_list("list.npy", LLRT_I32, 2, (int[]){0, 64});
  tool_write_file("full", "", 0); /* a file where a folder would be needed */
  tool_expect_failures(failures, sizeof failures / sizeof *failures);
  array_destroy(&in);
}

/* A result that was there before outlives a failure. */
Test(cli_convert, old_result_survives) {
  size_t size;
  array in = write_sample("in.npy", LLRT_F32, 2, (int64_t[]){4, 4}, false);
  tool_write_file("out.npy", "old", 3);
  tool_expect_failure("convert in.npy --to row_major --shape 3x3 -o out.npy", 1, "bytes");
  char *kept = tool_read_file("out.npy", &size);
  cr_expect_str_eq(kept, "old");
  free(kept);
  tool_run_quietly("convert in.npy --to row_major --device host -o out.npy");
  array out = tool_array_read("out.npy");
  cr_expect_arr_eq(out.data, in.data, in.bytes);
  array_destroy(&in);
  array_destroy(&out);
}

/* What is no regular file is written to, never replaced. */
Test(cli_convert, special_files_stay) {
  struct stat null;
  array in = write_sample("in.npy", LLRT_F32, 2, (int64_t[]){4, 4}, false);
  tool_run_quietly("convert in.npy --to row_major --device host -o /dev/null");
  cr_assert_eq(stat("/dev/null", &null), 0);
  cr_expect(S_ISCHR(null.st_mode));
  tool_result r = tool_expect_success("convert in.npy --to row_major --device host -o /dev/stderr");
  cr_expect(strncmp(r.err, "\x93NUMPY", 6) == 0);
  tool_result_fini(&r);
  array_destroy(&in);
}

/* Kilobytes that the largest of the tools that ran had in memory. */
static long peak_kilobytes(void) {
  struct rusage usage;
  cr_assert_eq(getrusage(RUSAGE_CHILDREN, &usage), 0);
  return usage.ru_maxrss;
}

/* On the host there is what is read and what is written, and nothing twice. */
Test(cli_convert, memory_is_input_and_output) {
  enum { SIDE = 4096, KILOBYTES = SIDE * SIDE * 4 / 1024 };
  tool_folder_enter();
  array a = write_sample("small.npy", LLRT_F32, 2, (int64_t[]){64, 64}, false);
  array_destroy(&a);
  tool_run_quietly("convert small.npy --device host --to col_major -o out.npy");
  long without = peak_kilobytes();
  a = write_sample("large.npy", LLRT_F32, 2, (int64_t[]){SIDE, SIDE}, false);
  array_destroy(&a);
  tool_run_quietly("convert large.npy --device host --to col_major -o out.npy");
  tool_run_quietly("reduce large.npy --device host --op sum --axis 0 -o sums.npy");
  long with = peak_kilobytes();
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
  cr_expect_lt(with - without, KILOBYTES * 5 / 2, "%ld KiB, %ld without the matrix of %d", with,
               without, (int)KILOBYTES);
#endif
  (void)with, (void)without;
  tool_folder_leave();
}

/* Neither what is read nor what is written need be in memory that the system cannot take back: a
 * process that may have less of it than either takes makes it. */
Test(cli_convert, files_larger_than_memory) {
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
  enum { HEIGHT = 4096, WIDTH = 8192, LIMIT = HEIGHT * WIDTH * 3 };
  struct rlimit before, little;
  tool_folder_enter();
  array in = write_sample("large.npy", LLRT_F32, 2, (int64_t[]){HEIGHT, WIDTH}, false);
  array_destroy(&in); /* the limit is this process's, too */
  cr_assert_eq(getrlimit(RLIMIT_DATA, &before), 0);
  little = (struct rlimit){.rlim_cur = LIMIT, .rlim_max = before.rlim_max};
  cr_assert_eq(setrlimit(RLIMIT_DATA, &little), 0);
  tool_result r = tool_run("convert large.npy --device host --to col_major -o out.safetensors:w");
  tool_result back = tool_run("convert out.safetensors:w --device host --to row_major -o back.npy");
  cr_assert_eq(setrlimit(RLIMIT_DATA, &before), 0);
  cr_expect(r.code == 0 && back.code == 0, "%s%s", r.err, back.err);
  in = tool_array_read("large.npy");
  array out = tool_array_read("back.npy");
  cr_expect(out.bytes == in.bytes && memcmp(out.data, in.data, in.bytes) == 0);
  tool_result_fini(&r);
  tool_result_fini(&back);
  array_destroy(&in);
  array_destroy(&out);
  tool_folder_leave();
#endif
}
