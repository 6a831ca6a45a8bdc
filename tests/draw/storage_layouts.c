/* Layouts over F2 as storages: literals, families, expressions. They take shapes of powers of two
 * alone. */
#include "sides.h"

#include <string.h>

/* ---- literals ---- */

typedef struct literal {
  int rank, bits[LLRT_MAX_RANK], shift[LLRT_MAX_RANK], out; /* bits of dim0, dim1, … */
  int order[LLRT_MAX_RANK];                                 /* of the dims as they are written */
  int in, cuts[4];                                          /* in-dims end at these bits */
  uint64_t column[LLRT_MAX_BITS];
} literal;

static bool powers_of(const side_wish *wish, int *bits) {
  for (int a = 0; a < wish->rank; a++)
    if ((bits[a] = draw_log2(wish->shape[a])) < 0) return false;
  return wish->rank > 0;
}

static void draw_columns(uint64_t *seed, literal *made) {
  for (int i = 0; i < made->in; i++) {
    int at = (int)draw_below(seed, i + 1);
    made->column[i] = made->column[at];
    made->column[at] = i < made->out          ? 1ull << i
                       : draw_one_in(seed, 2) ? 0
                                              : draw_next(seed) & ((1ull << made->out) - 1);
  }
  int sums = draw_one_in(seed, 2) && made->in ? (int)draw_below(seed, 2 * made->in) : 0;
  for (int i = 0; i < sums; i++) {
    int to = (int)draw_below(seed, made->in), from = (int)draw_below(seed, made->in);
    if (to != from) made->column[to] ^= made->column[from];
  }
}

static void literal_make(uint64_t *seed, const side_wish *wish, const int *bits, literal *made) {
  *made = (literal){.rank = wish->rank};
  for (int a = 0; a < wish->rank; a++) {
    made->bits[a] = bits[a];
    made->shift[a] = made->out;
    made->out += bits[a];
    made->order[a] = a;
  }
  if (draw_one_in(seed, 2)) draw_shuffle(seed, made->order, made->rank);
  made->in = made->out + (draw_one_in(seed, 4) ? 1 + (int)draw_below(seed, 3) : 0);
  draw_columns(seed, made);
  bool flat = draw_one_in(seed, 3);
  for (int i = 0; i < 4; i++) made->cuts[i] = flat ? made->in : (int)draw_below(seed, made->in + 1);
  made->cuts[3] = made->in;
  for (int i = 0; i < 3; i++)
    for (int j = i + 1; j < 4; j++)
      if (made->cuts[j] < made->cuts[i]) made->cuts[j] = made->cuts[i];
}

static void say_column(side_text *to, const literal *of, uint64_t column) {
  side_say(to, "[");
  for (int i = 0; i < of->rank; i++) {
    int a = of->order[i];
    side_say(to, "%s%llu", i ? "," : "",
             (unsigned long long)(column >> of->shift[a] & ((1ull << of->bits[a]) - 1)));
  }
  side_say(to, "]");
}

static void say_literal(side_text *to, const literal *of) {
  static const char *const names[] = {"register", "lane", "warp", "block"};
  bool flat = of->cuts[0] == of->in;
  int at = 0;
  side_say(to, "{");
  for (int d = 0; d < (flat ? 1 : 4); d++) {
    side_say(to, "%s%s: [", d ? ", " : "", flat ? "offset" : names[d]);
    for (int first = at; at < of->cuts[d]; at++) {
      side_say(to, "%s", at > first ? "," : "");
      say_column(to, of, of->column[at]);
    }
    side_say(to, "]");
  }
  side_say(to, "} -> [");
  for (int i = 0; i < of->rank; i++)
    side_say(to, "%sdim%d:%llu", i ? ", " : "", of->order[i], 1ull << of->bits[of->order[i]]);
  side_say(to, "]");
}

