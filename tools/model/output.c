#include "tools/model/output.h"

#include "tools/common/safetensors_header.h"

#include <stdlib.h>
#include <string.h>

#define DATA_ALIGNMENT 4096 /* bytes: a page */
#define TENSOR_ALIGNMENT 64 /* bytes: a line */

int32_t output_add_file(output *o, const char *name) {
  output_file *larger = realloc(o->file, ((size_t)o->n_files + 1) * sizeof *larger);
  if (!larger) return -1;
  o->file = larger;
  o->file[o->n_files] = (output_file){.name = strdup(name)};
  return o->file[o->n_files].name ? o->n_files++ : -1;
}

bool output_add_tensor(output *o, const output_tensor *like, array_error *error) {
  size_t n = o->n_tensors;
  if ((n & (n - 1)) == 0) {
    output_tensor *larger = realloc(o->tensor, (n ? 2 * n : 1) * sizeof *larger);
    if (!larger) return array_fail(error, "no memory for the tensors");
    o->tensor = larger;
  }
  o->tensor[n] = *like;
  o->tensor[n].name = strdup(like->name);
  o->tensor[n].spec = like->spec ? strdup(like->spec) : NULL;
  o->tensor[n].hash[0] = 0;
  o->n_tensors++;
  return (o->tensor[n].name && (!like->spec || o->tensor[n].spec)) ||
         array_fail(error, "no memory for the tensors");
}

void output_fini(output *o) {
  for (int32_t i = 0; i < o->n_files; i++) {
    free(o->file[i].name);
    json_decref(o->file[i].metadata);
  }
  for (size_t i = 0; i < o->n_tensors; i++) {
    free(o->tensor[i].name);
    free(o->tensor[i].spec);
  }
  free(o->file);
  free(o->tensor);
  json_decref(o->metadata);
  *o = (output){0};
}

/* ---- metadata ---- */

static bool set_text(json_t *metadata, const char *prefix, const char *name, const char *text) {
  char *key;
  if (asprintf(&key, "%s%s", prefix, name) < 0) return false;
  bool done = json_object_set_new(metadata, key, json_string(text)) == 0;
  free(key);
  return done;
}

/* All that a file's metadata have, in the order in which they are written. NULL: no memory. */
static json_t *make_metadata(const output *o, int32_t file) {
  static const char unknown[] = "00000000000000000000000000000000";
  json_t *metadata = o->metadata ? json_copy(o->metadata) : json_object();
  bool done = metadata && (!o->file[file].metadata ||
                           json_object_update(metadata, o->file[file].metadata) == 0);
  for (size_t i = 0; i < o->n_tensors && done; i++) {
    const output_tensor *t = &o->tensor[i];
    if (t->file != file) continue;
    if (o->hashes)
      done = set_text(metadata, OUTPUT_HASH_KEY, t->name, t->hash[0] ? t->hash : unknown);
    if (t->spec) done = done && set_text(metadata, OUTPUT_SPEC_KEY, t->name, t->spec);
  }
  if (done) return metadata;
  json_decref(metadata);
  return NULL;
}

/* ---- .safetensors ---- */

static json_t *describe(const output_tensor *t) {
  json_t *shape = json_array();
  for (int axis = 0; axis < t->rank; axis++)
    json_array_append_new(shape, json_integer(t->shape[axis]));
  return json_pack("{s:s, s:o, s:[I,I]}", "dtype", t->type->name, "shape", shape, "data_offsets",
                   (json_int_t)t->at, (json_int_t)(t->at + t->bytes));
}

/* Places are counted from the first tensor while a header is made. */
static char *safetensors_text(const output *o, int32_t file, size_t *length) {
  json_t *metadata = make_metadata(o, file), *json = json_object();
  uint64_t header = o->file[file].header;
  bool done = metadata && json &&
              (json_object_size(metadata) == 0 ||
               json_object_set(json, SAFETENSORS_METADATA, metadata) == 0);
  for (size_t i = 0; i < o->n_tensors && done; i++) {
    output_tensor t = o->tensor[i];
    if (t.file != file) continue;
    t.at -= header;
    done = json_object_set_new(json, t.name, describe(&t)) == 0;
  }
  char *text = done ? safetensors_header_print(json, DATA_ALIGNMENT, length) : NULL;
  json_decref(metadata);
  json_decref(json);
  return text;
}

