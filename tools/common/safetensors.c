#include "tools/common/safetensors.h"

#include "tools/common/options.h"
#include "tools/common/safetensors_header.h"

#include <stdlib.h>
#include <string.h>

#define METADATA SAFETENSORS_METADATA
#define ALIGNMENT 64 /* bytes to whose multiple data begin in a file */

/* ---- names ---- */

#define MOST_COMPARED 96 /* characters of a name */
#define MOST_LISTED 5

/* How many characters must be put in, left out or replaced to make one name of the other
 * (Levenshtein). */
static int distance(const char *a, const char *b) {
  int row[MOST_COMPARED + 1], n = (int)strnlen(b, MOST_COMPARED);
  for (int j = 0; j <= n; j++) row[j] = j;
  for (int i = 0; a[i] && i < MOST_COMPARED; i++) {
    int diagonal = row[0];
    row[0] = i + 1;
    for (int j = 0; j < n; j++) {
      int replaced = diagonal + (a[i] != b[j]),
          least = row[j] < row[j + 1] ? row[j] + 1 : row[j + 1] + 1;
      diagonal = row[j + 1];
      row[j + 1] = replaced < least ? replaced : least;
    }
  }
  return row[n];
}

typedef struct near_name {
  const char *name;
  int distance;
} near_name;

/* The nearest names of the header's tensors, nearest first, those that contain `name` before all.
 * Returns how many there are at all. */
static int find_near(json_t *header, const char *name, near_name near[MOST_LISTED]) {
  const char *key;
  json_t *entry;
  int n = 0;
  json_object_foreach(header, key, entry) {
    if (strcmp(key, METADATA) == 0) continue;
    near_name moved = {key, strstr(key, name) ? 0 : distance(name, key)};
    int at = n < MOST_LISTED ? n : MOST_LISTED;
    for (; at > 0 && near[at - 1].distance > moved.distance; at--)
      if (at < MOST_LISTED) near[at] = near[at - 1];
    if (at < MOST_LISTED) near[at] = moved;
    n++;
  }
  return n;
}

static bool fail_with_names(json_t *header, const char *name, array_error *error) {
  near_name near[MOST_LISTED];
  int n = find_near(header, name, near), listed = n < MOST_LISTED ? n : MOST_LISTED;
  array_fail(error, "there is no tensor '%.64s'", name);
  size_t used = strlen(error->text), size = sizeof error->text;
  if (n > listed) snprintf(error->text + used, size - used, "; of its %d the nearest are:", n);
  else snprintf(error->text + used, size - used, "; the file has:%s", n == 0 ? " none" : "");
  for (int i = 0; i < listed; i++) {
    used = strlen(error->text);
    snprintf(error->text + used, size - used, " %.64s", near[i].name);
  }
  return false;
}

/* ---- one tensor ---- */

/* Reads the tensor that a member of the header describes. */
static bool read_tensor(FILE *file, const safetensors_header *header, json_t *member, array *out,
                        array_error *error) {
  safetensors_entry entry;
  if (!safetensors_header_check_metadata(header, error) ||
      !safetensors_header_entry(header, member, &entry, error))
    return false;
  if (entry.type->dtype == LLRT_DTYPE_NONE)
    return array_fail(error, "dtype '%s' is not one that llrt knows", entry.type->name);
  if (!safetensors_header_check(header, error)) return false;
  if (fseeko(file, (off_t)(header->data + (uint64_t)entry.begin), SEEK_SET) != 0)
    return array_fail(error, "the tensor's bytes cannot be reached");
  return array_read_data(file, entry.type->dtype, entry.rank, entry.shape, out, error);
}

/* The text that the metadata have for a tensor; NULL: none, or no memory. */
static const char *metadata_of(json_t *header, const char *prefix, const char *name) {
  char *key;
  if (asprintf(&key, "%s%s", prefix, name) < 0) return NULL;
  const char *text = json_string_value(json_object_get(json_object_get(header, METADATA), key));
  free(key);
  return text;
}

