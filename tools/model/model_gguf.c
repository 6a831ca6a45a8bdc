/* Reads .gguf files, versions 2 and 3 (the format is described in the repository ggml-org/ggml):
 * little-endian numbers, texts with their length in front, keys, tensors, then at a multiple of the
 * alignment the tensors' bytes. */
#include "tools/model/model.h"

#include <stdlib.h>
#include <string.h>

#define PRESET_ALIGNMENT 32
#define MAX_ALIGNMENT (1u << 20)
#define MAX_NAME 65535  /* bytes, of a key as the format has it */
#define MAX_NESTING 4   /* arrays in arrays; ggml itself has one */
#define LEAST_PAIR 13   /* bytes of a key: its length, its type, a byte */
#define LEAST_TENSOR 24 /* bytes of a tensor without a name or axes */
#define GGUF_MAX_RANK 4 /* ggml's */
#define ALIGNMENT_KEY "general.alignment"
#define SPLIT_KEY "split.count"

enum { VALUE_BOOL = 7, VALUE_TEXT = 8, VALUE_ARRAY = 9, VALUE_U32 = 4, VALUE_U16 = 2 };

/* Bytes of a value by its type; 0: none of one size. */
static const unsigned char value_bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
enum { N_VALUES = sizeof value_bytes };

/* Where reading stands. All that is taken is counted against the file's size first. */
typedef struct cursor {
  FILE *stream;
  uint64_t at, size;
  array_error *error;
} cursor;

static bool take(cursor *c, void *to, uint64_t bytes) {
  if (bytes > c->size - c->at)
    return array_fail(c->error, "the header passes the file's end, %llu bytes",
                      (unsigned long long)c->size);
  if (fread(to, 1, bytes, c->stream) != bytes)
    return array_fail(c->error, "the header cannot be read");
  c->at += bytes;
  return true;
}

static bool take_number(cursor *c, int bytes, uint64_t *number) {
  unsigned char data[8];
  *number = 0;
  if (!take(c, data, (uint64_t)bytes)) return false;
  for (int i = 0; i < bytes; i++) *number |= (uint64_t)data[i] << 8 * i;
  return true;
}

#define SHORT_SKIP 4096 /* bytes; fewer are read, which is quicker than moving the stream */

static bool skip(cursor *c, uint64_t bytes) {
  char data[SHORT_SKIP];
  if (bytes <= sizeof data) return take(c, data, bytes);
  if (bytes > c->size - c->at)
    return array_fail(c->error, "the header passes the file's end, %llu bytes",
                      (unsigned long long)c->size);
  c->at += bytes;
  return fseeko(c->stream, (off_t)c->at, SEEK_SET) == 0 ||
         array_fail(c->error, "the header cannot be read");
}

/* A name, malloc'ed; NULL on error. Names are printed and compared as C texts. */
static char *take_name(cursor *c) {
  uint64_t length;
  if (!take_number(c, 8, &length)) return NULL;
  if (length > MAX_NAME || length > c->size - c->at) {
    array_fail(c->error, "a name of %llu bytes is too long", (unsigned long long)length);
    return NULL;
  }
  char *name = calloc(length + 1, 1);
  if (!name) array_fail(c->error, "no memory for a name");
  else if (take(c, name, length)) {
    json_t *text = strlen(name) == length ? json_string(name) : NULL;
    json_decref(text);
    if (text) return name;
    array_fail(c->error, "a name is no UTF-8, or has zeros inside");
  }
  free(name);
  return NULL;
}

/* ---- keys ---- */

static bool skip_text(cursor *c) {
  uint64_t length;
  return take_number(c, 8, &length) && skip(c, length);
}

static bool skip_bools(cursor *c, uint64_t n) {
  char data[SHORT_SKIP];
  for (uint64_t part; n; n -= part) {
    part = n < sizeof data ? n : sizeof data;
    if (!take(c, data, part)) return false;
    for (uint64_t i = 0; i < part; i++)
      if (data[i] & ~1) return array_fail(c->error, "a bool is %d", data[i]);
  }
  return true;
}

static bool skip_values(cursor *c, uint64_t type, uint64_t n, int nesting);

static bool skip_array(cursor *c, int nesting) {
  uint64_t type, n;
  if (nesting == MAX_NESTING) return array_fail(c->error, "arrays are nested too deeply");
  return take_number(c, 4, &type) && take_number(c, 8, &n) && skip_values(c, type, n, nesting + 1);
}

