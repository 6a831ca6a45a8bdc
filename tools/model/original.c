#include "tools/model/original.h"

#include "tools/model/repack.h"

#include <stdlib.h>
#include <string.h>

static const char *name_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static int by_name(const void *a, const void *b) {
  const original_tensor *x = *(const original_tensor *const *)a;
  const original_tensor *y = *(const original_tensor *const *)b;
  return strcmp(x->name, y->name);
}

static bool make_room(original *c, size_t tensors, size_t files, array_error *error) {
  c->file = calloc(files + 1, sizeof *c->file);
  c->tensor = calloc(tensors + 1, sizeof *c->tensor);
  c->by_name = calloc(tensors + 1, sizeof(original_tensor *));
  return (c->file && c->tensor && c->by_name) || array_fail(error, "no memory for the tensors");
}

static bool add_file(original *c, const char *name, array_error *error) {
  c->file[c->n_files] = strdup(name);
  return c->file[c->n_files++] || array_fail(error, "no memory for the files");
}

/* Sorts what is there by name. */
static bool sort(original *c, array_error *error) {
  for (size_t i = 0; i < c->n_tensors; i++) {
    c->by_name[i] = &c->tensor[i];
    if (!c->tensor[i].name) return array_fail(error, "no memory for the tensors");
  }
  qsort(c->by_name, c->n_tensors, sizeof(original_tensor *), by_name);
  return true;
}

bool original_of(const model *m, original *out, array_error *error) {
  *out = (original){0};
  bool done = make_room(out, m->n_tensors, (size_t)m->n_files, error);
  for (int32_t i = 0; i < m->n_files && done; i++)
    done = add_file(out, name_of(m->file[i].path), error);
  for (size_t i = 0; i < m->n_tensors && done; i++) {
    const model_tensor *t = &m->tensor[i];
    original_tensor *c = &out->tensor[out->n_tensors++];
    *c = (original_tensor){strdup(t->name), t->type, t->rank, t->file, {0}};
    memcpy(c->shape, t->shape, sizeof c->shape);
  }
  done = done && sort(out, error);
  if (!done) original_fini(out);
  return done;
}

/* ---- metadata ---- */

/* The text of a .gguf file's key; NULL: it is not there, or is no text. */
static char *read_key(const model *m, const model_key *key) {
  size_t lead = 8 + strlen(key->name) + 4 + 8;
  model_tensor bytes = {.name = key->name, .at = key->at, .bytes = key->bytes};
  array_error error;
  char *data = key->bytes >= lead ? calloc(key->bytes + 1, 1) : NULL;
  if (data && model_read(m, &bytes, 0, key->bytes, data, &error) && data[lead - 12] == 8) {
    memmove(data, data + lead, key->bytes - lead + 1);
    return data;
  }
  free(data);
  return NULL;
}

char *original_metadata(const model *m, const char *key) {
  if (m->format == MODEL_SAFETENSORS) {
    const char *text = json_string_value(json_object_get(m->metadata, key));
    return text ? strdup(text) : NULL;
  }
  for (size_t i = 0; i < m->n_keys; i++)
    if (strcmp(m->key[i].name, key) == 0) return read_key(m, &m->key[i]);
  return NULL;
}

/* ---- JSON ---- */

static const file_type *find_type(model_format format, const char *name) {
  if (format == MODEL_SAFETENSORS) return file_type_safetensors(name);
  for (uint32_t code = 0; code < 256; code++) {
    const file_type *type = file_type_ggml(code);
    if (type && strcmp(type->name, name) == 0) return type;
  }
  return NULL;
}

