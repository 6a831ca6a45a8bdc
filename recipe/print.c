/* A recipe in one form. */
#include "base/status.h"
#include "recipe/recipe.h"

static void add_span(llrt_text *text, span added) {
  llrt_text_add_bytes(text, added.text, added.length);
}

/* `, "key": value`, where there is one. */
static void add_member(llrt_text *text, const json_value *object, const char *key,
                       const char *before) {
  const json_value *value = json_member(object, key);
  if (!value) return;
  llrt_text_add(text, "%s\"%s\": ", before, key);
  json_add(text, value);
}

static void add_tensor(llrt_text *text, const recipe_tensor *tensor) {
  llrt_text plain;
  llrt_text_init(&plain);
  recipe_tensor_add(&plain, tensor);
  json_add_string(text, plain.data ? plain.data : "");
  text->failed |= plain.failed;
  llrt_text_fini(&plain);
}

static void add_tensors(llrt_text *text, const char *key, const recipe_tensor *tensors, int n) {
  if (n == 0) return;
  llrt_text_add(text, ",\n    \"%s\": {", key);
  for (int i = 0; i < n; i++) {
    llrt_text_add(text, i ? ",\n      " : "");
    json_add_string(text, tensors[i].at->key);
    llrt_text_add(text, ": ");
    add_tensor(text, &tensors[i]);
  }
  llrt_text_add(text, "}");
}

static void add_consts(llrt_text *text, const recipe_row *row) {
  if (row->n_consts == 0) return;
  llrt_text_add(text, ",\n    \"const\": {");
  for (int i = 0; i < row->n_consts; i++) {
    llrt_text_add(text, i ? ",\n      " : "");
    add_tensor(text, &row->constant[i].tensor);
    llrt_text_add(text, ": %s", row->constant[i].tensor.at->text);
  }
  llrt_text_add(text, "}");
}

static void add_row(llrt_text *text, const recipe_row *row) {
  static const char *const keys[] = {"fuse", "shard", "pad", "where", "maps", "largest", "compute"};
  llrt_text_add(text, "\n  {\"each\": ");
  llrt_text each;
  llrt_text_init(&each);
  add_span(&each, row->each);
  json_add_string(text, each.data ? each.data : "");
  text->failed |= each.failed;
  llrt_text_fini(&each);
  add_member(text, row->at, "note", ", ");
  for (int k = 0; k < 7; k++) add_member(text, row->at, keys[k], ", ");
  add_tensors(text, "in", row->in, row->n_in);
  add_tensors(text, "out", row->out, row->n_out);
  add_consts(text, row);
  llrt_text_add(text, "}");
}

static void add_recipe(llrt_text *text, const llrt_recipe *recipe) {
  static const char *const keys[] = {"for", "note", "config", "let", "require"};
  static const char *const rests[] = {"keep", "drop", "refuse"};
  const json_value *root = recipe->tree.root;
  llrt_text_add(text, "{\"recipe\": 1,\n \"name\": ");
  json_add_string(text, recipe->name);
  for (int k = 0; k < 5; k++) add_member(text, root, keys[k], ",\n ");
  llrt_text_add(text, ",\n \"rows\": [");
  for (int i = 0; i < recipe->n_rows; i++) {
    llrt_text_add(text, i ? "," : "");
    add_row(text, &recipe->row[i]);
  }
  llrt_text_add(text, "],\n \"rest\": \"%s\"}\n", rests[recipe->rest]);
}

llrt_status llrt_recipe_print(const llrt_recipe *recipe, char *buffer, size_t size,
                              size_t *length) {
  LLRT_ENTRY();
  if (length) *length = 0;
  if (buffer && size) buffer[0] = 0;
  LLRT_REQUIRE(recipe, "recipe is NULL");
  LLRT_REQUIRE(buffer || size == 0, "buffer is NULL, and size is %zu", size);
  llrt_text text;
  llrt_text_init(&text);
  add_recipe(&text, recipe);
  llrt_status status = llrt_text_status(&text);
  if (!status) recipe_copy_text(&text, buffer, size, length);
  llrt_text_fini(&text);
  return status;
}

void recipe_copy_text(const llrt_text *text, char *buffer, size_t size, size_t *length) {
  if (length) *length = text->length;
  if (size == 0) return;
  size_t n = text->length < size ? text->length : size - 1;
  if (n) memcpy(buffer, text->data, n);
  buffer[n] = 0;
}
