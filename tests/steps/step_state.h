/* The reference's state while a block runs, for the files that carry its steps out. It shares
 * nothing with the interpreter. */
#ifndef LLRT_TESTS_STEPS_STEP_STATE_H
#define LLRT_TESTS_STEPS_STEP_STATE_H

#include "step_case.h"

/* An element: its bits, and those that are not defined. */
typedef struct step_element {
  uint64_t bits, open;
} step_element;

typedef struct step_state {
  const step_case *c;
  const plan_kernel *kernel;
  unsigned char *const *memory, *const *open;
  int64_t block;
  uint64_t grid, iteration;
  int64_t upper[PLAN_MAX_DIGITS];
  step_element *value[PLAN_MAX_VALUES]; /* by warp, lane, register: register fastest */
  step_element *shared;                 /* by buffer byte * 2: elements of 4 bits or more */
  int64_t turn, begin, end;             /* of a walk; turn < 0: before it */
  step_element *cells;                  /* that blocks published */
  step_element *panel; /* what was staged: panel_elements of a tensor, from panel_first on */
  int64_t panel_first, panel_elements;
  bool *in_panel; /* of a panel of the destination: what was stored to it */
  char *message;
} step_state;

/* Places of a value in the block; registers of a thread. */
int64_t step_places_of(const step_state *s, int value);
int64_t step_registers_of(const step_state *s, int value);
/* The tile coordinate (the kernel's: of bits that the value is reduced along 0) of place `at`, in
 * this iteration; that of the value's own tile. */
uint64_t step_tile(const step_state *s, int value, int64_t at);
uint64_t step_own_tile(const step_state *s, int value, int64_t at);
/* Whether the place is the first of those that hold its element, among lanes and warps. */
bool step_is_first(const step_state *s, int value, int64_t at);

/* Positions of all digits at a tile coordinate of the block; whether the step's bounds hold there.
 */
void step_position(const step_state *s, uint64_t tile, int64_t position[PLAN_MAX_DIGITS]);
bool step_inside(const step_state *s, const plan_step *step,
                 const int64_t position[PLAN_MAX_DIGITS]);
int64_t step_number(const step_state *s, const plan_number *number);
/* Where an element lies, in elements from the tensor's first. */
int64_t step_offset(const step_state *s, int tensor, const int64_t position[PLAN_MAX_DIGITS]);
step_element step_read(const step_state *s, int tensor, int64_t offset);

bool step_fail(step_state *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Steps first .. first + n - 1 with their bodies. */
bool step_run(step_state *s, int first, int n);

/* step_reference_values.c: steps that make values of values. */
bool step_run_value(step_state *s, const plan_step *step);

/* The elements of a value by coordinate of the kernel's tile, where the bits that it is reduced
 * along are 0: to be freed. The kernel's tile bits that it has. */
step_element *step_by_tile(const step_state *s, int value);
uint64_t step_bits_of(const step_state *s, int value);

/* step_reference_shared.c: what lies in shared memory: stores, loads, copies. The value as a buffer
 * has it. */
bool step_run_shared(step_state *s, const plan_step *step);
void step_fetch(step_state *s, int value, int buffer);

/* What changes nothing that it is joined with by the step. */
uint64_t step_neutral(const plan_step *step);

/* step_reference_lookback.c: what blocks tell each other. begin: before the first of them; s->cells
 * is to be freed. */
bool step_run_lookback(step_state *s, const plan_step *step);
void step_begin_lookback(step_state *s);

/* step_reference_dot.c: products. */
bool step_run_dot(step_state *s, const plan_step *step);

/* step_reference_turns.c: PLAN_WALK and PLAN_AHEAD, step number `at`. */
bool step_walk(step_state *s, int at);
bool step_ahead(step_state *s, int at);

/* The sum of the columns whose numbers are the bits of `of`. */
uint64_t step_combination(const uint64_t *columns, uint64_t of);

#endif
