#include "sides.h"

#include "places.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int draw_log2(int64_t n) {
  return n > 0 && (n & (n - 1)) == 0 ? __builtin_ctzll((unsigned long long)n) : -1;
}

void draw_shuffle(uint64_t *seed, int *list, int n) {
  for (int i = n - 1; i > 0; i--) {
    int at = (int)draw_below(seed, i + 1), kept = list[i];
    list[i] = list[at];
    list[at] = kept;
  }
}

/* ---- shapes ---- */

int64_t draw_size(uint64_t *seed, draw_speed speed) {
  switch (draw_pick(seed, LIST_SIZE)) {
  case SIZE_TINY: return 64;
  case SIZE_SMALL: return 2048;
  case SIZE_MIDDLE: return speed == SPEED_INTERPRETED ? 4096 : 16384;
  default: return speed == SPEED_INTERPRETED ? 16384 : speed == SPEED_EMULATED ? 32768 : 131072;
  }
}

static int64_t draw_prime(uint64_t *seed, int64_t most) {
  static const int primes[] = {2,   3,   5,   7,   11,   13,   17,   19,   23,   29,
                               31,  37,  41,  43,  47,   53,   61,   67,   71,   79,
                               83,  95,  97,  101, 113,  127,  131,  191,  251,  257,
                               263, 311, 509, 521, 1021, 1031, 2039, 2053, 3001, 4099};
  int n = 0;
  while (n < (int)(sizeof primes / sizeof *primes) && primes[n] <= most) n++;
  return n ? primes[draw_below(seed, n)] : 1;
}

static int64_t draw_extent(uint64_t *seed, int kind, int64_t most) {
  int bits = 0;
  while (bits < 13 && 2ll << bits <= most) bits++;
  switch (kind) {
  case EXTENT_POWER: return 1ll << draw_below(seed, bits + 1);
  case EXTENT_NEAR: return (1ll << draw_below(seed, bits + 1)) + (draw_one_in(seed, 2) ? 1 : -1);
  case EXTENT_SMALL: return 1 + draw_below(seed, 9);
  case EXTENT_PRIME: return draw_prime(seed, most);
  case EXTENT_MULTIPLE:
    return (1 + draw_below(seed, most < 60 ? most : 60)) * (2ll << draw_below(seed, 5));
  case EXTENT_ANY: return 1 + draw_below(seed, most);
  case EXTENT_ZERO: return 0;
  default: return 1;
  }
}

void draw_shape(uint64_t *seed, int64_t most, int *rank, int64_t *shape) {
  int order[LLRT_MAX_RANK];
  int64_t left = most;
  *rank = draw_pick(seed, LIST_RANK);
  bool powers = draw_one_in(seed, 4);
  for (int a = 0; a < LLRT_MAX_RANK; a++) shape[a] = 0;
  for (int a = 0; a < *rank; a++) order[a] = a;
  draw_shuffle(seed, order, *rank);
  for (int i = 0; i < *rank; i++) {
    int kind = powers ? EXTENT_POWER : draw_pick(seed, LIST_EXTENT);
    int64_t extent = draw_extent(
        seed, kind, i + 1 < *rank && draw_one_in(seed, 2) && left > 8 ? left / 8 : left);
    if (kind != EXTENT_ZERO && extent < 1) extent = 1;
    if (extent > left) extent = powers ? 1 : left;
    shape[order[i]] = extent;
    left /= extent > 0 ? extent : 1;
    if (left < 1) left = 1;
  }
}

/* ---- text ---- */

side_text side_text_of(draw_side *side) { return (side_text){side->text, 0, sizeof side->text}; }

void side_say(side_text *to, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (to->n < to->size)
    to->n += (size_t)vsnprintf(to->text + to->n, to->size - to->n, format, arguments);
  va_end(arguments);
}

bool side_parse(const side_wish *wish, draw_side *side) {
  if (strlen(side->text) + 1 >= sizeof side->text) return false;
  return llrt_storage_parse(side->text, wish->rank, wish->shape, &side->storage) == LLRT_OK;
}

/* ---- storages ---- */

static bool draw_strided(uint64_t *seed, const side_wish *wish, bool brought, draw_side *made) {
  int order[LLRT_MAX_RANK];
  int64_t next = 1;
  memset(made, 0, sizeof *made);
  for (int a = 0; a < wish->rank; a++) order[a] = a;
  draw_shuffle(seed, order, wish->rank);
  bool even = draw_one_in(seed, 3);
  for (int i = 0; i < wish->rank; i++) {
    int64_t extent = wish->shape[order[i]];
    if (draw_one_in(seed, 4)) next += draw_below(seed, 20);
    if (even && next > 1) next += next % 2;
    made->strides[order[i]] = next;
    if (!wish->written && draw_one_in(seed, 25)) made->strides[order[i]] = 0;
    next *= extent > 0 ? extent : 1;
  }
  return llrt_storage_strided(wish->rank, brought ? NULL : made->strides, &made->storage) ==
         LLRT_OK;
}

