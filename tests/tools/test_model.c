/* Models in files: folders, indices, shards; bytes that are read, and files that change. */
#include "tools/model/model.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files of the test's folder; names that end in "/" are folders. A text that begins with "{" is a
 * header, whose length is put in front, with `data` bytes behind, numbered from 1. */
typedef struct file_case {
  const char *name, *text;
  int data;
} file_case;

#define TWO "\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":"
#define A "{\"a\":{" TWO "[0,2]}}"
#define B "{\"b\":{" TWO "[0,2]}}"
#define AB "{\"b\":{" TWO "[2,4]},\"a\":{" TWO "[0,2]}}"
#define INDEX "model.safetensors.index.json"

static const struct {
  file_case file[4];
  const char *open[3]; /* paths in the folder */
  const char *names;   /* of the tensors as they lie; NULL: is refused */
  const char *why;
} rows[] = {
    {{{"m.safetensors", AB, 4}}, {"m.safetensors"}, "a b ", NULL},
    {{{"m.safetensors", AB, 4}}, {""}, "a b ", NULL},
    {{{"1.safetensors", B, 2}, {"2.safetensors", A, 2}}, {""}, "b a ", NULL},
    {{{"1.safetensors", B, 2}, {"2.safetensors", A, 2}},
     {"2.safetensors", "1.safetensors"},
     "a b ",
     NULL},
    {{{"1.safetensors", A, 2}, {"2.safetensors", A, 2}}, {""}, NULL, "'a' is there twice"},
    {{{"x.safetensors", A, 2},
      {"y.safetensors", B, 2},
      {INDEX,
       "!{\"metadata\":{\"total_size\":4},\"weight_map\":{\"b\":\"y.safetensors\",\"a\":"
       "\"x.safetensors\"}}",
       0}},
     {""},
     "a b ",
     NULL},
    {{{"x.safetensors", A, 2},
      {"other.safetensors", B, 2},
      {INDEX, "!{\"weight_map\":{\"a\":\"x.safetensors\"}}", 0}},
     {INDEX},
     "a ",
     NULL},
    {{{INDEX, "!{\"weight_map\":{\"a\":\"x.safetensors\"}}", 0}}, {""}, NULL, "No such file"},
    {{{"x.safetensors", A, 2}, {INDEX, "!{\"weight_map\":{\"b\":\"x.safetensors\"}}", 0}},
     {""},
     NULL,
     "x.safetensors has the tensor 'a', which the index has not"},
    {{{"x.safetensors", A, 2},
      {INDEX, "!{\"weight_map\":{\"a\":\"x.safetensors\",\"b\":\"x.safetensors\"}}", 0}},
     {""},
     NULL,
     "x.safetensors has no tensor 'b'"},
    {{{"x.safetensors", AB, 4},
      {"y.safetensors", B, 2},
      {INDEX, "!{\"weight_map\":{\"a\":\"x.safetensors\",\"b\":\"y.safetensors\"}}", 0}},
     {""},
     NULL,
     "which the index places in y.safetensors"},
    {{{"d/", NULL, 0},
      {"d/x.safetensors", A, 2},
      {INDEX, "!{\"weight_map\":{\"a\":\"d/x.safetensors\"}}", 0}},
     {""},
     NULL,
     "no name of a file beside it"},
    {{{INDEX, "!{\"weight_map\":{\"a\":\"..\"}}", 0}}, {""}, NULL, "no name of a file beside it"},
    {{{INDEX, "!{\"weight_map\":{\"a\":1}}", 0}}, {""}, NULL, "no name of a file beside it"},
    {{{INDEX, "!{\"weight_map\":[]}", 0}}, {""}, NULL, "no object 'weight_map'"},
    {{{INDEX, "!{\"weight_map\":{},\"metadata\":3}", 0}}, {""}, NULL, "'metadata' are no object"},
    {{{INDEX, "![1", 0}}, {""}, NULL, "no JSON"},
    {{{INDEX, "!{}", 0}, {"b" INDEX, "!{}", 0}}, {""}, NULL, "several"},
    {{{"m.safetensors", A, 2}, {"n.gguf", "!GGUF", 0}},
     {"m.safetensors", "n.gguf"},
     NULL,
     "several are .safetensors files alone"},
    {{{"n.gguf", "!GGUF", 0}}, {""}, NULL, "n.gguf: the header passes the file's end"},
    {{{"readme", "!", 0}}, {""}, NULL, "no .safetensors and no .gguf"},
    {{{"readme", "!", 0}}, {"readme"}, NULL, "it is no folder"},
    {{{"m.safetensors/", NULL, 0}}, {"m.safetensors"}, NULL, "no .safetensors and no .gguf"},
    {{{"m.safetensors", A, 1}}, {""}, NULL, "'a': the tensor's bytes 0 to 2 lie outside"},
    {{{"m.safetensors", "{\"a\":{\"dtype\":\"C64\",\"shape\":[1],\"data_offsets\":[0,8]}}", 8}},
     {""},
     "a ",
     NULL},
};