/* ---- .gguf ---- */

enum { GGUF_VERSION = 3, GGUF_TEXT = 8 };

static void put_number(FILE *to, uint64_t number, int bytes) {
  for (int i = 0; i < bytes; i++) fputc((int)(number >> 8 * i & 0xff), to);
}

static void put_text(FILE *to, const char *text) {
  put_number(to, strlen(text), 8);
  fputs(text, to);
}

static bool is_own(const char *key) {
  return strncmp(key, OUTPUT_OWN_KEYS, strlen(OUTPUT_OWN_KEYS)) == 0;
}

/* Copies the keys that are kept, as they are. */
static bool put_kept_keys(FILE *to, const model *from) {
  bool done = true;
  for (size_t i = 0; from && i < from->n_keys && done; i++) {
    const model_key *key = &from->key[i];
    array_error error;
    if (is_own(key->name)) continue;
    model_tensor bytes = {.name = key->name, .at = key->at, .bytes = key->bytes};
    void *data = malloc(key->bytes);
    done = data && model_read(from, &bytes, 0, key->bytes, data, &error) &&
           fwrite(data, 1, key->bytes, to) == key->bytes;
    free(data);
  }
  return done;
}

static void put_tensor(FILE *to, const output_tensor *t, uint64_t header) {
  put_text(to, t->name);
  put_number(to, (uint64_t)t->rank, 4);
  for (int axis = t->rank - 1; axis >= 0; axis--) put_number(to, (uint64_t)t->shape[axis], 8);
  put_number(to, t->type->code, 4);
  put_number(to, t->at - header, 8);
}

static uint32_t alignment_of(const output *o) { return o->keys_of ? o->keys_of->alignment : 32; }

static bool put_gguf(FILE *to, const output *o, int32_t file) {
  json_t *metadata = make_metadata(o, file), *text;
  const char *key;
  uint64_t n_tensors = 0, n_keys = json_object_size(metadata);
  if (!metadata) return false;
  for (size_t i = 0; i < o->n_tensors; i++) n_tensors += o->tensor[i].file == file;
  for (size_t i = 0; o->keys_of && i < o->keys_of->n_keys; i++)
    n_keys += !is_own(o->keys_of->key[i].name);
  fputs("GGUF", to);
  put_number(to, GGUF_VERSION, 4);
  put_number(to, n_tensors, 8);
  put_number(to, n_keys, 8);
  bool done = put_kept_keys(to, o->keys_of);
  json_object_foreach(metadata, key, text) {
    put_text(to, key);
    put_number(to, GGUF_TEXT, 4);
    put_text(to, json_string_value(text));
  }
  for (size_t i = 0; i < o->n_tensors; i++)
    if (o->tensor[i].file == file) put_tensor(to, &o->tensor[i], o->file[file].header);
  while (ftello(to) % alignment_of(o)) fputc(0, to);
  json_decref(metadata);
  return done;
}

static char *gguf_text(const output *o, int32_t file, size_t *length) {
  char *text = NULL;
  FILE *to = open_memstream(&text, length);
  if (!to) return NULL;
  bool done = put_gguf(to, o, file) && !ferror(to);
  if (fclose(to) == 0 && done) return text;
  free(text);
  return NULL;
}

/* ---- places ---- */

static char *header_text(const output *o, int32_t file, size_t *length) {
  return o->format == MODEL_GGUF ? gguf_text(o, file, length) : safetensors_text(o, file, length);
}

char *output_header(const output *o, int32_t file) {
  size_t length;
  char *text = header_text(o, file, &length);
  if (text && length == o->file[file].header) return text;
  free(text);
  return NULL;
}

static bool is_whole(const output_tensor *t) { return t->bytes % TENSOR_ALIGNMENT == 0; }

/* 0: by the order of adding alone; else those at the end, of wide elements first. */
static uint32_t rank_in_file(const output *o, const output_tensor *t) {
  return o->format == MODEL_GGUF || is_whole(t) ? 0 : 1 + (64 - t->type->bytes);
}

