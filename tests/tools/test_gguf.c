/* .gguf files: what is read of a sound one, malformed ones, and damage at every byte. */
#include "gguf_bytes.h"

#include "tools/model/model.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

static bool read_bytes(const void *data, size_t size, model *m, array_error *error) {
  FILE *file = memory_file_open(data, size);
  *m = (model){0};
  bool done = model_read_gguf(file, 0, m, error) && model_sort(m, error);
  fclose(file);
  return done;
}

#define U32(a) .type = 4, .value = a "\0\0\0", .bytes = 4
#define W {"w", 2, {32, 3}, 2, 0} /* Q4_0: three rows of a block of 18 bytes */
#define V(offset) {"v", 1, {4}, 0, offset}

static const struct {
  gguf_case file;
  const char *why; /* part of the message; NULL: is read */
} rows[] = {
    {{.tensor = {W}, .data_bytes = 54}, NULL},
    {{.version = 2, .tensor = {W}, .data_bytes = 54}, NULL},
    {{.tensor = {W}, .data_bytes = 64}, NULL}, /* the last one may be filled up */
    {{.tensor = {W, V(64)}, .data_bytes = 80}, NULL},
    {{.tensor = {V(64), W}, .data_bytes = 80}, NULL}, /* in any order */
    {{.tensor = {{"none", 2, {0, 3}, 0, 0}}}, NULL},
    {{.tensor = {{"none", 1, {0}, 0, 0}}, .cut = 1}, "pass the file's end"},
    {{.tensor = {{"scalar", 0, {0}, 0, 0}}, .data_bytes = 4}, NULL},
    {{.data_bytes = 0}, NULL},
    {{.key = {{"general.alignment", U32("\x08")}},
      .align = 8,
      .tensor = {W, V(56)},
      .data_bytes = 72},
     NULL},
    {{.key = {{"b", 7, "\1", 1}, {"f", 12, "12345678", 8}}, .tensor = {W}, .data_bytes = 54}, NULL},
    {{.key = {{"list", 9, "\4\0\0\0\2\0\0\0\0\0\0\0aaaabbbb", 20}}}, NULL},
    {{.key = {{"texts", 9, "\10\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0ab", 22}}}, NULL},
    {{.key = {{"lists", 9, "\11\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0abc", 27}}}, NULL},

    {{.magic = "GGML"}, "not a .gguf file"},
    {{.version = 1}, "its version is another, not 2 or 3"},
    {{.version = 4}, "its version is another"},
    {{.version = 0x03000000}, "big-endian"},
    {{.n_keys = UINT64_MAX}, "keys are more than the file has room for"},
    {{.n_tensors = UINT64_MAX}, "tensors are more than the file has room for"},
    {{.n_tensors = 2, .tensor = {W}, .data_bytes = 54}, ""},
    {{.key = {{"a", U32("\1")}, {"a", U32("\2")}}}, "the key 'a' is there twice"},
    {{.key = {{"a", 13, "\1", 1}}}, "values of type 13 are unknown"},
    {{.key = {{"a", 7, "\2", 1}}}, "a bool is 2"},
    {{.key = {{"a", 8, "\xff\xff\xff\xff\xff\xff\xff\xff", 8}}}, "passes the file's end"},
    {{.key = {{"a", 9, "\4\0\0\0\xff\xff\xff\xff\xff\xff\xff\x3f", 12}}}, "more than the file has"},
    {{.key = {{"a", 9, "\4\0\0\0\10\0\0\0\0\0\0\0", 12}}, .data_bytes = 10},
     "passes the file's end"},
    {{.key = {{"a", 9,
               "\11\0\0\0\1\0\0\0\0\0\0\0\11\0\0\0\1\0\0\0\0\0\0\0\11\0\0\0\1\0\0\0\0\0\0\0"
               "\11\0\0\0\1\0\0\0\0\0\0\0\11\0\0\0\1\0\0\0\0\0\0\0",
               60}}},
     "nested too deeply"},
    {{.key = {{"\xff", U32("\1")}}}, "no UTF-8"},
    {{.key = {{"general.alignment", U32("\3")}}}, "an alignment of 3 bytes is none"},
    {{.key = {{"general.alignment", U32("\0")}}}, "an alignment of 0 bytes is none"},
    {{.key = {{"general.alignment", 10, "\40\0\0\0\0\0\0\0", 8}}}, "is a value of type 10"},
    {{.key = {{"split.count", 2, "\3\0", 2}}}, "one of 3 parts of a model"},
    {{.tensor = {{"w", 5, {1, 1, 1, 1, 1}, 0, 0}}, .data_bytes = 4}, "has 5 axes"},
    {{.tensor = {{"w", 0xffffffff, {0}, 0, 0}}, .data_bytes = 4}, "has 4294967295 axes"},
    {{.tensor = {{"w", 1, {31}, 2, 0}}, .data_bytes = 18}, "no whole blocks of Q4_0, 32 each"},
    {{.tensor = {{"w", 2, {16, 2}, 2, 0}}, .data_bytes = 18}, "no whole blocks of Q4_0"},
    {{.tensor = {{"w", 1, {4}, 4, 0}}, .data_bytes = 16}, "the type 4, which is unknown"},
    {{.tensor = {{"w", 1, {4}, 1000, 0}}, .data_bytes = 16}, "the type 1000"},
    {{.tensor = {{"w", 1, {UINT64_MAX}, 0, 0}}, .data_bytes = 16}, "too large"},
    {{.tensor = {{"w", 2, {1ull << 40, 1ull << 40}, 0, 0}}, .data_bytes = 16}, "too large"},
    {{.tensor = {{"w", 1, {5}, 0, 0}}, .data_bytes = 16}, "pass the file's end"},
    {{.tensor = {{"w", 1, {4}, 0, UINT64_MAX - 15}}, .data_bytes = 16}, "pass the file's end"},
    {{.tensor = {W, V(32)}, .data_bytes = 80}, "tensors overlap"},
    {{.tensor = {W, {"w", 1, {4}, 0, 64}}, .data_bytes = 80}, "'w' is there twice"},
    {{.tensor = {W, V(96)}, .data_bytes = 112}, "bytes are no tensor's"},
    {{.tensor = {V(4)}, .data_bytes = 20}, "begins 4 bytes behind"},
    {{.tensor = {W}, .data_bytes = 65}, "1 bytes follow the last tensor"},
    {{.tensor = {W}, .data_bytes = 54, .cut = 1}, "pass the file's end"},
};

