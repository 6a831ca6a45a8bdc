#include "tools/common/npy.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "\x93NUMPY"
#define MAGIC_BYTES 6
#define HEADER_ALIGN 64       /* of the data's start; NEP 1 */
#define MAX_HEADER (1u << 16) /* a dozen numbers need far less */

typedef struct npy_type {
  const char *code; /* without the byte order */
  llrt_dtype dtype;
} npy_type;

/* The first entry of a dtype is the one that is written. */
static const npy_type types[] = {
    {"f8", LLRT_F64}, {"f4", LLRT_F32},   {"f2", LLRT_F16}, {"i8", LLRT_I64}, {"i4", LLRT_I32},
    {"i2", LLRT_I16}, {"i1", LLRT_I8},    {"u8", LLRT_U64}, {"u4", LLRT_U32}, {"u2", LLRT_U16},
    {"u1", LLRT_U8},  {"b1", LLRT_BOOL},  {"V1", LLRT_B8},  {"V2", LLRT_B16}, {"V4", LLRT_B32},
    {"V8", LLRT_B64}, {"V16", LLRT_B128},
};
enum { TYPE_COUNT = sizeof types / sizeof types[0] };

/* ---- the header's text: a Python dict literal ---- */

typedef struct scanner {
  const char *at; /* zero-terminated */
} scanner;

static void skip_space(scanner *s) {
  while (*s->at && isspace((unsigned char)*s->at)) s->at++;
}

/* Takes `token` if it comes next. */
static bool take(scanner *s, const char *token) {
  skip_space(s);
  size_t length = strlen(token);
  if (strncmp(s->at, token, length) != 0) return false;
  s->at += length;
  return true;
}

/* 'text' or "text" without escapes, of less than `size` characters. */
static bool take_string(scanner *s, char *text, size_t size) {
  skip_space(s);
  char quote = *s->at;
  if (quote != '\'' && quote != '"') return false;
  const char *begin = s->at + 1;
  const char *end = strchr(begin, quote);
  if (!end || (size_t)(end - begin) >= size) return false;
  memcpy(text, begin, (size_t)(end - begin));
  text[end - begin] = '\0';
  s->at = end + 1;
  return true;
}

static bool take_extent(scanner *s, int64_t *extent) {
  skip_space(s);
  const char *begin = s->at;
  *extent = 0;
  for (; isdigit((unsigned char)*s->at); s->at++) {
    int digit = *s->at - '0';
    if (*extent > (INT64_MAX - digit) / 10) return false;
    *extent = *extent * 10 + digit;
  }
  return s->at > begin;
}

/* (), (3,), (3, 4) or (3, 4,) */
static bool take_shape(scanner *s, array *a, array_error *error) {
  if (!take(s, "(")) return array_fail(error, "the header's shape is no tuple");
  while (!take(s, ")")) {
    if (a->rank == LLRT_MAX_RANK)
      return array_fail(error, "the array has more than %d axes", LLRT_MAX_RANK);
    if (!take_extent(s, &a->shape[a->rank++]))
      return array_fail(error, "the header's shape holds something that is no size");
    bool comma = take(s, ",");
    skip_space(s);
    if (!comma && (*s->at != ')' || a->rank == 1))
      return array_fail(error, "the header's shape is malformed");
  }
  return true;
}

static bool type_from_descr(const char *descr, llrt_dtype *dtype, array_error *error) {
  if (descr[0] == '>') return array_fail(error, "type '%s' is big-endian; save it as '<'", descr);
  for (int i = 0; i < TYPE_COUNT; i++) {
    bool any_order = types[i].code[0] == 'V' || strcmp(types[i].code + 1, "1") == 0;
    if (descr[0] != '<' && !(descr[0] == '|' && any_order)) continue;
    if (strcmp(descr + 1, types[i].code) != 0) continue;
    *dtype = types[i].dtype;
    return true;
  }
  return array_fail(error, "type '%s' is not one that llrt knows", descr);
}

static bool take_descr(scanner *s, array *a, array_error *error) {
  char descr[32];
  if (!take_string(s, descr, sizeof descr))
    return array_fail(error, "the header's descr is no plain type (records are not supported)");
  return type_from_descr(descr, &a->dtype, error);
}

static bool take_order(scanner *s, array *a, array_error *error) {
  a->col_major = take(s, "True");
  if (a->col_major || take(s, "False")) return true;
  return array_fail(error, "the header's fortran_order is neither True nor False");
}

/* Fills dtype, rank, shape and col_major. Each of the three keys stands there exactly once. */
static bool parse_header(const char *text, array *a, array_error *error) {
  static bool (*const take_value[])(scanner *, array *, array_error *) = {take_descr, take_order,
                                                                          take_shape};
  static const char *const keys[] = {"descr", "fortran_order", "shape"};
  scanner s = {text};
  unsigned seen = 0;
  if (!take(&s, "{")) return array_fail(error, "the header is no dictionary");
  while (!take(&s, "}")) {
    char key[32];
    int index = 0;
    if (!take_string(&s, key, sizeof key) || !take(&s, ":"))
      return array_fail(error, "the header is malformed");
    while (index < 3 && strcmp(key, keys[index]) != 0) index++;
    if (index == 3) return array_fail(error, "the header has an unknown key");
    if (seen & 1u << index) return array_fail(error, "the header has '%s' twice", key);
    seen |= 1u << index;
    if (!take_value[index](&s, a, error)) return false;
    bool comma = take(&s, ",");
    skip_space(&s);
    if (!comma && *s.at != '}') return array_fail(error, "the header is malformed");
  }
  skip_space(&s);
  if (*s.at) return array_fail(error, "the header goes on after its dictionary");
  if (seen != 7) return array_fail(error, "the header lacks descr, fortran_order or shape");
  return true;
}

