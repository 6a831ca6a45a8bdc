/* Every named storage from and to row_major: at a shape of whole groups, and at an odd one, which
 * pads where the name pads. */
#include "conformance.h"
#include "tests/named_drawn.h"

#include <stdio.h>
#include <string.h>

#define CASES_A_NAME 4 /* to and from, even and odd */

/* Rules that take lists are not made by name. */
static bool is_made_by_name(const llrt_named_storage *entry) {
  return entry->formula || strcmp(entry->name, "row_major") == 0 ||
         strcmp(entry->name, "col_major") == 0 || strcmp(entry->name, "channels_last") == 0;
}

/* Entry `index` of those, or NULL; with `count` their number. */
static const llrt_named_storage *named_entry(int index, int *count) {
  const llrt_named_storage *found = NULL;
  int n = 0;
  for (int i = 0; i < NAMED_DRAWN; i++) {
    const llrt_named_storage *entry = llrt_storage_named_at(i);
    if (!is_made_by_name(entry)) continue;
    if (n++ == index) found = entry;
  }
  if (count) *count = n;
  return found;
}

int named_cases_count(void) {
  int count;
  named_entry(0, &count);
  return CASES_A_NAME * count;
}

static int rank_of(const llrt_named_storage *entry) {
  int rank = 0;
  for (const char *at = entry->dims; *at; at++) rank += *at != ' ';
  return rank ? rank : strcmp(entry->name, "channels_last") == 0 ? 4 : 2;
}

/* A width of the entry's: the turn-th. */
static llrt_dtype width_of(const llrt_named_storage *entry, int turn) {
  llrt_dtype widths[8];
  int n = 0;
  for (const char *at = entry->widths; *at; at++) {
    if (at != entry->widths && at[-1] != ',') continue;
    if (strncmp(at, "4", 1) == 0) widths[n++] = LLRT_U4;
    if (strncmp(at, "8", 1) == 0) widths[n++] = LLRT_U8;
    if (strncmp(at, "16", 2) == 0) widths[n++] = LLRT_BF16;
    if (strncmp(at, "32", 2) == 0) widths[n++] = LLRT_F32;
    if (strncmp(at, "64", 2) == 0) widths[n++] = LLRT_I64;
  }
  return n ? widths[turn % n] : LLRT_U8;
}

static bool make_storage(const llrt_named_storage *entry, const conformance_case *made,
                         llrt_storage *storage) {
  llrt_named_argument arguments[LLRT_NAMED_MAX_PARAMS];
  int n = 0;
  for (int i = 0; i < LLRT_NAMED_MAX_PARAMS && entry->param[i].name; i++) {
    if (entry->param[i].preset != LLRT_NAMED_REQUIRED) continue;
    bool bits = strcmp(entry->param[i].name, "element_bits") == 0;
    arguments[n++] =
        (llrt_named_argument){entry->param[i].name, bits ? llrt_dtype_bits(made->dtype) : 64};
  }
  return llrt_storage_named(entry->name, made->rank, made->shape, arguments, n, storage) == LLRT_OK;
}

/* Positions of an axis that tile and fixed digits hold; *fixed: there are no more. */
static int64_t axis_group(const llrt_storage *storage, int axis, bool *fixed) {
  int64_t group = storage->tile.n_out ? (int64_t)1 << storage->tile.out[axis].bits : 1;
  *fixed = true;
  for (int i = 0; i < storage->n_digits; i++) {
    if (storage->digit[i].axis != axis) continue;
    if (storage->digit[i].extent == LLRT_EXTENT_REST) *fixed = false;
    else group *= storage->digit[i].extent;
  }
  return group;
}

/* A few groups of every axis, fewer where they are large or many: whole ones, or an odd extent that
 * the pad rule fills up. */
static void choose_shape(const llrt_storage *storage, bool odd, conformance_case *made) {
  for (int axis = 0; axis < made->rank; axis++) {
    bool fixed;
    int64_t group = axis_group(storage, axis, &fixed);
    int64_t groups = fixed            ? 1
                     : group >= 32    ? 1 + odd
                     : group > 1      ? 2 + odd
                     : made->rank > 3 ? 4
                                      : 24;
    made->shape[axis] = group * groups;
    if (odd && storage->pad != LLRT_PAD_NONE && group > 1) made->shape[axis] -= group / 2 - 1;
    if (odd && group == 1 && made->shape[axis] % 2 == 0) made->shape[axis]++;
  }
}

bool named_cases_make(int index, conformance_case *made) {
  const llrt_named_storage *entry = named_entry(index / CASES_A_NAME, NULL);
  bool odd = index & 1, to = index & 2;
  side *named = to ? &made->destination : &made->source;
  side *rows = to ? &made->source : &made->destination;
  made->rank = rank_of(entry);
  made->dtype = width_of(entry, index / CASES_A_NAME + index % CASES_A_NAME);
  /* The extent of the last axis may be a parameter: a first shape, then the one that fits it. */
  for (int axis = 0; axis < made->rank; axis++) made->shape[axis] = odd ? 96 : 64;
  if (!make_storage(entry, made, &named->storage)) return false;
  choose_shape(&named->storage, odd, made);
  snprintf(made->title, sizeof made->title, "%s %s row_major, %s shape", entry->name,
           to ? "<-" : "->", odd ? "odd" : "even");
  return make_storage(entry, made, &named->storage) &&
         llrt_storage_row_major(made->rank, &rows->storage) == LLRT_OK;
}
