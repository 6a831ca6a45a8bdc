/* Storages as text, from bytes. */
#include "tests/fuzz/convert_case.h"

#include <stdarg.h>
#include <string.h>

#define MOST_TILE_BITS 9

typedef struct text {
  char *at, *end;
} text;

static void say(text *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(text *to, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  to->at += vsnprintf(to->at, (size_t)(to->end - to->at), format, arguments);
  va_end(arguments);
  FUZZ_CHECK(to->at < to->end);
}

/* A power of two from two bits. */
static int power(uint8_t byte, int shift) { return 1 << (byte >> shift & 3); }

/* One time in n. */
static bool once_in(bytes *from, int n) { return bytes_next(from) % n == 0; }

static void shuffle(bytes *from, int *list, int n) {
  for (int i = n - 1; i > 0; i--) {
    int other = bytes_next(from) % (i + 1), kept = list[i];
    list[i] = list[other];
    list[other] = kept;
  }
}

/* ---- layouts of registers ---- */

static void say_blocked(bytes *from, text *to) {
  uint8_t sizes = bytes_next(from), rest = bytes_next(from), first = bytes_next(from) & 1;
  int lanes = 1 << rest % 6, warps = 1 << (rest >> 3) % 3;
  say(to, "blocked(size_per_thread=[%d,%d], threads_per_warp=[%d,%d], warps_per_cta=[%d,%d], "
          "order=[%d,%d])",
      power(sizes, 0), power(sizes, 2), lanes, 32 / lanes, warps, 4 / warps, first, !first);
}

static void say_nvmma(bytes *from, text *to) {
  int warps = 1 << bytes_next(from) % 3;
  say(to, "nvmma(version=[2,0], warps_per_cta=[%d,%d], instr_shape=[16,8])", warps, 4 / warps);
}

static void say_dot(bytes *from, text *to) {
  say(to, "dot(operand=%d, k_width=%d, parent=", bytes_next(from) & 1, 1 << bytes_next(from) % 3);
  say_nvmma(from, to);
  say(to, ")");
}

/* ---- pitches ---- */

/* Strides of a permutation of the axes, with gaps, most of them such as bytes of two elements want. */
static void choose_strides(bytes *from, int rank, const int64_t *shape, int64_t *strides) {
  int order[LLRT_MAX_RANK];
  int64_t next = 1;
  bool even = !once_in(from, 4);
  for (int i = 0; i < rank; i++) order[i] = i;
  shuffle(from, order, rank);
  for (int i = 0; i < rank; i++) {
    strides[order[i]] = next;
    next = next * (shape[order[i]] > 0 ? shape[order[i]] : 1) + (bytes_next(from) & 3);
    if (even) next += next % 2;
  }
}

static void say_strided(bytes *from, int rank, const int64_t *shape, int64_t *strides, text *to) {
  choose_strides(from, rank, shape, strides);
  say(to, "strided");
  if (rank == 0 || once_in(from, 3)) return; /* the tensor brings them */
  say(to, "([");
  for (int i = 0; i < rank; i++) say(to, "%s%lld", i ? "," : "", (long long)strides[i]);
  say(to, "])");
}

/* ---- rules ---- */

typedef struct rule {
  int bits[4]; /* of the tile, by axis */
  int digits;
} rule;

/* The tile's columns: bits of the axes in any order, with sums of two where a byte says so, and copies. */
static void say_tile(bytes *from, int rank, const rule *of, text *to) {
  int axis_of[MOST_TILE_BITS + 2], bit_of[MOST_TILE_BITS + 2], order[MOST_TILE_BITS + 2], n = 0;
  for (int axis = 0; axis < rank; axis++)
    for (int b = 0; b < of->bits[axis]; b++, n++) {
      axis_of[n] = axis;
      bit_of[n] = b;
    }
  int copies = once_in(from, 8), all = n + copies;
  bool sums = once_in(from, 3);
  for (int i = 0; i < all; i++) order[i] = i;
  shuffle(from, order, all);
  say(to, ", tile={offset: [");
  for (int i = 0; i < all; i++) {
    int64_t column[4] = {0};
    if (order[i] < n) column[axis_of[order[i]]] = (int64_t)1 << bit_of[order[i]];
    int other = bytes_next(from) % all;
    bool added = sums && order[i] < n && order[other] < n && other < i; /* of an earlier one: still independent */
    if (added) column[axis_of[order[other]]] ^= (int64_t)1 << bit_of[order[other]];
    say(to, "%s[", i ? "," : "");
    for (int axis = 0; axis < rank; axis++) say(to, "%s%lld", axis ? "," : "", (long long)column[axis]);
    say(to, "]");
  }
  say(to, "]} -> [");
  for (int axis = 0; axis < rank; axis++) say(to, "%sdim%d:%d", axis ? ", " : "", axis, 1 << of->bits[axis]);
  say(to, "]");
}

static void say_digit(bytes *from, rule *of, int axis, int64_t extent, text *to) {
  const char *reversed = once_in(from, 12) ? " reversed" : "";
  say(to, of->digits++ ? ", " : "");
  if (axis < 0) say(to, "replica: %lld", (long long)extent);
  else if (extent < 0) say(to, "dim%d: rest%s", axis, reversed);
  else say(to, "dim%d: %lld%s", axis, (long long)extent, reversed);
}

/* Fixed digits, some copies, and then what is left of every axis. */
static void say_digits(bytes *from, int rank, const int64_t *shape, rule *of, text *to) {
  static const int64_t extents[] = {2, 4, 8, 16, 3, 6, 12, 48};
  int order[4] = {0, 1, 2, 3};
  uint8_t inner = bytes_next(from), copies = bytes_next(from);
  shuffle(from, order, rank);
  say(to, "storage(digits=[");
  for (int i = 0; i < inner % 3; i++)
    say_digit(from, of, bytes_next(from) % rank, extents[bytes_next(from) % 8], to);
  if (copies % 8 == 0) say_digit(from, of, -1, 2 + copies / 8 % 2, to);
  for (int i = 0; i < rank; i++) {
    bool fixed = once_in(from, 24) && of->bits[order[i]] == 0 && shape[order[i]] > 0;
    say_digit(from, of, order[i], fixed ? shape[order[i]] : -1, to);
    if (copies % 8 == 1 && i == 0) say_digit(from, of, -1, 2 + copies / 8 % 3, to);
  }
  say(to, "]");
}

static void say_swizzle(bytes *from, text *to) {
  int low = bytes_next(from) % 4, length = 1 + bytes_next(from) % 3;
  say(to, ", swizzle=[%d,%d,%d%s]", low, length, length + bytes_next(from) % 3, once_in(from, 4) ? ",up" : "");
}

static void say_rule(bytes *from, int rank, const int64_t *shape, int bits, text *to) {
  rule of = {.digits = 0};
  int left = bytes_next(from) % (MOST_TILE_BITS + 1);
  for (int axis = 0; axis < rank && left > 0; axis++) {
    of.bits[axis] = bytes_next(from) % (left < 6 ? left + 1 : 6);
    left -= of.bits[axis];
  }
  bool tile = of.bits[0] + of.bits[1] + of.bits[2] + of.bits[3] > 0;
  say_digits(from, rank, shape, &of, to);
  if (tile) say_tile(from, rank, &of, to);
  if (once_in(from, 8)) say_swizzle(from, to);
  if (once_in(from, 8)) say(to, ", offset=[%d]", bytes_next(from) % 32 & (once_in(from, 4) ? 31 : 30));
  uint8_t pad = bytes_next(from);
  if (pad % 4 == 1) say(to, ", pad=keep");
  if (pad % 4 > 1) say(to, ", pad=%d", bytes_next(from) & (bits < 8 ? 15 : 127));
  say(to, ")");
}

/* ---- names ---- */

static bool is_made_by_name(const llrt_named_storage *entry, int rank) {
  int axes = 0;
  for (const char *at = entry->dims; *at; at++) axes += *at != ' ';
  return entry->formula && axes == rank;
}

static void say_named(bytes *from, int rank, text *to) {
  int wanted = bytes_next(from), n = 0, count = llrt_storage_named_count();
  for (int i = 0; i < count; i++) n += is_made_by_name(llrt_storage_named_at(i), rank);
  if (n == 0) {
    say(to, "row_major");
    return;
  }
  int i = 0;
  for (int seen = -1; i < count; i++) {
    seen += is_made_by_name(llrt_storage_named_at(i), rank);
    if (seen == wanted % n) break;
  }
  const llrt_named_storage *entry = llrt_storage_named_at(i);
  say(to, "%s", entry->name);
  for (int p = 0, said = 0; p < LLRT_NAMED_MAX_PARAMS && entry->param[p].name; p++) {
    if (entry->param[p].preset != LLRT_NAMED_REQUIRED) continue;
    say(to, "%s%s=%d", said++ ? ", " : "(", entry->param[p].name, 8 << bytes_next(from) % 4);
    if (p + 1 == LLRT_NAMED_MAX_PARAMS || !entry->param[p + 1].name) say(to, ")");
  }
}

void storage_text_make(bytes *from, int rank, const int64_t *shape, int bits, int64_t *strides,
                       char text_bytes[STORAGE_TEXT_BYTES]) {
  text to = {text_bytes, text_bytes + STORAGE_TEXT_BYTES};
  int kind = bytes_next(from) % 16;
  if (rank == 0) kind = 0;
  if (rank != 2 && (kind == 5 || kind == 6)) kind = 8;
  switch (kind) {
    case 0: say(&to, "row_major"); return;
    case 1: say(&to, "col_major"); return;
    case 2:
    case 3:
    case 4: say_strided(from, rank, shape, strides, &to); return;
    case 5: say_blocked(from, &to); return;
    case 6:
      if (once_in(from, 2)) say_dot(from, &to);
      else say_nvmma(from, &to);
      return;
    case 7: say_named(from, rank, &to); return;
    default: say_rule(from, rank, shape, bits, &to);
  }
}