/* ---- reading ---- */

/* Reads up to the end of the header's text, which is returned zero-terminated (free it), or NULL.
 */
static char *read_header(FILE *file, array_error *error) {
  unsigned char lead[12];
  size_t length_bytes = 2;
  if (fread(lead, 1, MAGIC_BYTES + 2, file) != MAGIC_BYTES + 2 ||
      memcmp(lead, MAGIC, MAGIC_BYTES) != 0) {
    array_fail(error, "not a .npy file");
    return NULL;
  }
  unsigned major = lead[MAGIC_BYTES];
  if (major < 1 || major > 3 || lead[MAGIC_BYTES + 1] != 0) {
    array_fail(error, "version %u.%u of the .npy format is unknown", major, lead[MAGIC_BYTES + 1]);
    return NULL;
  }
  if (major > 1) length_bytes = 4;
  if (fread(lead, 1, length_bytes, file) != length_bytes) {
    array_fail(error, "the file ends inside its header");
    return NULL;
  }
  uint32_t length = 0;
  for (size_t i = 0; i < length_bytes; i++) length |= (uint32_t)lead[i] << 8 * i;
  if (length > MAX_HEADER) {
    array_fail(error, "the header of %u bytes is longer than any that llrt accepts", length);
    return NULL;
  }
  char *text = calloc(length + 1, 1);
  if (!text) {
    array_fail(error, "no memory for the header");
  } else if (fread(text, 1, length, file) != length) {
    array_fail(error, "the file ends inside its header");
  } else if (memchr(text, '\0', length)) {
    array_fail(error, "the header holds a zero byte");
  } else {
    return text;
  }
  free(text);
  return NULL;
}

bool npy_read(FILE *file, array *out, array_error *error) {
  array header = {0};
  *out = (array){0};
  char *text = read_header(file, error);
  if (!text) return false;
  bool parsed = parse_header(text, &header, error);
  free(text);
  if (!parsed) return false;

  uint64_t size;
  size_t bytes;
  off_t start = ftello(file);
  if (start < 0) {
    if (!array_read_stream(file, header.dtype, header.rank, header.shape, out, error)) return false;
    out->col_major = header.col_major;
    return true;
  }
  if (!array_file_size(file, &size, error)) return false;
  if (!array_bytes(header.dtype, header.rank, header.shape, &bytes))
    return array_fail(error, "the header's shape is too large");
  uint64_t present = size - (uint64_t)start;
  if (present != bytes)
    return array_fail(error, "the header promises %zu bytes of data, the file holds %llu", bytes,
                      (unsigned long long)present);
  if (!array_read_data(file, header.dtype, header.rank, header.shape, out, error)) return false;
  out->col_major = header.col_major;
  return true;
}

/* ---- writing ---- */

/* The type code that is written for a dtype; types NumPy lacks travel as unsigned integers. */
static const char *code_of(llrt_dtype dtype) {
  for (int i = 0; i < TYPE_COUNT; i++)
    if (types[i].dtype == dtype) return types[i].code;
  return llrt_dtype_bits(dtype) == 16 ? "u2" : "u1";
}

/* The shape as NumPy sees it: 4-bit elements count as pairs along the fastest axis. */
static bool numpy_shape(const array *a, int64_t *shape, array_error *error) {
  memcpy(shape, a->shape, sizeof a->shape);
  if (llrt_dtype_bits(a->dtype) != 4) return true;
  int fastest = a->col_major ? 0 : a->rank - 1;
  if (a->rank == 0 || shape[fastest] % 2 != 0)
    return array_fail(error, "an odd number of 4-bit elements on the fastest axis");
  shape[fastest] /= 2;
  return true;
}

bool npy_write(FILE *file, const array *a, array_error *error) {
  int64_t shape[LLRT_MAX_RANK];
  char tuple[LLRT_MAX_RANK * 24 + 8] = "";
  char text[HEADER_ALIGN * 8];
  if (!numpy_shape(a, shape, error)) return false;
  size_t used = 0;
  for (int axis = 0; axis < a->rank; axis++)
    used += (size_t)snprintf(tuple + used, sizeof tuple - used, "%s%lld%s", axis ? " " : "",
                             (long long)shape[axis], axis + 1 < a->rank || axis == 0 ? "," : "");
  const char *code = code_of(a->dtype);
  char order = code[0] == 'V' || code[1] == '1' ? '|' : '<';
  int length =
      snprintf(text, sizeof text, "{'descr': '%c%s', 'fortran_order': %s, 'shape': (%s), }", order,
               code, a->col_major ? "True" : "False", tuple);
  size_t lead = MAGIC_BYTES + 4;
  size_t total = (lead + (size_t)length + 1 + HEADER_ALIGN - 1) / HEADER_ALIGN * HEADER_ALIGN;
  size_t header = total - lead;
  unsigned char start[MAGIC_BYTES + 4] = MAGIC "\x01\x00";
  start[MAGIC_BYTES + 2] = (unsigned char)(header & 0xff);
  start[MAGIC_BYTES + 3] = (unsigned char)(header >> 8);
  memset(text + length, ' ', header - (size_t)length);
  text[header - 1] = '\n';
  if (fwrite(start, 1, lead, file) == lead && fwrite(text, 1, header, file) == header &&
      array_write_data(file, a))
    return true;
  return array_fail(error, "the array cannot be written");
}
