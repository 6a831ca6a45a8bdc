/* The axes of one step: what extents they have in the checkpoint, which part of them is this
 * rank's, and what that becomes in the engine. */
#ifndef LLRT_RECIPE_AXES_H
#define LLRT_RECIPE_AXES_H

#include "recipe/plan.h"

#define AXES_MAX 24
#define AXES_MAX_PARTS 16 /* behind each other along one axis */

/* Positions begin .. begin + length - 1, for which the engine has `room`, from `at` on. */
typedef struct axis_part {
  bool known;
  int64_t full; /* positions in the checkpoint */
  int64_t begin, length, at, room;
} axis_part;

typedef struct axis_entry {
  span name;                      /* or of a number that shapes alone tell, in upper case */
  int fuse;                       /* of the row; -1: none */
  bool stacked;                   /* fusing makes it: each part has one position */
  axis_part part[AXES_MAX_PARTS]; /* [0] alone where it is not fused, or stacked */
  int64_t local, padded;          /* positions on this rank without and with pads */
} axis_entry;

typedef struct axis_list {
  recipe_binder *binder;
  const recipe_row *row;
  int64_t n_parts[RECIPE_MAX_FUSES];
  int n;
  axis_entry entry[AXES_MAX];
} axis_list;

/* Parts of each fuse, of one tensor. */
typedef struct part_choice {
  int64_t part[RECIPE_MAX_FUSES];
} part_choice;

/* Names all axes of a row; nothing of them is known. */
llrt_status axes_begin(recipe_binder *binder, const recipe_row *row, axis_list *axes);

/* Learns from one tensor of the checkpoint. `final`: what is not to be known now is an error. */
llrt_status axes_learn(axis_list *axes, const recipe_tensor *tensor, const part_choice *choice,
                       const llrt_named_tensor *given, bool final);

/* Once all is known: wheres, shards, pads. */
llrt_status axes_settle(axis_list *axes);

axis_entry *axes_entry(axis_list *axes, span name); /* NULL: there is none */

/* The part of an entry that a tensor of this choice has. */
axis_part *axes_part(axis_entry *entry, const part_choice *choice);

/* What names are in texts of the checkpoint's tensors, and (choice NULL) of the engine's. */
typedef struct axes_scope {
  axis_list *axes;
  const part_choice *choice;
} axes_scope;
int axes_find(void *scope, const char *name, size_t length, int64_t *value);

#endif