typedef struct placed {
  output_tensor tensor;
  uint32_t rank;
  size_t number;
} placed;

static int by_rank(const void *a, const void *b) {
  const placed *x = a, *y = b;
  if (x->tensor.file != y->tensor.file) return x->tensor.file < y->tensor.file ? -1 : 1;
  if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
  return x->number < y->number ? -1 : 1;
}

/* Puts the tensors into the order of the files. */
static bool order(output *o, array_error *error) {
  placed *list = calloc(o->n_tensors + 1, sizeof *list);
  if (!list) return array_fail(error, "no memory for the tensors");
  for (size_t i = 0; i < o->n_tensors; i++)
    list[i] = (placed){o->tensor[i], rank_in_file(o, &o->tensor[i]), i};
  qsort(list, o->n_tensors, sizeof *list, by_rank);
  for (size_t i = 0; i < o->n_tensors; i++) o->tensor[i] = list[i].tensor;
  free(list);
  return true;
}

static bool measure(output *o, array_error *error) {
  for (size_t i = 0; i < o->n_tensors; i++) {
    output_tensor *t = &o->tensor[i];
    bool large;
    if (!file_type_bytes(t->type, t->rank, t->shape, &t->bytes, &large))
      return array_fail(error, "'%.64s': its elements of %s are %s", t->name, t->type->name,
                        large ? "too many" : "no whole bytes");
  }
  return true;
}

static bool check_names(const output *o, array_error *error) {
  json_t *names = json_object();
  bool done = names || array_fail(error, "no memory for the names");
  for (size_t i = 0; i < o->n_tensors && done; i++) {
    char file[16];
    const char *name = o->tensor[i].name;
    snprintf(file, sizeof file, "%d", o->tensor[i].file);
    json_t *in = json_object_get(names, file);
    if (!in && json_object_set_new(names, file, in = json_object()) != 0) in = NULL;
    if (json_object_get(in, name))
      done = array_fail(error, "two tensors would be called '%.64s'", name);
    else if (json_object_set_new(in, name, json_true()) != 0)
      done = array_fail(error, "'%.64s' is no UTF-8, or there is no memory", name);
  }
  json_decref(names);
  return done;
}

bool output_place(output *o, array_error *error) {
  uint64_t align = o->format == MODEL_GGUF ? alignment_of(o) : 1;
  if (!measure(o, error) || !check_names(o, error) || !order(o, error)) return false;
  for (size_t i = 0; i < o->n_tensors; i++) {
    output_tensor *t = &o->tensor[i];
    output_file *file = &o->file[t->file];
    t->at = (file->size + align - 1) / align * align;
    if (t->bytes > INT64_MAX / 2 - t->at) return array_fail(error, "%s is too large", file->name);
    file->size = t->at + t->bytes;
  }
  for (int32_t i = 0; i < o->n_files; i++) {
    size_t length;
    char *text = header_text(o, i, &length);
    free(text);
    if (!text) return array_fail(error, "the header of %s cannot be made", o->file[i].name);
    o->file[i].header = length;
    o->file[i].size = length + (o->file[i].size + align - 1) / align * align;
  }
  for (size_t i = 0; i < o->n_tensors; i++) o->tensor[i].at += o->file[o->tensor[i].file].header;
  return true;
}

char *output_index(const output *o, const json_t *like) {
  json_t *metadata = like ? json_copy((json_t *)(uintptr_t)like) : json_object();
  json_t *map = json_object();
  uint64_t total = 0;
  for (size_t i = 0; i < o->n_tensors; i++) {
    total += o->tensor[i].bytes;
    json_object_set_new(map, o->tensor[i].name, json_string(o->file[o->tensor[i].file].name));
  }
  json_object_set_new(metadata, "total_size", json_integer((json_int_t)total));
  json_t *index = json_pack("{s:o, s:o}", "metadata", metadata, "weight_map", map);
  char *text = index ? json_dumps(index, JSON_INDENT(2)) : NULL, *line = NULL;
  if (text && asprintf(&line, "%s\n", text) < 0) line = NULL;
  free(text);
  json_decref(index);
  return line;
}