Test(gguf, rows) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    memory_file file = gguf_bytes(&rows[i].file);
    model m;
    array_error error = {""};
    bool done = read_bytes(file.data, file.size, &m, &error);
    cr_expect_eq(done, rows[i].why == NULL, "row %zu: %s", i, error.text);
    cr_expect(done || (*error.text && rows[i].why && strstr(error.text, rows[i].why)),
              "row %zu: %s", i, error.text);
    model_close(&m);
    free(file.data);
  }
}

/* What a sound file says: shapes with the last axis fastest, places in the file, extents of keys.
 */
Test(gguf, contents) {
  static const gguf_case file = {.key = {{"a", U32("\1")}, {"bc", 8, "\1\0\0\0\0\0\0\0x", 9}},
                                 .tensor = {V(64), W},
                                 .data_bytes = 80};
  memory_file bytes = gguf_bytes(&file);
  model m;
  array_error error;
  cr_assert(read_bytes(bytes.data, bytes.size, &m, &error), "%s", error.text);
  cr_assert_eq(m.n_tensors, 2);
  const model_tensor *w = model_find(&m, "w"), *v = model_find(&m, "v");
  cr_assert(w && v && !model_find(&m, "x"));
  cr_expect(w == &m.tensor[0] && v == &m.tensor[1], "by place");
  cr_expect(w->rank == 2 && w->shape[0] == 3 && w->shape[1] == 32 && w->bytes == 54);
  cr_expect_str_eq(w->type->name, "Q4_0");
  cr_expect_eq(v->type->dtype, LLRT_F32);
  cr_expect_eq(w->at, bytes.size - 80);
  cr_expect_eq(bytes.data[w->at], 1);
  cr_expect_eq(v->at, w->at + 64);
  cr_assert_eq(m.n_keys, 2);
  cr_expect(m.key[0].at == 24 && m.key[0].bytes == 17);
  cr_expect(m.key[1].at == 41 && m.key[1].bytes == 23);
  model_close(&m);
  free(bytes.data);
}

static const gguf_case sample = {
    .key = {{"general.alignment", U32("\x08")},
            {"texts", 9, "\10\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0ab", 22}},
    .align = 8,
    .tensor = {W, V(56)},
    .data_bytes = 72};

Test(gguf, truncated) {
  memory_file file = gguf_bytes(&sample);
  for (size_t size = 0; size < file.size; size++) {
    model m;
    array_error error;
    cr_assert_not(read_bytes(file.data, size, &m, &error), "%zu bytes are read", size);
    model_close(&m);
  }
  free(file.data);
}

/* Whatever one byte becomes, what is read lies in the file; the sanitizers watch. */
Test(gguf, flipped_bytes) {
  memory_file file = gguf_bytes(&sample);
  for (size_t at = 0; at < file.size - 72; at++) {
    char kept = file.data[at];
    for (int value = 0; value < 256; value++) {
      model m;
      array_error error;
      file.data[at] = (char)value;
      if (read_bytes(file.data, file.size, &m, &error))
        for (size_t i = 0; i < m.n_tensors; i++)
          cr_assert(m.tensor[i].at + m.tensor[i].bytes <= file.size, "byte %zu as %d", at, value);
      model_close(&m);
    }
    file.data[at] = kept;
  }
  free(file.data);
}

/* As Python's package has them: elements and bytes of a block (Q8_1 apart, see file_type.c). */
Test(gguf, types) {
  static const struct {
    const char *name;
    uint32_t code, elements, bytes;
  } types[] = {{"Q4_1", 3, 32, 20},    {"Q5_0", 6, 32, 22},      {"Q8_0", 8, 32, 34},
               {"Q3_K", 11, 256, 110}, {"Q6_K", 14, 256, 210},   {"IQ2_XXS", 16, 256, 66},
               {"BF16", 30, 1, 2},     {"TQ2_0", 35, 256, 66},   {"MXFP4", 39, 32, 17},
               {"NVFP4", 40, 64, 36},  {"IQ4_XS", 23, 256, 136}, {"IQ1_M", 29, 256, 56}};
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    const file_type *type = file_type_ggml(types[i].code);
    cr_assert_not_null(type);
    cr_expect_str_eq(type->name, types[i].name);
    cr_expect(type->elements == types[i].elements && type->bytes == types[i].bytes, "%s",
              type->name);
  }
}
