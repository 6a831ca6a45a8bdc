#include "tools/common/safetensors.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HEADER UINT64_C(100000000) /* bytes; the format's own limit */
#define METADATA "__metadata__"        /* the one key that is no tensor */

static const struct {
  const char *name;
  llrt_dtype dtype;
} types[] = {
    {"F64", LLRT_F64},   {"F32", LLRT_F32},      {"F16", LLRT_F16},      {"BF16", LLRT_BF16},
    {"I64", LLRT_I64},   {"I32", LLRT_I32},      {"I16", LLRT_I16},      {"I8", LLRT_I8},
    {"U64", LLRT_U64},   {"U32", LLRT_U32},      {"U16", LLRT_U16},      {"U8", LLRT_U8},
    {"BOOL", LLRT_BOOL}, {"F8_E4M3", LLRT_E4M3}, {"F8_E5M2", LLRT_E5M2}, {"F8_E8M0", LLRT_E8M0},
};
enum { TYPE_COUNT = sizeof types / sizeof types[0] };

/* Lists the tensors of the header in the error, as many as fit. */
static bool fail_with_names(json_t *header, const char *name, array_error *error) {
  const char *key;
  json_t *entry;
  array_fail(error, "there is no tensor '%s'; the file has:", name);
  size_t used = strlen(error->text);
  json_object_foreach(header, key, entry) {
    if (strcmp(key, METADATA) == 0) continue;
    if (used + strlen(key) + sizeof "  ..." > sizeof error->text) {
      snprintf(error->text + used, sizeof error->text - used, " ...");
      break;
    }
    used += (size_t)snprintf(error->text + used, sizeof error->text - used, " %s", key);
  }
  return false;
}

/* Reads the JSON object at the file's beginning; *data is where the tensors' bytes begin. Returns
 * NULL on error, else a reference for json_decref. */