static char folder[] = "/tmp/llrt-model-XXXXXX";

static void in_folder(const char *name, char path[256]) {
  snprintf(path, 256, "%s%s%s", folder, *name ? "/" : "", name);
}

static void write_file(const file_case *c) {
  char path[256];
  in_folder(c->name, path);
  if (!c->text) {
    cr_assert_eq(mkdir(path, 0777), 0);
    return;
  }
  FILE *file = fopen(path, "wb");
  cr_assert_not_null(file);
  size_t length = strlen(c->text);
  for (int i = 0; i < 8 && *c->text == '{'; i++) fputc((int)(length >> 8 * i & 0xff), file);
  fputs(c->text + (*c->text == '!'), file);
  for (int i = 0; i < c->data; i++) fputc(i + 1, file);
  cr_assert_eq(fclose(file), 0);
}

static void remove_folder(void) {
  char line[300];
  snprintf(line, sizeof line, "rm -rf '%s'", folder);
  cr_assert_eq(system(line), 0);
}

static bool open_case(const char *const open[3], model *m, array_error *error) {
  static char path[3][256];
  const char *paths[3];
  int n = 0;
  for (; n < 3 && open[n]; n++) {
    in_folder(open[n], path[n]);
    paths[n] = path[n];
  }
  return model_open(paths, n, m, error);
}

Test(model, rows) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    model m;
    array_error error = {""};
    char names[64] = "";
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    for (int f = 0; f < 4 && rows[i].file[f].name; f++) write_file(&rows[i].file[f]);
    bool done = open_case(rows[i].open, &m, &error);
    cr_expect_eq(done, rows[i].names != NULL, "row %zu: %s", i, error.text);
    for (size_t t = 0; t < m.n_tensors; t++) {
      strcat(names, m.tensor[t].name);
      strcat(names, " ");
      char bytes[2];
      cr_expect(model_read(&m, &m.tensor[t], 0, 2, bytes, &error), "%s", error.text);
      cr_expect(bytes[1] == bytes[0] + 1);
    }
    cr_expect(!done || strcmp(names, rows[i].names) == 0, "row %zu: %s", i, names);
    cr_expect(done || (rows[i].why && strstr(error.text, rows[i].why)), "row %zu: %s", i,
              error.text);
    model_close(&m);
    remove_folder();
  }
}

/* A file that is cut short or written to is told of; bytes beyond a tensor are never read. */
Test(model, changes) {
  model m;
  array_error error;
  char path[256], bytes[8];
  const char *const open[3] = {"m.safetensors"};
  cr_assert_not_null(mkdtemp(folder));
  write_file(&(file_case){"m.safetensors", AB, 4});
  cr_assert(open_case(open, &m, &error), "%s", error.text);
  const model_tensor *b = model_find(&m, "b");
  cr_assert(b && model_read(&m, b, 0, 2, bytes, &error) && bytes[0] == 3);
  cr_expect(model_read(&m, b, 1, 1, bytes, &error) && bytes[0] == 4);
  cr_expect_not(model_read(&m, b, 1, 2, bytes, &error));
  cr_expect_not(model_read(&m, b, UINT64_MAX, 2, bytes, &error));
  cr_expect(model_unchanged(&m, &error), "%s", error.text);
  in_folder("m.safetensors", path);
  cr_assert_eq(truncate(path, (off_t)m.file[0].size - 1), 0);
  cr_expect_not(model_read(&m, b, 0, 2, bytes, &error));
  cr_expect(strstr(error.text, "cut short"), "%s", error.text);
  cr_expect_not(model_unchanged(&m, &error));
  cr_expect(strstr(error.text, "was changed"), "%s", error.text);
  model_close(&m);
  remove_folder();
}
