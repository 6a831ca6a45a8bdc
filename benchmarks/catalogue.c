#include "catalogue.h"

#include "catalogue_rules.h"
#include "harness.h"

#include <llrt/layout_algebra.h>
#include <llrt/storage_named.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WIDTHS = 8 };

/* Where a walk over the catalogue is. */
typedef struct walk {
  int64_t bytes;
  bool odd;
  void *user;
  void (*visit)(void *user, const conversion *c);
} walk;

static void stop(const char *name, const char *what) {
  fprintf(stderr, "catalogue: %s: %s\n", name, what);
  exit(1);
}

/* ---- rules ---- */

static const llrt_named_storage *named(const char *name) {
  for (int i = 0; i < llrt_storage_named_count(); i++)
    if (strcmp(llrt_storage_named_at(i)->name, name) == 0) return llrt_storage_named_at(i);
  return NULL;
}

static const catalogue_rule *find_rule(const char *name) {
  for (int i = 0; i < catalogue_rules_count; i++)
    if (strcmp(catalogue_rules[i].name, name) == 0) return &catalogue_rules[i];
  return NULL;
}

static int widths_of(const catalogue_rule *rule, int *widths) {
  const llrt_named_storage *entry = named(rule->name);
  const char *text = rule->widths;
  int n = 0;
  if (!text && !entry) stop(rule->name, "there is no such storage");
  if (!text) text = entry->widths;
  for (char *end; *text && n < MAX_WIDTHS; text = *end == ',' ? end + 1 : end)
    widths[n++] = (int)strtol(text, &end, 10);
  return n;
}

/* "f(x={128/bits})" with the width put in. */
static void expand(const catalogue_rule *rule, int width, char *out, size_t size) {
  const char *at = rule->expression ? rule->expression : rule->name;
  size_t used = 0;
  for (; *at && used + 1 < size; at++) {
    if (*at != '{') {
      out[used++] = *at;
      continue;
    }
    long number = strtol(at + 1, NULL, 10);
    used += (size_t)snprintf(out + used, size - used, "%ld", number ? number / width : width);
    at = strchr(at, '}');
  }
  out[used] = 0;
}

/* Extents from the rule's text; returns the axis that grows, whose extent is one step. */
static int read_shape(const catalogue_rule *rule, bool odd, conversion *c) {
  const char *at = odd && rule->odd ? rule->odd : rule->even;
  int grows = 0;
  c->rank = 0;
  for (char *end; *at && c->rank < LLRT_MAX_RANK; at = end + (*end == ' ')) {
    if (*at == '*') {
      grows = c->rank;
      at++;
    }
    c->shape[c->rank++] = strtoll(at, &end, 10);
  }
  return grows;
}

/* ---- one conversion ---- */

static void make_storage(const catalogue_rule *rule, int width, const conversion *c,
                         llrt_storage *out) {
  char text[256];
  if (!rule) {
    harness_must(llrt_storage_row_major(c->rank, out), "row_major");
    return;
  }
  expand(rule, width, text, sizeof text);
  harness_must(llrt_storage_parse(text, c->rank, c->shape, out), text);
}

/* The same places for a tensor whose two axes are exchanged. */
static void swap_axes(llrt_storage *storage) {
  static const char *const order[] = {"dim1", "dim0"}, *const names[] = {"dim0", "dim1"};
  for (int i = 0; i < storage->n_digits; i++) storage->digit[i].axis = 1 - storage->digit[i].axis;
  if (!storage->tile.n_out) return;
  harness_must(llrt_layout_transpose_outs(&storage->tile, order, 2, &storage->tile), "swap");
  harness_must(llrt_layout_rename_outs(&storage->tile, order, names, 2, &storage->tile), "swap");
}

static int64_t larger_bytes(conversion *c, int axis, int64_t extent) {
  c->shape[axis] = extent;
  harness_must(conversion_measure(c), c->name);
  return c->from_bytes > c->to_bytes ? c->from_bytes : c->to_bytes;
}

/* The largest multiple of the step with which both sides fit; for odd shapes an odd one. */
static void grow(const walk *w, int axis, conversion *c) {
  int64_t step = c->shape[axis], low = 1, high = 2;
  while (larger_bytes(c, axis, high * step) <= w->bytes) high *= 2;
  for (low = high / 2; high - low > 1;) {
    int64_t middle = low + (high - low) / 2;
    *(larger_bytes(c, axis, middle * step) <= w->bytes ? &low : &high) = middle;
  }
  if (w->odd && low % 2 == 0) low--;
  larger_bytes(c, axis, low * step);
}

static void visit_one(const walk *w, const catalogue_rule *shape, const catalogue_rule *from,
                      const catalogue_rule *to, bool swapped, int width) {
  conversion c = {.dtype = conversion_dtype(width), .extra = shape->widths};
  snprintf(c.from_name, sizeof c.from_name, "%s", from ? from->name : "row_major");
  snprintf(c.to_name, sizeof c.to_name, "%s", to ? to->name : "row_major");
  snprintf(c.name, sizeof c.name, "%s->%s/%d", c.from_name, c.to_name, width);
  int grows = read_shape(shape, w->odd, &c);
  make_storage(from, width, &c, &c.from);
  make_storage(to, width, &c, &c.to);
  if (swapped) swap_axes(from == shape ? &c.to : &c.from);
  grow(w, grows, &c);
  w->visit(w->user, &c);
}

/* ---- the walk ---- */

static void visit_pair(const walk *w, const catalogue_pair *pair) {
  const catalogue_rule *from = find_rule(pair->from), *to = find_rule(pair->to);
  if (!from || !to) stop(pair->from, "a pair without a rule");
  int ours[MAX_WIDTHS], theirs[MAX_WIDTHS];
  int n_ours = widths_of(from, ours), n_theirs = widths_of(to, theirs);
  for (int i = 0; i < n_ours; i++)
    for (int k = 0; k < n_theirs; k++) {
      if (ours[i] != theirs[k]) continue;
      visit_one(w, from, from, to, pair->swapped, ours[i]);
      visit_one(w, from, to, from, pair->swapped, ours[i]);
    }
}

/* row_major to itself is the copy. */
void catalogue_visit_missing(void *user, void (*visit)(void *user, const char *name)) {
  for (int i = 0; i < llrt_storage_named_count(); i++) {
    const char *name = llrt_storage_named_at(i)->name;
    if (strcmp(name, "row_major") != 0 && !find_rule(name)) visit(user, name);
  }
}

void catalogue_visit(int64_t bytes, bool odd, void *user,
                     void (*visit)(void *user, const conversion *c)) {
  walk w = {.bytes = bytes, .odd = odd, .user = user, .visit = visit};
  for (int i = 0; i < catalogue_rules_count; i++) {
    const catalogue_rule *rule = &catalogue_rules[i];
    int widths[MAX_WIDTHS], n = widths_of(rule, widths);
    for (int k = 0; k < n; k++) {
      visit_one(&w, rule, NULL, rule, false, widths[k]);
      visit_one(&w, rule, rule, NULL, false, widths[k]);
    }
  }
  for (int i = 0; i < catalogue_pairs_count; i++) visit_pair(&w, &catalogue_pairs[i]);
}

bool catalogue_is_large(const char *name) {
  for (int i = 0; i < catalogue_large_count; i++)
    if (strcmp(catalogue_large[i], name) == 0) return true;
  return false;
}
