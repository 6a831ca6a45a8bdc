/* Reads .safetensors files and their index. */
#include "tools/common/safetensors_header.h"
#include "tools/model/model.h"

#include <stdlib.h>
#include <string.h>

#define MAX_INDEX UINT64_C(100000000) /* bytes, as of a header */

static bool add_tensor(const safetensors_header *header, const char *name, json_t *member,
                       int32_t file, model *m, array_error *error) {
  safetensors_entry entry;
  array_error reason;
  if (!safetensors_header_entry(header, member, &entry, &reason))
    return array_fail(error, "'%.64s': %.300s", name, reason.text);
  model_tensor *t = model_add(m);
  if (!t || !(t->name = strdup(name))) return array_fail(error, "no memory for the tensors");
  t->type = entry.type;
  t->rank = entry.rank;
  memcpy(t->shape, entry.shape, sizeof t->shape);
  t->file = file;
  t->at = header->data + (uint64_t)entry.begin;
  t->bytes = (uint64_t)(entry.end - entry.begin);
  m->n_tensors++;
  return true;
}

static bool add_tensors(const safetensors_header *header, int32_t file, model *m,
                        array_error *error) {
  const char *name;
  json_t *member;
  json_object_foreach(header->json, name,
                      member) if (strcmp(name, SAFETENSORS_METADATA) != 0 &&
                                  !add_tensor(header, name, member, file, m, error)) return false;
  return true;
}

bool model_read_safetensors(FILE *stream, int32_t file, model *m, array_error *error) {
  safetensors_header header;
  m->format = MODEL_SAFETENSORS;
  if (!m->metadata && !(m->metadata = json_object()))
    return array_fail(error, "no memory for metadata");
  if (!safetensors_header_read(stream, &header, error)) return false;
  json_t *metadata = json_object_get(header.json, SAFETENSORS_METADATA);
  bool done = safetensors_header_check_metadata(&header, error) &&
              add_tensors(&header, file, m, error) && safetensors_header_check(&header, error);
  if (done && metadata && json_object_update_missing(m->metadata, metadata) != 0)
    done = array_fail(error, "no memory for metadata");
  safetensors_header_fini(&header);
  return done;
}

/* ---- the index ---- */

/* A shard lies beside its index, so that no file elsewhere can be named. */
static bool is_plain_name(const char *name) {
  return name && *name && *name != '.' && !strchr(name, '/');
}

static bool check_index(json_t *json, model_index *out, array_error *error) {
  const char *name;
  json_t *shard, *metadata = json_object_get(json, "metadata");
  json_t *map = json_object_get(json, "weight_map");
  if (!json_is_object(map)) return array_fail(error, "the index has no object 'weight_map'");
  if (metadata && !json_is_object(metadata) && !json_is_null(metadata))
    return array_fail(error, "the index's 'metadata' are no object");
  json_object_foreach(map, name, shard) if (
      !is_plain_name(json_string_value(
          shard))) return array_fail(error,
                                     "the index's shard of '%.64s' is no name of a file beside it",
                                     name);
  out->map = json_incref(map);
  out->metadata = json_is_object(metadata) ? json_incref(metadata) : NULL;
  return true;
}

bool model_index_read(FILE *stream, model_index *out, array_error *error) {
  uint64_t size;
  json_error_t reason;
  *out = (model_index){0};
  if (!array_file_size(stream, &size, error)) return false;
  if (size > MAX_INDEX)
    return array_fail(error, "an index of %llu bytes is too long", (unsigned long long)size);
  json_t *json = json_loadf(stream, JSON_REJECT_DUPLICATES, &reason);
  if (!json) return array_fail(error, "the index is no JSON: %.200s", reason.text);
  bool done = check_index(json, out, error);
  json_decref(json);
  return done;
}

void model_index_fini(model_index *index) {
  json_decref(index->map);
  json_decref(index->metadata);
  *index = (model_index){0};
}