/* Takes over in which storage the tensor lies, where the metadata tell. */
static bool read_storage(json_t *header, const char *name, array *a, array_error *error) {
  const char *storage = metadata_of(header, SAFETENSORS_STORAGE, name);
  const char *shape = metadata_of(header, SAFETENSORS_SHAPE, name);
  int64_t extents[LLRT_MAX_RANK];
  int rank;
  if (!storage) return true;
  if (!shape || !options_parse_numbers(shape, 'x', LLRT_MAX_RANK, extents, &rank))
    return array_fail(error, SAFETENSORS_SHAPE "%.64s of the metadata is no shape like 128x64",
                      name);
  return array_store_as(a, storage, rank, extents, error);
}

bool safetensors_read(FILE *file, const char *name, array *out, array_error *error) {
  safetensors_header header;
  bool done = false;
  *out = (array){0};
  if (!safetensors_header_read(file, &header, error)) return false;
  json_t *member = strcmp(name, METADATA) == 0 ? NULL : json_object_get(header.json, name);
  if (!member) fail_with_names(header.json, name, error);
  else done = read_tensor(file, &header, member, out, error);
  if (done && !read_storage(header.json, name, out, error)) {
    array_destroy(out);
    done = false;
  }
  safetensors_header_fini(&header);
  return done;
}

/* Adds `prefix` with the tensor's name to an object of texts. */
static void add_metadata(json_t *metadata, const char *prefix, const char *name, const char *text) {
  char *key;
  if (asprintf(&key, "%s%s", prefix, name) < 0) return;
  json_object_set_new(metadata, key, json_string(text));
  free(key);
}

/* What the metadata say of the tensor's storage; NULL: nothing. */
static json_t *make_metadata(const char *name, const array *a) {
  char shape[LLRT_MAX_RANK * 24] = "";
  size_t used = 0;
  if (!a->stored_as) return NULL;
  for (int axis = 0; axis < a->logical_rank; axis++)
    used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%lld", axis ? "x" : "",
                             (long long)a->logical_shape[axis]);
  json_t *metadata = json_object();
  add_metadata(metadata, SAFETENSORS_STORAGE, name, a->stored_as);
  add_metadata(metadata, SAFETENSORS_SHAPE, name, shape);
  return metadata;
}

/* The header's text for one tensor; free it. NULL when memory ran out or the name is no UTF-8. */
static char *make_header(const char *name, const char *type, const array *a, size_t *length) {
  json_t *shape = json_array(), *metadata = make_metadata(name, a);
  for (int axis = 0; axis < a->rank; axis++)
    json_array_append_new(shape, json_integer(a->shape[axis]));
  json_t *header = json_pack("{s:{s:s, s:o, s:[i,I]}}", name, "dtype", type, "shape", shape,
                             "data_offsets", 0, (json_int_t)a->bytes);
  bool whole = header && (!metadata || json_object_size(metadata) == 2);
  if (whole && metadata) whole = json_object_set(header, METADATA, metadata) == 0;
  char *text = whole ? safetensors_header_print(header, ALIGNMENT, length) : NULL;
  json_decref(header);
  json_decref(metadata);
  return text;
}

bool safetensors_write(FILE *file, const char *name, const array *a, array_error *error) {
  const file_type *type = file_type_safetensors_of(a->dtype);
  size_t length;
  uint64_t bytes;
  bool large;
  if (!type)
    return array_fail(error, "a .safetensors file has no type for %s", llrt_dtype_name(a->dtype));
  if (!file_type_bytes(type, a->rank, a->shape, &bytes, &large))
    return array_fail(error, "the %s elements are no whole bytes", llrt_dtype_name(a->dtype));
  char *header = make_header(name, type->name, a, &length);
  if (!header) return array_fail(error, "the header for '%s' cannot be made", name);
  bool done = fwrite(header, 1, length, file) == length && array_write_data(file, a);
  free(header);
  return done ? true : array_fail(error, "the tensor cannot be written");
}
