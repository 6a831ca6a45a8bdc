/* A recipe in memory. Texts are the JSON tree's, which it keeps. */
#ifndef LLRT_RECIPE_RECIPE_H
#define LLRT_RECIPE_RECIPE_H

#include "base/json.h"
#include "recipe/number.h"

#include <llrt/expression.h>
#include <llrt/map.h>
#include <llrt/recipe.h>

#include <string.h>

typedef struct span {
  const char *text; /* not zero-terminated */
  size_t length;
} span;

static inline bool span_is(span a, span b) {
  return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

static inline span span_of(const char *text) { return (span){text, strlen(text)}; }

/* An axis in a tensor's text: `g`, `~g`, `g:2`. */
typedef struct recipe_axis {
  span name;
  span extent; /* empty: not given */
  bool down;   /* counts down */
} recipe_axis;

/* "NAME: dtype[shape] = dtype[axes] in STORAGE" */
typedef struct recipe_tensor {
  const json_value *at;
  span key; /* `in` and `out` tensors of one key are one tensor */
  span name;
  llrt_dtype stored, logical;
  int n_shape, n_groups, n_axes;
  span shape[LLRT_MAX_RANK];
  /* What the storage has as axes: each some of axis[], the slowest first; none: one position. */
  struct {
    int first, n;
  } group[LLRT_MAX_RANK];
  recipe_axis axis[LLRT_MAX_RANK];
  span storage; /* empty: row_major */
} recipe_tensor;

typedef struct recipe_pad {
  const json_value *at;
  span axis, extent;
} recipe_pad;

/* Tensors that are put together: one for each part, behind each other along the axis where they
 * have it, else one position each. */
typedef struct recipe_fuse {
  const json_value *at;
  span axis;
  const json_value *parts; /* names, a list; NULL: numbers 0 .. count-1 */
  span count;
} recipe_fuse;

typedef enum recipe_shard { SHARD_NONE, SHARD_AXIS, SHARD_FIRST } recipe_shard;

/* What is done to the elements of the tensors of one key. */
typedef struct recipe_maps {
  const json_value *at;
  span key;
  int n;
  llrt_map map[LLRT_MAX_MAPS];
} recipe_maps;

typedef struct recipe_const {
  recipe_tensor tensor;
  double value;
} recipe_const;

typedef struct recipe_where {
  const json_value *at;
  span left, right;
} recipe_where;

#define RECIPE_MOST_COMPUTED 6 /* tensors of a row that computes */
#define RECIPE_LIST_AXIS "T"   /* in upper case: no recipe's */

/* What a row computes, with the signature that its tensors have: alone, and in lists. */
typedef struct recipe_expression {
  char *text, *list_text;
} recipe_expression;

#define RECIPE_MOST_LARGEST 2
#define RECIPE_ROWS "MOST" /* in upper case, as above: the largest of each position of an axis */
#define RECIPE_ALL "ALL"

/* The largest value of an expression over the whole of a row's first input, which `compute` may use
 * by its name: first that of each position of the input's first axis, then that of those. */
typedef struct recipe_largest {
  span name;
  recipe_expression of_rows, of_all;
} recipe_largest;

typedef struct recipe_row {
  const json_value *at;
  span each;
  int n_in, n_out, n_pads, n_fuses, n_maps, n_consts, n_wheres, n_largest;
  recipe_tensor *in, *out;
  recipe_pad *pad;
  recipe_fuse *fuse;
  recipe_maps *maps;
  recipe_const *constant;
  recipe_where *where;
  recipe_shard shard;
  const json_value *shard_at;
  span shard_axis, shard_block; /* an empty block: 1 */
  const json_value *compute_at;
  recipe_expression *expression; /* NULL: outputs are made of the inputs of their keys */
  recipe_largest largest[RECIPE_MOST_LARGEST];
} recipe_row;

/* A value of the config, or an expression. */
typedef struct recipe_name {
  const json_value *at;
  span name, value;
} recipe_name;

typedef enum recipe_rest { REST_KEEP, REST_DROP, REST_REFUSE } recipe_rest;

struct llrt_recipe {
  json_tree tree;
  const char *name;
  int n_rows, n_config, n_lets, n_requires;
  recipe_row *row;
  recipe_name *config, *let; /* config: value is a path */
  const json_value **require;
  recipe_rest rest;
};

/* Reads a tensor's text, which is that of `at` (a key of it, where `of_key`). */
llrt_status recipe_tensor_read(const json_value *at, bool of_key, recipe_tensor *tensor);

/* Reads a row's `compute` and `largest` (NULL: there is none), once its tensors and fuses are read.
 */
llrt_status recipe_compute_read(const json_value *value, const json_value *largest,
                                recipe_row *row);
void recipe_compute_free(recipe_row *row);

/* Adds the text in one form. */
void recipe_tensor_add(llrt_text *text, const recipe_tensor *tensor);

/* What a printing function does with its text: as much as fits, zero-terminated where size > 0. */
void recipe_copy_text(const llrt_text *text, char *buffer, size_t size, size_t *length);

#define RECIPE_MAX_FUSES 2

#endif