/* Goes past n values of a type. Whatever n is, at most the file's bytes are looked at, as each
 * value has one. */
static bool skip_values(cursor *c, uint64_t type, uint64_t n, int nesting) {
  if (type >= N_VALUES)
    return array_fail(c->error, "values of type %llu are unknown", (unsigned long long)type);
  if (n > c->size - c->at)
    return array_fail(c->error, "%llu values are more than the file has bytes",
                      (unsigned long long)n);
  if (type == VALUE_BOOL) return skip_bools(c, n);
  if (value_bytes[type]) return skip(c, n * value_bytes[type]);
  for (uint64_t i = 0; i < n; i++)
    if (!(type == VALUE_TEXT ? skip_text(c) : skip_array(c, nesting))) return false;
  return true;
}

/* A key's value. What of it this reader has to know is taken in. */
static bool read_value(cursor *c, const char *name, model *m) {
  bool aligns = strcmp(name, ALIGNMENT_KEY) == 0, splits = strcmp(name, SPLIT_KEY) == 0;
  uint64_t type, value;
  if (!take_number(c, 4, &type)) return false;
  if (!aligns && !splits) return skip_values(c, type, 1, 0);
  if (type != (aligns ? VALUE_U32 : VALUE_U16))
    return array_fail(c->error, "'%s' is a value of type %llu", name, (unsigned long long)type);
  if (!take_number(c, value_bytes[type], &value)) return false;
  if (splits)
    return value <= 1 ||
           array_fail(c->error, "it is one of %llu parts of a model: merge them first",
                      (unsigned long long)value);
  if (value == 0 || value > MAX_ALIGNMENT || (value & (value - 1)))
    return array_fail(c->error, "an alignment of %llu bytes is none", (unsigned long long)value);
  m->alignment = (uint32_t)value;
  return true;
}