/* The storage that a literal is. */
static void literal_rule(const literal *of, llrt_storage *rule) {
  *rule = (llrt_storage){.rank = of->rank};
  rule->tile.n_in = 1;
  rule->tile.n_out = (uint8_t)of->rank;
  strcpy(rule->tile.in[0].name, "offset");
  rule->tile.in[0].bits = (uint8_t)of->in;
  for (int a = 0; a < of->rank; a++) {
    memcpy(rule->tile.out[a].name, (char[]){'d', 'i', 'm', (char)('0' + a)}, 4);
    rule->tile.out[a].bits = (uint8_t)of->bits[a];
  }
  memcpy(rule->tile.column, of->column, sizeof of->column);
}

bool draw_literal(uint64_t *seed, const side_wish *wish, draw_side *made) {
  int bits[LLRT_MAX_RANK];
  literal of;
  side_text to = side_text_of(made);
  memset(made, 0, sizeof *made);
  if (!powers_of(wish, bits)) return false;
  literal_make(seed, wish, bits, &of);
  literal_rule(&of, &made->meant);
  made->is_meant = true;
  say_literal(&to, &of);
  return side_parse(wish, made);
}

bool draw_tiled(uint64_t *seed, const side_wish *wish, draw_side *made) {
  int bits[LLRT_MAX_RANK], order[LLRT_MAX_RANK];
  literal of;
  side_text to = side_text_of(made);
  memset(made, 0, sizeof *made);
  if (wish->rank == 0) return false;
  for (int a = 0; a < wish->rank; a++) {
    int most = wish->shape[a] > 0 ? __builtin_ctzll((unsigned long long)wish->shape[a]) : 2;
    bits[a] = (int)draw_below(seed, (most > 4 ? 4 : most) + 1);
    order[a] = a;
  }
  draw_shuffle(seed, order, wish->rank);
  literal_make(seed, wish, bits, &of);
  literal_rule(&of, &made->meant);
  made->is_meant = true;
  for (int a = 0; a < wish->rank; a++)
    made->meant.digit[made->meant.n_digits++] =
        (llrt_digit){LLRT_EXTENT_REST, LLRT_STRIDE_PACKED, order[a], 0, false};
  side_say(&to, "tiled([");
  for (int a = 0; a < wish->rank; a++) side_say(&to, "%s%d", a ? "," : "", 1 << bits[a]);
  side_say(&to, "], ");
  say_literal(&to, &of);
  side_say(&to, ", order=[");
  for (int a = 0; a < wish->rank; a++) side_say(&to, "%s%d", a ? "," : "", order[a]);
  side_say(&to, "])");
  return side_parse(wish, made);
}

/* ---- families ---- */

static void say_powers(uint64_t *seed, side_text *to, const char *name, int rank, int bits) {
  int each[LLRT_MAX_RANK] = {0};
  for (int i = 0; i < bits; i++) each[draw_below(seed, rank)]++;
  side_say(to, "%s=[", name);
  for (int a = 0; a < rank; a++) side_say(to, "%s%d", a ? "," : "", 1 << each[a]);
  side_say(to, "]");
}

static void say_order(uint64_t *seed, side_text *to, int rank) {
  int order[LLRT_MAX_RANK];
  for (int a = 0; a < rank; a++) order[a] = a;
  draw_shuffle(seed, order, rank);
  side_say(to, ", order=[");
  for (int a = 0; a < rank; a++) side_say(to, "%s%d", a ? "," : "", order[a]);
  side_say(to, "]");
}

static void say_blocked(uint64_t *seed, side_text *to, int rank) {
  side_say(to, "blocked(");
  say_powers(seed, to, "size_per_thread", rank, (int)draw_below(seed, 5));
  say_powers(seed, to, ", threads_per_warp", rank, draw_one_in(seed, 4) ? 6 : 5);
  say_powers(seed, to, ", warps_per_cta", rank, (int)draw_below(seed, 4));
  say_order(seed, to, rank);
  side_say(to, ")");
}

