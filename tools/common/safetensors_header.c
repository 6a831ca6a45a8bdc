#include "tools/common/safetensors_header.h"

#include <stdlib.h>
#include <string.h>

#define MAX_HEADER UINT64_C(100000000) /* bytes; the format's own limit */
#define METADATA SAFETENSORS_METADATA

/* Parses `length` bytes of JSON at the file's place. NULL on error. */
static json_t *read_json(FILE *file, size_t length, array_error *error) {
  char *text = malloc(length + 1);
  json_t *json = NULL;
  json_error_t reason;
  if (!text) {
    array_fail(error, "no memory for the header");
  } else if (fread(text, 1, length, file) != length) {
    array_fail(error, "the header cannot be read");
  } else if (!(json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &reason))) {
    array_fail(error, "the header is no JSON: %s", reason.text);
  } else if (!json_is_object(json)) {
    json_decref(json);
    json = NULL;
    array_fail(error, "the header is no JSON object");
  }
  free(text);
  return json;
}

bool safetensors_header_read(FILE *file, safetensors_header *out, array_error *error) {
  unsigned char lead[8];
  uint64_t size, length = 0;
  *out = (safetensors_header){0};
  if (!array_file_size(file, &size, error)) return false;
  if (fread(lead, 1, sizeof lead, file) != sizeof lead)
    return array_fail(error, "not a .safetensors file: it is shorter than 8 bytes");
  for (int i = 0; i < 8; i++) length |= (uint64_t)lead[i] << 8 * i;
  if (length > MAX_HEADER || length > size - sizeof lead)
    return array_fail(error, "the header would be %llu bytes long, the file is %llu",
                      (unsigned long long)length, (unsigned long long)size);
  json_t *json = read_json(file, length, error);
  if (!json) return false;
  *out = (safetensors_header){json, sizeof lead + length, size - sizeof lead - length};
  return true;
}

void safetensors_header_fini(safetensors_header *header) {
  json_decref(header->json);
  *header = (safetensors_header){0};
}

/* A list of non-negative integers, at most `max` of them. */
static bool get_integers(json_t *list, int max, int64_t *values, int *count) {
  if (!json_is_array(list) || json_array_size(list) > (size_t)max) return false;
  *count = (int)json_array_size(list);
  for (int i = 0; i < *count; i++) {
    json_t *item = json_array_get(list, (size_t)i);
    if (!json_is_integer(item) || json_integer_value(item) < 0) return false;
    values[i] = json_integer_value(item);
  }
  return true;
}

/* Type, shape and offsets as they are written. */
static bool parse_entry(json_t *member, safetensors_entry *out, array_error *error) {
  const char *type = json_string_value(json_object_get(member, "dtype"));
  int64_t offsets[2];
  int count, rank;
  if (!type) return array_fail(error, "the tensor has no dtype");
  out->type = file_type_safetensors(type);
  if (!out->type) return array_fail(error, "dtype '%.32s' is not one that llrt knows", type);
  if (!get_integers(json_object_get(member, "shape"), LLRT_MAX_RANK, out->shape, &rank))
    return array_fail(error, "the tensor's shape is no list of at most %d sizes", LLRT_MAX_RANK);
  if (!get_integers(json_object_get(member, "data_offsets"), 2, offsets, &count) || count != 2)
    return array_fail(error, "the tensor's data_offsets are no pair of offsets");
  out->rank = rank;
  out->begin = offsets[0];
  out->end = offsets[1];
  return true;
}

bool safetensors_header_entry(const safetensors_header *header, json_t *member,
                              safetensors_entry *out, array_error *error) {
  uint64_t bytes;
  bool large;
  *out = (safetensors_entry){0};
  if (!parse_entry(member, out, error)) return false;
  if (!file_type_bytes(out->type, out->rank, out->shape, &bytes, &large))
    return large
               ? array_fail(error, "the tensor's shape is too large")
               : array_fail(error, "the tensor's %s elements are no whole bytes", out->type->name);
  if (out->begin > out->end || (uint64_t)out->end > header->available)
    return array_fail(error, "the tensor's bytes %lld to %lld lie outside the file's %llu",
                      (long long)out->begin, (long long)out->end,
                      (unsigned long long)header->available);
  if ((uint64_t)(out->end - out->begin) != bytes)
    return array_fail(error, "the tensor's shape takes %llu bytes, its data_offsets span %lld",
                      (unsigned long long)bytes, (long long)(out->end - out->begin));
  return true;
}

/* ---- all tensors ---- */

typedef struct extent {
  const char *name;
  int64_t begin, end;
} extent;

static int by_begin(const void *a, const void *b) {
  const extent *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return x->end < y->end ? -1 : x->end > y->end;
}

/* Tensors follow each other from the first byte to the last: the format has neither holes nor bytes
 * of two. */
static bool check_order(const extent *extents, size_t n, int64_t available, array_error *error) {
  int64_t at = 0;
  for (size_t i = 0; i < n; i++) {
    if (extents[i].begin < at)
      return array_fail(error, "the tensors '%.64s' and '%.64s' overlap", extents[i - 1].name,
                        extents[i].name);
    if (extents[i].begin > at)
      return array_fail(error, "the bytes %lld to %lld, before '%.64s', are no tensor's",
                        (long long)at, (long long)extents[i].begin, extents[i].name);
    at = extents[i].end;
  }
  if (at < available)
    return array_fail(error, "%lld bytes follow the last tensor", (long long)(available - at));
  return true;
}

bool safetensors_header_check(const safetensors_header *header, array_error *error) {
  extent *extents = calloc(json_object_size(header->json) + 1, sizeof *extents);
  const char *key;
  json_t *entry;
  size_t n = 0;
  bool done = true;
  if (!extents) return array_fail(error, "no memory for the header");
  json_object_foreach(header->json, key, entry) {
    int64_t offsets[2];
    int count;
    if (strcmp(key, METADATA) == 0) continue;
    bool has =
        get_integers(json_object_get(entry, "data_offsets"), 2, offsets, &count) && count == 2;
    done &= has && offsets[0] <= offsets[1] && (uint64_t)offsets[1] <= header->available;
    if (!done) break;
    extents[n++] = (extent){key, offsets[0], offsets[1]};
  }
  qsort(extents, n, sizeof *extents, by_begin);
  if (!done)
    array_fail(error, "the tensor '%.64s' has no data_offsets within the file's %llu bytes", key,
               (unsigned long long)header->available);
  else done = check_order(extents, n, (int64_t)header->available, error);
  free(extents);
  return done;
}

/* ---- metadata ---- */

bool safetensors_header_check_metadata(const safetensors_header *header, array_error *error) {
  json_t *metadata = json_object_get(header->json, METADATA), *value;
  const char *key;
  bool texts = !metadata || json_is_object(metadata);
  json_object_foreach(metadata, key, value) texts &= json_is_string(value);
  return texts ? true : array_fail(error, METADATA " holds something that is no text");
}

/* ---- writing ---- */

char *safetensors_header_print(const json_t *json, size_t align, size_t *length) {
  char *compact = json_dumps(json, JSON_COMPACT), *text = NULL;
  size_t used = compact ? strlen(compact) : 0;
  *length = (8 + used + align - 1) / align * align;
  if (compact) text = malloc(*length);
  if (text) {
    for (int i = 0; i < 8; i++) text[i] = (char)((*length - 8) >> 8 * i);
    memset(text + 8, ' ', *length - 8);
    memcpy(text + 8, compact, used);
  }
  free(compact);
  return text;
}