static int compare_keys(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool check_keys(const model *m, array_error *error) {
  const char **names = calloc(m->n_keys + 1, sizeof *names);
  bool done = true;
  if (!names) return array_fail(error, "no memory for the keys");
  for (size_t i = 0; i < m->n_keys; i++) names[i] = m->key[i].name;
  qsort(names, m->n_keys, sizeof *names, compare_keys);
  for (size_t i = 1; i < m->n_keys && done; i++)
    done = strcmp(names[i - 1], names[i]) != 0 ||
           array_fail(error, "the key '%.64s' is there twice", names[i]);
  free(names);
  return done;
}

/* Room for one more key; their room doubles. */
static model_key *add_key(model *m) {
  size_t n = m->n_keys;
  if ((n & (n - 1)) == 0) {
    model_key *larger = realloc(m->key, (n ? 2 * n : 1) * sizeof *larger);
    if (!larger) return NULL;
    m->key = larger;
  }
  m->key[n] = (model_key){0};
  return &m->key[n];
}

static bool read_keys(cursor *c, uint64_t n, model *m) {
  if (n > (c->size - c->at) / LEAST_PAIR)
    return array_fail(c->error, "%llu keys are more than the file has room for",
                      (unsigned long long)n);
  for (uint64_t i = 0; i < n; i++) {
    model_key *key = add_key(m);
    if (!key) return array_fail(c->error, "no memory for the keys");
    key->at = c->at;
    key->name = take_name(c);
    if (!key->name) return false;
    m->n_keys++;
    if (!read_value(c, key->name, m)) return false;
    key->bytes = c->at - key->at;
  }
  return check_keys(m, c->error);
}

/* ---- tensors ---- */

/* Shape (the fastest axis first in the file), type and offset of *t. */
static bool read_extents(cursor *c, model_tensor *t) {
  uint64_t rank, extent, code;
  if (!take_number(c, 4, &rank)) return false;
  if (rank > GGUF_MAX_RANK)
    return array_fail(c->error, "'%.64s' has %llu axes", t->name, (unsigned long long)rank);
  t->rank = (int32_t)rank;
  for (int axis = t->rank - 1; axis >= 0; axis--) {
    if (!take_number(c, 8, &extent)) return false;
    if (extent > INT64_MAX) return array_fail(c->error, "'%.64s' is too large", t->name);
    t->shape[axis] = (int64_t)extent;
  }
  if (!take_number(c, 4, &code) || !take_number(c, 8, &t->at)) return false;
  t->type = file_type_ggml((uint32_t)code);
  return t->type || array_fail(c->error, "'%.64s' has the type %llu, which is unknown", t->name,
                               (unsigned long long)code);
}

/* Blocks lie along the fastest axis. */
static bool check_blocks(model_tensor *t, array_error *error) {
  bool large;
  int64_t row = t->rank ? t->shape[t->rank - 1] : 1;
  bool whole = file_type_bytes(t->type, t->rank, t->shape, &t->bytes, &large);
  if (large) return array_fail(error, "'%.64s' is too large", t->name);
  if (!whole || row % t->type->elements)
    return array_fail(error, "'%.64s': rows of %lld elements are no whole blocks of %s, %u each",
                      t->name, (long long)row, t->type->name, t->type->elements);
  return true;
}

static bool read_tensors(cursor *c, uint64_t n, int32_t file, model *m) {
  if (n > (c->size - c->at) / LEAST_TENSOR)
    return array_fail(c->error, "%llu tensors are more than the file has room for",
                      (unsigned long long)n);
  for (uint64_t i = 0; i < n; i++) {
    model_tensor *t = model_add(m);
    if (!t) return array_fail(c->error, "no memory for the tensors");
    t->name = take_name(c);
    if (!t->name) return false;
    t->file = file;
    m->n_tensors++;
    if (!read_extents(c, t) || !check_blocks(t, c->error)) return false;
  }
  return true;
}

static uint64_t round_up(uint64_t value, uint64_t align) {
  return (value + align - 1) / align * align;
}

static int by_place(const void *a, const void *b) {
  const model_tensor *x = *(const model_tensor *const *)a, *y = *(const model_tensor *const *)b;
  if (x->at != y->at) return x->at < y->at ? -1 : 1;
  return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* As ggml has it, tensors follow each other, each at the next multiple of the alignment; in which
 * order does not matter. Makes places in the file of offsets. */
static bool place_tensors(model_tensor **sorted, size_t n, uint64_t data, cursor *c,
                          uint64_t align) {
  uint64_t at = 0, room = data < c->size ? c->size - data : 0;
  for (size_t i = 0; i < n; i++) {
    model_tensor *t = sorted[i];
    if (data > c->size || t->at > room || t->bytes > room - t->at)
      return array_fail(c->error, "'%.64s': its bytes pass the file's end", t->name);
    if (t->at != at)
      return array_fail(c->error, "'%.64s' begins %llu bytes behind the header, not %llu: %s",
                        t->name, (unsigned long long)t->at, (unsigned long long)at,
                        t->at < at ? "tensors overlap" : "bytes are no tensor's");
    at = round_up(t->at + t->bytes, align);
    t->at += data;
  }
  return room <= at ||
         array_fail(c->error, "%llu bytes follow the last tensor", (unsigned long long)(room - at));
}

static bool check_places(cursor *c, size_t first, model *m) {
  size_t n = m->n_tensors - first;
  model_tensor **sorted = calloc(n + 1, sizeof(model_tensor *));
  if (!sorted) return array_fail(c->error, "no memory for the tensors");
  for (size_t i = 0; i < n; i++) sorted[i] = &m->tensor[first + i];
  qsort(sorted, n, sizeof(model_tensor *), by_place);
  bool done = place_tensors(sorted, n, round_up(c->at, m->alignment), c, m->alignment);
  free(sorted);
  return done;
}

bool model_read_gguf(FILE *stream, int32_t file, model *m, array_error *error) {
  cursor c = {.stream = stream, .error = error};
  uint64_t version, n_tensors, n_keys;
  char magic[4];
  size_t first = m->n_tensors;
  m->format = MODEL_GGUF;
  m->alignment = PRESET_ALIGNMENT;
  if (!array_file_size(stream, &c.size, error)) return false;
  if (!take(&c, magic, sizeof magic) || memcmp(magic, "GGUF", sizeof magic) != 0)
    return array_fail(error, "not a .gguf file");
  if (!take_number(&c, 4, &version)) return false;
  if (version != 2 && version != 3)
    return array_fail(error, "%s, not 2 or 3, little-endian",
                      version & 0xffff ? "its version is another" : "it is big-endian");
  return take_number(&c, 8, &n_tensors) && take_number(&c, 8, &n_keys) &&
         read_keys(&c, n_keys, m) && read_tensors(&c, n_tensors, file, m) &&
         check_places(&c, first, m);
}