static json_t *read_header(FILE *file, uint64_t size, uint64_t *data, array_error *error) {
  unsigned char lead[8];
  uint64_t length = 0;
  if (fread(lead, 1, sizeof lead, file) != sizeof lead) {
    array_fail(error, "not a .safetensors file: it is shorter than 8 bytes");
    return NULL;
  }
  for (int i = 0; i < 8; i++) length |= (uint64_t)lead[i] << 8 * i;
  if (length > MAX_HEADER || length > size - sizeof lead) {
    array_fail(error, "the header would be %llu bytes long, the file is %llu",
               (unsigned long long)length, (unsigned long long)size);
    return NULL;
  }
  char *text = malloc(length + 1);
  json_t *header = NULL;
  json_error_t reason;
  if (!text) {
    array_fail(error, "no memory for the header");
  } else if (fread(text, 1, length, file) != length) {
    array_fail(error, "the header cannot be read");
  } else if (!(header = json_loadb(text, length, JSON_REJECT_DUPLICATES, &reason))) {
    array_fail(error, "the header is no JSON: %s", reason.text);
  } else if (!json_is_object(header)) {
    json_decref(header);
    header = NULL;
    array_fail(error, "the header is no JSON object");
  }
  free(text);
  *data = sizeof lead + length;
  return header;
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

/* Fills dtype and shape of *a and where its bytes lie, counted from the end of the header. */
static bool parse_entry(json_t *entry, array *a, int64_t offsets[2], array_error *error) {
  const char *type = json_string_value(json_object_get(entry, "dtype"));
  int count, rank;
  if (!type) return array_fail(error, "the tensor has no dtype");
  for (int i = 0; i < TYPE_COUNT; i++)
    if (strcmp(types[i].name, type) == 0) a->dtype = types[i].dtype;
  if (a->dtype == LLRT_DTYPE_NONE)
    return array_fail(error, "dtype '%s' is not one that llrt knows", type);
  if (!get_integers(json_object_get(entry, "shape"), LLRT_MAX_RANK, a->shape, &rank))
    return array_fail(error, "the tensor's shape is no list of at most %d sizes", LLRT_MAX_RANK);
  a->rank = rank;
  if (!get_integers(json_object_get(entry, "data_offsets"), 2, offsets, &count) || count != 2)
    return array_fail(error, "the tensor's data_offsets are no pair of offsets");
  return true;
}

/* Reads what parse_entry described, after checking it against the `available` bytes of data. */
static bool read_tensor(FILE *file, const array *entry, const int64_t offsets[2], uint64_t data,
                        uint64_t available, array *out, array_error *error) {
  size_t bytes;
  if (!array_bytes(entry->dtype, entry->rank, entry->shape, &bytes))
    return array_fail(error, "the tensor's shape is too large");
  if (offsets[0] > offsets[1] || (uint64_t)offsets[1] > available)
    return array_fail(error, "the tensor's bytes %lld to %lld lie outside the file's %llu",
                      (long long)offsets[0], (long long)offsets[1], (unsigned long long)available);
  if ((uint64_t)(offsets[1] - offsets[0]) != bytes)
    return array_fail(error, "the tensor's shape takes %zu bytes, its data_offsets span %lld",
                      bytes, (long long)(offsets[1] - offsets[0]));
  if (fseeko(file, (off_t)(data + (uint64_t)offsets[0]), SEEK_SET) != 0)
    return array_fail(error, "the tensor's bytes cannot be reached");
  if (!array_create(entry->dtype, entry->rank, entry->shape, out, error)) return false;
  if (array_read_data(file, out, error)) return true;
  array_destroy(out);
  return false;
}

bool safetensors_read(FILE *file, const char *name, array *out, array_error *error) {
  uint64_t size, data;
  array found = {0};
  int64_t offsets[2];
  bool done = false;
  *out = (array){0};
  if (!array_file_size(file, &size, error)) return false;
  json_t *header = read_header(file, size, &data, error);
  if (!header) return false;
  json_t *entry = strcmp(name, METADATA) == 0 ? NULL : json_object_get(header, name);
  if (!entry)
    fail_with_names(header, name, error);
  else
    done = parse_entry(entry, &found, offsets, error) &&
           read_tensor(file, &found, offsets, data, size - data, out, error);
  json_decref(header);
  return done;
}

/* The header's text for one tensor, padded with spaces so that the data begin at a multiple of 8;
 * free it. NULL when memory ran out or the name is no UTF-8. */
static char *make_header(const char *name, const char *type, const array *a, size_t *length) {
  json_t *shape = json_array();
  for (int axis = 0; axis < a->rank; axis++)
    json_array_append_new(shape, json_integer(a->shape[axis]));
  json_t *header = json_pack("{s:{s:s, s:o, s:[i,I]}}", name, "dtype", type, "shape", shape,
                             "data_offsets", 0, (json_int_t)a->bytes);
  char *compact = header ? json_dumps(header, JSON_COMPACT) : NULL;
  char *text = NULL;
  if (compact) {
    size_t used = strlen(compact);
    *length = (used + 7) / 8 * 8;
    text = malloc(*length);
    if (text) {
      memset(text, ' ', *length);
      memcpy(text, compact, used);
    }
  }
  free(compact);
  json_decref(header);
  return text;
}

bool safetensors_write(FILE *file, const char *name, const array *a, array_error *error) {
  const char *type = NULL;
  unsigned char lead[8];
  size_t length;
  for (int i = 0; i < TYPE_COUNT && !type; i++)
    if (types[i].dtype == a->dtype) type = types[i].name;
  if (!type)
    return array_fail(error, "a .safetensors file has no type for %s", llrt_dtype_name(a->dtype));
  char *header = make_header(name, type, a, &length);
  if (!header) return array_fail(error, "the header for '%s' cannot be made", name);
  for (int i = 0; i < 8; i++) lead[i] = (unsigned char)(length >> 8 * i);
  bool done = fwrite(lead, 1, sizeof lead, file) == sizeof lead &&
              fwrite(header, 1, length, file) == length &&
              fwrite(a->data, 1, a->bytes, file) == a->bytes;
  free(header);
  return done ? true : array_fail(error, "the tensor cannot be written");
}