static bool parse_tensor(json_t *row, const model *m, original *c) {
  const char *name, *type;
  json_t *shape;
  json_int_t file;
  if (json_unpack(row, "[s, s, o, I]", &name, &type, &shape, &file) != 0) return false;
  original_tensor *t = &c->tensor[c->n_tensors];
  t->type = find_type(m->format, type);
  if (!t->type || !json_is_array(shape) || json_array_size(shape) > LLRT_MAX_RANK || file < 0 ||
      file >= c->n_files)
    return false;
  t->rank = (int32_t)json_array_size(shape);
  t->file = (int32_t)file;
  for (int axis = 0; axis < t->rank; axis++) {
    json_t *extent = json_array_get(shape, (size_t)axis);
    if (!json_is_integer(extent) || json_integer_value(extent) < 0) return false;
    t->shape[axis] = json_integer_value(extent);
  }
  uint64_t bytes;
  bool large;
  if (!file_type_bytes(t->type, t->rank, t->shape, &bytes, &large)) return false;
  t->name = strdup(name);
  c->n_tensors++;
  return true;
}

static bool parse(json_t *json, const model *m, original *c, array_error *error) {
  json_t *files = json_object_get(json, "files"), *tensors = json_object_get(json, "tensors");
  if (!json_is_array(files) || !json_is_array(tensors) || json_array_size(files) == 0 ||
      json_array_size(files) > INT32_MAX)
    return array_fail(error, "its metadata '" REPACK_CHECKPOINT "' are no files and tensors");
  if (!make_room(c, json_array_size(tensors), json_array_size(files), error)) return false;
  for (size_t i = 0; i < json_array_size(files); i++) {
    const char *name = json_string_value(json_array_get(files, i));
    if (!name || !*name || *name == '.' || strchr(name, '/'))
      return array_fail(error, "file %zu of '" REPACK_CHECKPOINT "' is no name", i);
    if (!add_file(c, name, error)) return false;
  }
  for (size_t i = 0; i < json_array_size(tensors); i++)
    if (!parse_tensor(json_array_get(tensors, i), m, c))
      return array_fail(error, "tensor %zu of '" REPACK_CHECKPOINT "' is none", i);
  return sort(c, error);
}

bool original_parse(const model *m, original *out, array_error *error) {
  json_error_t reason;
  char *text = original_metadata(m, REPACK_CHECKPOINT);
  *out = (original){0};
  if (!text)
    return array_fail(error,
                      "%.200s: no recipe made it: it has no metadata '" REPACK_CHECKPOINT "'",
                      m->n_files ? m->file[0].path : "the model");
  json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &reason);
  free(text);
  if (!json)
    return array_fail(error, "its metadata '" REPACK_CHECKPOINT "' are no JSON: %.200s",
                      reason.text);
  bool done = parse(json, m, out, error);
  json_decref(json);
  if (!done) original_fini(out);
  return done;
}

char *original_print(const original *c) {
  json_t *files = json_array(), *tensors = json_array();
  for (int32_t i = 0; i < c->n_files; i++) json_array_append_new(files, json_string(c->file[i]));
  for (size_t i = 0; i < c->n_tensors; i++) {
    const original_tensor *t = &c->tensor[i];
    json_t *shape = json_array();
    for (int axis = 0; axis < t->rank; axis++)
      json_array_append_new(shape, json_integer(t->shape[axis]));
    json_array_append_new(tensors,
                          json_pack("[s, s, o, i]", t->name, t->type->name, shape, (int)t->file));
  }
  json_t *json = json_pack("{s:o, s:o}", "files", files, "tensors", tensors);
  char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
  json_decref(json);
  return text;
}

const original_tensor *original_find(const original *c, const char *name) {
  original_tensor key = {.name = (char *)(uintptr_t)name}, *sought = &key;
  original_tensor **found =
      bsearch(&sought, c->by_name, c->n_tensors, sizeof(original_tensor *), by_name);
  return found ? *found : NULL;
}

void original_fini(original *c) {
  for (int32_t i = 0; i < c->n_files; i++) free(c->file[i]);
  for (size_t i = 0; i < c->n_tensors; i++) free(c->tensor[i].name);
  free(c->file);
  free(c->tensor);
  free(c->by_name);
  *c = (original){0};
}
