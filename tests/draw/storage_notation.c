/* Storages that are written in the notations of others, or have names. What digits in a notation
 * mean is known without the parser. */
#include "sides.h"
#include "tests/named_drawn.h"

#include <string.h>

/* ---- CuTe ---- */

static int digits_of(const llrt_storage *rule, int axis, const llrt_digit **list) {
  int n = 0;
  for (int i = 0; i < rule->n_digits; i++)
    if (rule->digit[i].axis == axis) list[n++] = &rule->digit[i];
  return n;
}

static void say_tuples(side_text *to, const llrt_storage *rule, bool strides) {
  const llrt_digit *list[LLRT_MAX_DIGITS];
  side_say(to, "(");
  for (int a = 0; a < rule->rank; a++) {
    int n = digits_of(rule, a, list);
    side_say(to, "%s%s", a ? "," : "", n > 1 ? "(" : "");
    for (int i = 0; i < n; i++)
      side_say(to, "%s%lld", i ? "," : "",
               (long long)(strides ? list[i]->stride : list[i]->extent));
    side_say(to, "%s", n > 1 ? ")" : "");
  }
  side_say(to, ")");
}

/* A rule whose extents and strides are numbers and which has nothing but digits, a swizzle and an
 * offset. */
static bool draw_numbers(uint64_t *seed, const side_wish *wish, draw_side *made) {
  if (wish->rank == 0) return false;
  for (int a = 0; a < wish->rank; a++)
    if (wish->shape[a] == 0) return false;
  draw_rule(seed, wish, true, made);
  for (int i = 0; i < made->storage.n_digits; i++)
    if (made->storage.digit[i].stride == LLRT_STRIDE_PACKED || made->storage.digit[i].extent == 0)
      return false;
  made->meant = made->storage;
  made->is_meant = true;
  return true;
}

bool draw_cute(uint64_t *seed, const side_wish *wish, draw_side *made) {
  if (!draw_numbers(seed, wish, made)) return false;
  const llrt_storage *rule = &made->meant;
  const llrt_swizzle *z = &rule->swizzle;
  side_text to = side_text_of(made);
  if (z->upward) return false;
  if (z->swizzle_len)
    side_say(&to, "Swizzle<%d,%d,%d> o ", z->swizzle_len, z->per_element, z->atom_len);
  if (rule->offset[0]) side_say(&to, "%lld o ", (long long)rule->offset[0]);
  say_tuples(&to, rule, false);
  side_say(&to, ":");
  say_tuples(&to, rule, true);
  return side_parse(wish, made);
}

/* ---- TIRx ---- */

/* Extents or strides, from the slowest part of the first axis on: the last is the fastest. */
static void say_iters(side_text *to, const llrt_storage *rule, bool strides) {
  const llrt_digit *list[LLRT_MAX_DIGITS];
  int said = 0;
  side_say(to, "(");
  for (int a = 0; a < rule->rank; a++)
    for (int i = digits_of(rule, a, list) - 1; i >= 0; i--)
      side_say(to, "%s%lld", said++ ? "," : "",
               (long long)(strides ? list[i]->stride : list[i]->extent));
  side_say(to, ")");
}

bool draw_tirx(uint64_t *seed, const side_wish *wish, draw_side *made) {
  if (!draw_numbers(seed, wish, made)) return false;
  const llrt_swizzle *z = &made->meant.swizzle;
  side_text to = side_text_of(made);
  if (z->swizzle_len)
    side_say(&to, "swizzle(per_element=%d, swizzle_len=%d, atom_len=%d%s) o ", z->per_element,
             z->swizzle_len, z->atom_len, z->upward ? ", swizzle_inner=false" : "");
  side_say(&to, "S[");
  say_iters(&to, &made->meant, false);
  side_say(&to, ":");
  say_iters(&to, &made->meant, true);
  side_say(&to, "]");
  if (!wish->plain && draw_one_in(seed, 6)) {
    int64_t copies = 2 + draw_below(seed, 3), stride = 1 + draw_below(seed, 3000);
    side_say(&to, " + R[%lld:%lld]", (long long)copies, (long long)stride);
    if (made->meant.n_digits == LLRT_MAX_DIGITS) return false;
    made->meant.digit[made->meant.n_digits++] =
        (llrt_digit){copies, stride, LLRT_AXIS_REPLICA, 0, false};
  }
  if (made->meant.offset[0]) side_say(&to, " + %lld", (long long)made->meant.offset[0]);
  return side_parse(wish, made);
}

/* ---- names ---- */

static int axes_of(const llrt_named_storage *entry) {
  int n = 0;
  for (const char *at = entry->dims; *at; at++) n += *at != ' ';
  return n;
}