/* The result of a matrix instruction, of rank 2 or 3. */
static void say_matrix(uint64_t *seed, side_text *to, int rank) {
  static const char *const shapes[] = {"[32,32,8]", "[16,16,16]", "[32,32,4]",
                                       "[16,16,4]", "[4,64,4]",   "[64,4,4]"};
  const char *batch = rank == 3 ? "1," : "";
  int kind = (int)draw_below(seed, 4);
  if (kind == 0) side_say(to, "nvmma(version=[2,0], instr_shape=[%s16,8], ", batch);
  if (kind == 1)
    side_say(to, "nvmma(version=[3,0], instr_shape=[16,%d,%d], ", 8 << draw_below(seed, 5),
             8 << draw_below(seed, 3));
  if (kind == 2)
    side_say(to, "mfma(version=%d, instr_shape=%s, transposed=%s, ", 1 + (int)draw_below(seed, 4),
             shapes[draw_below(seed, 6)], draw_one_in(seed, 2) ? "true" : "false");
  if (kind == 3)
    side_say(to, "wmma(version=%d, transposed=%s, ", 1 + (int)draw_below(seed, 3),
             draw_one_in(seed, 2) ? "true" : "false");
  say_powers(seed, to, "warps_per_cta", rank, (int)draw_below(seed, 4));
  if (kind >= 2 && draw_one_in(seed, 4))
    say_powers(seed, to, ", tiles_per_warp", rank, (int)draw_below(seed, 3));
  side_say(to, ")");
}

static void say_shared(uint64_t *seed, const side_wish *wish, side_text *to) {
  int kind = (int)draw_below(seed, 4);
  if (kind < 2) {
    side_say(to, "%s(vec=%d, per_phase=%d, max_phase=%d",
             kind ? "rotating_shared" : "swizzled_shared", 1 << draw_below(seed, 5),
             1 << draw_below(seed, 3), 1 << draw_below(seed, 4));
    say_order(seed, to, wish->rank);
    side_say(to, ")");
    return;
  }
  static const int swizzles[] = {0, 32, 64, 128};
  side_say(to, "nvmma_shared(swizzle_bytes=%d, element_bits=%d%s)", swizzles[draw_below(seed, 4)],
           wish->bits < 8    ? 8
           : wish->bits > 32 ? 32
                             : wish->bits,
           draw_one_in(seed, 3) ? ", transposed=true" : "");
}

static void say_family(uint64_t *seed, const side_wish *wish, side_text *to) {
  int kind = (int)draw_below(seed, 10), rank = wish->rank;
  if (kind < 4) say_blocked(seed, to, rank);
  else if (kind < 6) say_matrix(seed, to, rank);
  else if (kind == 6) {
    side_say(to, "dot(operand=%d, k_width=%d, parent=", (int)draw_below(seed, 2),
             1 << draw_below(seed, 4));
    say_matrix(seed, to, rank);
    side_say(to, ")");
  } else if (kind == 7) {
    side_say(to, "slice(dim=%d, parent=", (int)draw_below(seed, rank + 1));
    if (rank == 1 && draw_one_in(seed, 2)) say_matrix(seed, to, 2);
    else say_blocked(seed, to, rank + 1);
    side_say(to, ")");
  } else {
    say_shared(seed, wish, to);
  }
}

bool draw_family(uint64_t *seed, const side_wish *wish, draw_side *made) {
  int bits[LLRT_MAX_RANK];
  side_text to = side_text_of(made);
  memset(made, 0, sizeof *made);
  if (!powers_of(wish, bits) || wish->rank > 5) return false;
  say_family(seed, wish, &to);
  return side_parse(wish, made);
}

/* ---- expressions ---- */

/* A product: the low bits of every dim by one literal, the others by another. */
static void say_product(uint64_t *seed, const side_wish *wish, const int *bits, side_text *to) {
  int low[LLRT_MAX_RANK], high[LLRT_MAX_RANK];
  literal of;
  for (int a = 0; a < wish->rank; a++) {
    low[a] = (int)draw_below(seed, bits[a] + 1);
    high[a] = bits[a] - low[a];
  }
  literal_make(seed, wish, low, &of);
  say_literal(to, &of);
  side_say(to, " * ");
  literal_make(seed, wish, high, &of);
  say_literal(to, &of);
}

