#include "tools/common/safetensors.h"

#include "tools/common/options.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HEADER UINT64_C(100000000) /* bytes; the format's own limit */
#define METADATA "__metadata__"        /* the one key that is no tensor */

static const struct {
  const char *name;
  llrt_dtype dtype;
} types[] = {
    {"F64", LLRT_F64},
    {"F32", LLRT_F32},
    {"F16", LLRT_F16},
    {"BF16", LLRT_BF16},
    {"I64", LLRT_I64},
    {"I32", LLRT_I32},
    {"I16", LLRT_I16},
    {"I8", LLRT_I8},
    {"U64", LLRT_U64},
    {"U32", LLRT_U32},
    {"U16", LLRT_U16},
    {"U8", LLRT_U8},
    {"BOOL", LLRT_BOOL},
    {"F8_E4M3", LLRT_E4M3},
    {"F8_E5M2", LLRT_E5M2},
    {"F8_E8M0", LLRT_E8M0},
    {"F8_E4M3FNUZ", LLRT_E4M3FNUZ},
    {"F8_E5M2FNUZ", LLRT_E5M2FNUZ},
    {"F4", LLRT_E2M1},
};
enum { TYPE_COUNT = sizeof types / sizeof types[0] };

/* Before a tensor's name: keys of the metadata. */
#define STORAGE_KEY "llrt.storage."
#define SHAPE_KEY "llrt.shape."

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

/* ---- the header ---- */

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

/* Elements of 4 bits come two in a byte, and no byte is half a tensor's. */
static bool has_whole_bytes(const array *a) {
  bool even = llrt_dtype_bits(a->dtype) >= 8;
  for (int axis = 0; axis < a->rank; axis++) even |= a->shape[axis] % 2 == 0;
  return even;
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

/* Of all tensors of the header, the one that is asked for among them. */
static bool check_extents(json_t *header, uint64_t available, array_error *error) {
  extent *extents = calloc(json_object_size(header) + 1, sizeof *extents);
  const char *key;
  json_t *entry;
  size_t n = 0;
  bool done = true;
  if (!extents) return array_fail(error, "no memory for the header");
  json_object_foreach(header, key, entry) {
    int64_t offsets[2];
    int count;
    if (strcmp(key, METADATA) == 0) continue;
    bool has =
        get_integers(json_object_get(entry, "data_offsets"), 2, offsets, &count) && count == 2;
    done &= has && offsets[0] <= offsets[1] && (uint64_t)offsets[1] <= available;
    if (!done) break;
    extents[n++] = (extent){key, offsets[0], offsets[1]};
  }
  qsort(extents, n, sizeof *extents, by_begin);
  if (!done)
    array_fail(error, "the tensor '%.64s' has no data_offsets within the file's %llu bytes", key,
               (unsigned long long)available);
  else done = check_order(extents, n, (int64_t)available, error);
  free(extents);
  return done;
}

/* Reads what parse_entry described, after checking it against the `available` bytes of data. */
static bool read_tensor(FILE *file, json_t *header, const array *entry, const int64_t offsets[2],
                        uint64_t data, uint64_t available, array *out, array_error *error) {
  size_t bytes;
  if (!array_bytes(entry->dtype, entry->rank, entry->shape, &bytes))
    return array_fail(error, "the tensor's shape is too large");
  if (!has_whole_bytes(entry))
    return array_fail(error, "the tensor's %s elements are no whole bytes",
                      llrt_dtype_name(entry->dtype));
  if (offsets[0] > offsets[1] || (uint64_t)offsets[1] > available)
    return array_fail(error, "the tensor's bytes %lld to %lld lie outside the file's %llu",
                      (long long)offsets[0], (long long)offsets[1], (unsigned long long)available);
  if ((uint64_t)(offsets[1] - offsets[0]) != bytes)
    return array_fail(error, "the tensor's shape takes %zu bytes, its data_offsets span %lld",
                      bytes, (long long)(offsets[1] - offsets[0]));
  if (!check_extents(header, available, error)) return false;
  if (fseeko(file, (off_t)(data + (uint64_t)offsets[0]), SEEK_SET) != 0)
    return array_fail(error, "the tensor's bytes cannot be reached");
  return array_read_data(file, entry->dtype, entry->rank, entry->shape, out, error);
}

/* ---- metadata ---- */

static bool check_metadata(json_t *header, array_error *error) {
  json_t *metadata = json_object_get(header, METADATA), *value;
  const char *key;
  bool texts = !metadata || json_is_object(metadata);
  json_object_foreach(metadata, key, value) texts &= json_is_string(value);
  return texts ? true : array_fail(error, METADATA " holds something that is no text");
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
  const char *storage = metadata_of(header, STORAGE_KEY, name);
  const char *shape = metadata_of(header, SHAPE_KEY, name);
  int64_t extents[LLRT_MAX_RANK];
  int rank;
  if (!storage) return true;
  if (!shape || !options_parse_numbers(shape, 'x', LLRT_MAX_RANK, extents, &rank))
    return array_fail(error, SHAPE_KEY "%.64s of the metadata is no shape like 128x64", name);
  return array_store_as(a, storage, rank, extents, error);
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
  if (!entry) fail_with_names(header, name, error);
  else
    done = check_metadata(header, error) && parse_entry(entry, &found, offsets, error) &&
           read_tensor(file, header, &found, offsets, data, size - data, out, error);
  if (done && !read_storage(header, name, out, error)) {
    array_destroy(out);
    done = false;
  }
  json_decref(header);
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
  add_metadata(metadata, STORAGE_KEY, name, a->stored_as);
  add_metadata(metadata, SHAPE_KEY, name, shape);
  return metadata;
}

/* The header's text for one tensor, padded with spaces so that the data begin at a multiple of
 * 64; free it. NULL when memory ran out or the name is no UTF-8. */
static char *make_header(const char *name, const char *type, const array *a, size_t *length) {
  json_t *shape = json_array(), *metadata = make_metadata(name, a);
  for (int axis = 0; axis < a->rank; axis++)
    json_array_append_new(shape, json_integer(a->shape[axis]));
  json_t *header = json_pack("{s:{s:s, s:o, s:[i,I]}}", name, "dtype", type, "shape", shape,
                             "data_offsets", 0, (json_int_t)a->bytes);
  bool whole = header && (!metadata || json_object_size(metadata) == 2);
  if (whole && metadata) whole = json_object_set(header, METADATA, metadata) == 0;
  char *compact = whole ? json_dumps(header, JSON_COMPACT) : NULL;
  char *text = NULL;
  if (compact) {
    size_t used = strlen(compact);
    *length = (8 + used + 63) / 64 * 64 - 8;
    text = malloc(*length);
    if (text) {
      memset(text, ' ', *length);
      memcpy(text, compact, used);
    }
  }
  free(compact);
  json_decref(header);
  json_decref(metadata);
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
  if (!has_whole_bytes(a))
    return array_fail(error, "the %s elements are no whole bytes", llrt_dtype_name(a->dtype));
  char *header = make_header(name, type, a, &length);
  if (!header) return array_fail(error, "the header for '%s' cannot be made", name);
  for (int i = 0; i < 8; i++) lead[i] = (unsigned char)(length >> 8 * i);
  bool done = fwrite(lead, 1, sizeof lead, file) == sizeof lead &&
              fwrite(header, 1, length, file) == length && array_write_data(file, a);
  free(header);
  return done ? true : array_fail(error, "the tensor cannot be written");
}