static int64_t draw_parameter(uint64_t *seed, const llrt_named_storage *entry, int p,
                              const side_wish *wish) {
  const char *name = entry->param[p].name;
  int64_t last = wish->rank ? wish->shape[wish->rank - 1] : 1;
  if (strcmp(name, "element_bits") == 0) return draw_one_in(seed, 2) ? 8 : 16;
  if (strcmp(name, "half") == 0) return wish->rank > 1 ? wish->shape[wish->rank - 2] / 2 : 1;
  if (strcmp(name, "row") == 0) return draw_one_in(seed, 4) ? last : (last + 63) / 64 * 64;
  if (strcmp(name, "record") == 0) return entry->param[p].preset + 4 * draw_below(seed, 9);
  if (strcmp(name, "skip") == 0) return draw_below(seed, 20);
  if (strcmp(name, "ld") == 0)
    return 32 * ((wish->rank > 1 ? wish->shape[wish->rank - 2] : 1) + draw_below(seed, 40) + 31);
  return draw_one_in(seed, 2) ? 1ll << draw_below(seed, 8) : 1 + draw_below(seed, 24);
}

/* ", " between arguments, "(" before the first. */
static const char *before(int *said) { return (*said)++ ? ", " : "("; }

static void say_named(uint64_t *seed, const llrt_named_storage *entry, const side_wish *wish,
                      side_text *to) {
  int said = 0;
  side_say(to, "%s", entry->name);
  for (int p = 0; p < LLRT_NAMED_MAX_PARAMS && entry->param[p].name; p++) {
    if (entry->param[p].preset != LLRT_NAMED_REQUIRED && !draw_one_in(seed, 3)) continue;
    int64_t value = draw_parameter(seed, entry, p, wish);
    side_say(to, "%s%s=%lld", before(&said), entry->param[p].name, (long long)value);
  }
  if (entry->pad != LLRT_PAD_NONE && draw_one_in(seed, 2)) {
    if (draw_one_in(seed, 3)) side_say(to, "%spad=keep", before(&said));
    else
      side_say(to, "%spad=%d", before(&said),
               draw_one_in(seed, 2) ? 0 : (int)draw_below(seed, wish->bits < 8 ? 16 : 128));
  }
  if (said) side_say(to, ")");
}

bool draw_named(uint64_t *seed, const side_wish *wish, bool transposed, draw_side *made) {
  side_text to = side_text_of(made);
  int n = NAMED_DRAWN;
  memset(made, 0, sizeof *made);
  if (transposed && wish->rank < 2) return false;
  const llrt_named_storage *entry = llrt_storage_named_at((int)draw_below(seed, n));
  for (int i = 0; i < 20 && (axes_of(entry) > wish->rank ||
                             (!entry->formula && strcmp(entry->name, "channels_last") != 0));
       i++)
    entry = llrt_storage_named_at((int)draw_below(seed, n));
  if (transposed) side_say(&to, "transposed(");
  if (transposed && draw_one_in(seed, 3)) side_say(&to, "row_major");
  else say_named(seed, entry, wish, &to);
  if (transposed) side_say(&to, ")");
  return side_parse(wish, made);
}

/* ---- onednn ---- */

static void say_list(side_text *to, const char *name, const int *list, int n) {
  side_say(to, "%s=[", name);
  for (int i = 0; i < n; i++) side_say(to, "%s%d", i ? "," : "", list[i]);
  side_say(to, "]");
}

bool draw_onednn(uint64_t *seed, const side_wish *wish, draw_side *made) {
  int n = 1 + (int)draw_below(seed, 3), blocks[3], axes[3], order[LLRT_MAX_RANK];
  side_text to = side_text_of(made);
  memset(made, 0, sizeof *made);
  if (wish->rank == 0) return false;
  for (int i = 0; i < n; i++) {
    blocks[i] = draw_one_in(seed, 4) ? 2 + (int)draw_below(seed, 6) : 2 << draw_below(seed, 4);
    axes[i] = (int)draw_below(seed, wish->rank);
  }
  for (int a = 0; a < wish->rank; a++) order[a] = a;
  draw_shuffle(seed, order, wish->rank);
  llrt_storage *meant = &made->meant;
  *meant = (llrt_storage){.rank = wish->rank, .pad = LLRT_PAD_VALUE};
  for (int i = n - 1; i >= 0; i--)
    meant->digit[meant->n_digits++] =
        (llrt_digit){blocks[i], LLRT_STRIDE_PACKED, axes[i], 0, false};
  for (int i = wish->rank - 1; i >= 0; i--)
    meant->digit[meant->n_digits++] =
        (llrt_digit){LLRT_EXTENT_REST, LLRT_STRIDE_PACKED, order[i], 0, false};
  made->is_meant = true;
  side_say(&to, "onednn(");
  say_list(&to, "inner_blks", blocks, n);
  say_list(&to, ", inner_idxs", axes, n);
  say_list(&to, ", order", order, wish->rank);
  side_say(&to, ")");
  return side_parse(wish, made);
}