bool draw_kind_make(uint64_t *seed, int kind, const side_wish *wish, draw_side *made) {
  memset(made, 0, sizeof *made);
  switch (kind) {
  case STORAGE_ROWS: return llrt_storage_row_major(wish->rank, &made->storage) == LLRT_OK;
  case STORAGE_COLUMNS: return llrt_storage_col_major(wish->rank, &made->storage) == LLRT_OK;
  case STORAGE_STRIDED: return draw_strided(seed, wish, false, made);
  case STORAGE_BROUGHT: return draw_strided(seed, wish, true, made);
  case STORAGE_RULE: return draw_rule(seed, wish, false, made);
  case STORAGE_CUTE: return draw_cute(seed, wish, made);
  case STORAGE_TIRX: return draw_tirx(seed, wish, made);
  case STORAGE_NAMED: return draw_named(seed, wish, false, made);
  case STORAGE_TRANSPOSED: return draw_named(seed, wish, true, made);
  case STORAGE_ONEDNN: return draw_onednn(seed, wish, made);
  case STORAGE_TILED: return draw_tiled(seed, wish, made);
  case STORAGE_LITERAL: return draw_literal(seed, wish, made);
  case STORAGE_FAMILY: return draw_family(seed, wish, made);
  case STORAGE_EXPRESSION: return draw_expression(seed, wish, made);
  case STORAGE_PADDED: return draw_padded(seed, wish, made);
  default: return draw_wgmma(seed, wish, made);
  }
}

/* Whether no place is taken twice: by elements, pads or copies. */
static bool is_disjoint(const places *of) {
  uint8_t *taken = calloc((size_t)of->span + 1, 1);
  int64_t coords[LLRT_MAX_RANK] = {0};
  bool apart = taken != NULL;
  do {
    for (int c = 0; c < of->copies && apart; c++) {
      int64_t at = places_at(of, coords, c);
      apart = at >= 0 && at < of->span && !taken[at];
      if (apart) taken[at] = 1;
    }
  } while (apart && places_next(of->padded, of->rule.rank, coords));
  free(taken);
  return apart;
}

bool side_suits(const side_wish *wish, const draw_side *side) {
  places of;
  const char *why;
  llrt_storage_binding binding;
  if (side->storage.n_targets > 0) return false;
  if (llrt_storage_bind(&side->storage, wish->rank, wish->shape, side->strides, &binding) !=
      LLRT_OK)
    return false;
  bool suits = places_make(&side->storage, wish->shape, side->strides, &of, &why) &&
               of.span <= wish->most && of.positions * of.copies <= wish->most;
  if (suits && wish->written && of.elements > 0) suits = is_disjoint(&of);
  places_free(&of);
  return suits;
}

void draw_side_make(uint64_t *seed, const side_wish *wish, draw_side *made) {
  for (int turn = 0; turn < 12; turn++) {
    int kind = draw_pick(seed, LIST_STORAGE);
    uint64_t own = draw_next(seed);
    if (draw_kind_make(&own, kind, wish, made) && side_suits(wish, made)) return;
  }
  draw_kind_make(seed, STORAGE_ROWS, wish, made);
}

int32_t draw_address(uint64_t *seed, llrt_dtype type) {
  int bytes = llrt_dtype_bits(type) / 8;
  if (bytes == 0) bytes = 1;
  switch (draw_pick(seed, LIST_ADDRESS)) {
  case ADDRESS_ELEMENT: return bytes * (1 + (int32_t)draw_below(seed, 256 / bytes - 1));
  case ADDRESS_POWER: {
    int32_t power = 1 << draw_below(seed, 8);
    return power < bytes ? bytes : power * (1 + 2 * (int32_t)draw_below(seed, 2)) % 256;
  }
  default: return 0;
  }
}

bool side_brings_strides(const draw_side *side) {
  for (int i = 0; i < side->storage.n_digits; i++)
    if (side->storage.digit[i].stride == LLRT_STRIDE_RUNTIME) return true;
  return false;
}

/* ---- print ---- */

void side_say_shape(side_text *to, int rank, const int64_t *shape) {
  for (int a = 0; a < rank; a++) side_say(to, "%s%lld", a ? "," : "[", (long long)shape[a]);
  side_say(to, rank ? "]" : "[]");
}

void side_say_storage(side_text *to, const llrt_storage *storage) {
  char text[DRAW_TEXT_BYTES];
  size_t length;
  if (llrt_storage_print(storage, text, sizeof text, &length) == LLRT_OK) side_say(to, "%s", text);
}

void side_print(side_text *to, const char *name, const draw_side *side, int rank) {
  side_say(to, "\n    %s ", name);
  if (side->text[0]) side_say(to, "%s", side->text);
  else side_say_storage(to, &side->storage);
  if (side_brings_strides(side)) {
    side_say(to, " strides ");
    side_say_shape(to, rank, side->strides);
  }
  if (side->address) side_say(to, " at +%d bytes", side->address);
}