bool draw_expression(uint64_t *seed, const side_wish *wish, draw_side *made) {
  int bits[LLRT_MAX_RANK], kind = (int)draw_below(seed, 6);
  literal of, first;
  side_text to = side_text_of(made);
  memset(made, 0, sizeof *made);
  if (!powers_of(wish, bits)) return false;
  literal_make(seed, wish, bits, &of);
  if (kind == 0) say_product(seed, wish, bits, &to);
  if (kind == 1 ||
      kind == 2) { /* the second as the image of its in-dims, permuted and summed by the first */
    side_wish line = {.rank = 1};
    literal_make(seed, &line, &of.in, &first);
    side_say(&to, "compose(%s{offset: [", kind == 2 ? "invert(" : "");
    for (int i = 0; i < first.out; i++)
      side_say(&to, "%s[%llu]", i ? "," : "",
               (unsigned long long)(first.column[i] & ((1ull << first.out) - 1)));
    side_say(&to, "]} -> [offset:%llu]%s, ", 1ull << first.out, kind == 2 ? ")" : "");
    for (int i = 0; i < 4; i++) of.cuts[i] = of.in;
    say_literal(&to, &of);
    side_say(&to, ")");
  }
  if (kind == 3) {
    side_say(&to, "flatten_ins(transpose_outs(");
    say_literal(&to, &of);
    draw_shuffle(seed, of.order, of.rank);
    side_say(&to, ", [");
    for (int a = 0; a < of.rank; a++) side_say(&to, "%sdim%d", a ? "," : "", of.order[a]);
    side_say(&to, "]))");
  }
  if (kind == 4) { /* a * b without a */
    literal_make(seed, wish, (int[LLRT_MAX_RANK]){1, 0, 1}, &first);
    side_say(&to, "divide_left(");
    say_literal(&to, &first);
    side_say(&to, " * ");
    say_literal(&to, &of);
    side_say(&to, ", ");
    say_literal(&to, &first);
    side_say(&to, ")");
  }
  if (kind == 5) {
    side_say(&to, "reshape_ins(");
    say_literal(&to, &of);
    int cut = (int)draw_below(seed, of.in + 1);
    side_say(&to, ", [register:%llu, lane:%llu])", 1ull << cut, 1ull << (of.in - cut));
  }
  return side_parse(wish, made);
}

/* ---- shared memory that is no layout ---- */

bool draw_padded(uint64_t *seed, const side_wish *wish, draw_side *made) {
  int bits[LLRT_MAX_RANK], interval = 2 + (int)draw_below(seed, 6),
                           second = interval + 1 + (int)draw_below(seed, 4);
  side_text to = side_text_of(made);
  memset(made, 0, sizeof *made);
  if (!powers_of(wish, bits)) return false;
  side_say(&to, "padded_shared(interval_padding=[[%d,%d]", 1 << interval, 1 << draw_below(seed, 5));
  if (draw_one_in(seed, 3)) side_say(&to, ",[%d,%d]", 1 << second, 1 << draw_below(seed, 5));
  side_say(&to, "]");
  say_order(seed, &to, wish->rank);
  side_say(&to, ")");
  return side_parse(wish, made);
}

bool draw_wgmma(uint64_t *seed, const side_wish *wish, draw_side *made) {
  static const int swizzles[] = {0, 32, 64, 128};
  side_text to = side_text_of(made);
  memset(made, 0, sizeof *made);
  if (wish->rank != 2) return false;
  side_say(&to, "wgmma_shared(major=%s, swizzle_bytes=%d, element_bits=%d)",
           draw_one_in(seed, 2) ? "k" : "mn", swizzles[draw_below(seed, 4)],
           wish->bits < 8    ? 8
           : wish->bits > 32 ? 32
                             : wish->bits);
  return side_parse(wish, made);
}
