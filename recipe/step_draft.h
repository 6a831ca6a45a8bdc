/* A step while it is bound: what binding rows of copies and rows that compute share. Private to
 * recipe. */
#ifndef LLRT_RECIPE_STEP_DRAFT_H
#define LLRT_RECIPE_STEP_DRAFT_H

#include "recipe/axes.h"

typedef struct step_draft {
  recipe_binder *binder;
  const recipe_row *row;
  const row_names *known;
  axis_list axes;
  int64_t choices; /* of parts */
  int32_t *tensor; /* [n_in][choices]: of the checkpoint */
  int32_t first;   /* tensor that was found, which messages name; -1: none */
} step_draft;

part_choice draft_choice(const step_draft *step, int64_t number);

/* Where the elements of a tensor lie, by the axes of `out`; choice NULL: the engine's tensor. */
llrt_status draft_image(step_draft *step, const recipe_tensor *tensor, const recipe_tensor *out,
                        const part_choice *choice, storage_image *image);

/* That a tensor of this stored shape has the bytes of the image. */
llrt_status draft_check_bytes(const recipe_tensor *tensor, const storage_image *image, int rank,
                              const int64_t *shape, size_t *bytes);

/* Adds an output to the plan: its whole image, and its number. */
llrt_status draft_output(step_draft *step, const recipe_tensor *out, storage_image *to,
                         int *engine);

/* Where an axis of an output is for this choice of parts: positions begin .. begin + length - 1 of
 * the checkpoint come to `at`, where there is `room` for them. */
typedef struct draft_place {
  axis_part part;
  int64_t room;
  bool last; /* the axis ends there */
} draft_place;

draft_place draft_place_of(axis_entry *entry, const part_choice *choice);

/* The steps of a row that computes (recipe/bind_compute.c). */
llrt_status draft_compute(step_draft *step);

#endif
