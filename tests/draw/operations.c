#include "operations.h"

#include "combine_case.h"
#include "convert_case.h"
#include "dot_case.h"
#include "reshard_op.h"
#include "tile_case.h"

#include <string.h>

static void make_convert(uint64_t seed, draw_speed speed, void *made) {
  convert_case_make(seed, speed, made);
}
static int edit_convert(void *of, int way) { return convert_case_edit(of, way); }
static void print_convert(const void *of, char *text, size_t size) {
  convert_case_print(of, text, size);
}
static verdict run_convert(bench *at, const void *of, int words) {
  return convert_case_run(at, of, words);
}
static int context_of_convert(const void *of) { return ((const convert_case *)of)->context; }
static int words_of_convert(const void *of) {
  const convert_case *c = of;
  return c->has_other[0] | c->has_other[1] << 1;
}

static void make_gather(uint64_t seed, draw_speed speed, void *made) {
  convert_case_make_gather(seed, speed, false, made);
}
static void make_scatter(uint64_t seed, draw_speed speed, void *made) {
  convert_case_make_gather(seed, speed, true, made);
}

static void make_reduce(uint64_t seed, draw_speed speed, void *made) {
  combine_case_make(seed, speed, false, made);
}
static void make_scan(uint64_t seed, draw_speed speed, void *made) {
  combine_case_make(seed, speed, true, made);
}
static int edit_combine(void *of, int way) { return combine_case_edit(of, way); }
static void print_combine(const void *of, char *text, size_t size) {
  combine_case_print(of, text, size);
}
static verdict run_combine(bench *at, const void *of, int words) {
  return combine_case_run(at, of, words);
}
static int context_of_combine(const void *of) { return ((const combine_case *)of)->context; }
static int words_of_combine(const void *of) {
  const combine_case *c = of;
  return c->has_other[0] | c->has_other[1] << 1;
}

static void make_dot(uint64_t seed, draw_speed speed, void *made) {
  dot_case_make(seed, speed, false, made);
}
static void make_packed(uint64_t seed, draw_speed speed, void *made) {
  dot_case_make(seed, speed, true, made);
}
static int edit_dot(void *of, int way) { return dot_case_edit(of, way); }
static void print_dot(const void *of, char *text, size_t size) { dot_case_print(of, text, size); }
static verdict run_dot(bench *at, const void *of, int words) { return dot_case_run(at, of, words); }
static int context_of_dot(const void *of) { return ((const dot_case *)of)->context; }
static int words_of_dot(const void *of) {
  const dot_case *c = of;
  return c->has_other[0] | c->has_other[1] << 1;
}

static int context_of_tile(const void *of) {
  (void)of;
  return CONTEXT_KEPT;
}
static int words_of_tile(const void *of) {
  (void)of;
  return 0;
}

static const draw_operation operations[] = {
    {"convert", sizeof(convert_case), make_convert, edit_convert, print_convert, run_convert,
     context_of_convert, words_of_convert, true},
    {"gather", sizeof(convert_case), make_gather, edit_convert, print_convert, run_convert,
     context_of_convert, words_of_convert, true},
    {"scatter", sizeof(convert_case), make_scatter, edit_convert, print_convert, run_convert,
     context_of_convert, words_of_convert, true},
    {"reduce", sizeof(combine_case), make_reduce, edit_combine, print_combine, run_combine,
     context_of_combine, words_of_combine, false},
    {"scan", sizeof(combine_case), make_scan, edit_combine, print_combine, run_combine,
     context_of_combine, words_of_combine, false},
    {"dot", sizeof(dot_case), make_dot, edit_dot, print_dot, run_dot, context_of_dot, words_of_dot,
     false},
    {"packed", sizeof(dot_case), make_packed, edit_dot, print_dot, run_dot, context_of_dot,
     words_of_dot, false},
    {"tile", sizeof(tile_case), tile_case_make, tile_case_edit, tile_case_print, tile_case_run,
     context_of_tile, words_of_tile, true},
    {"reshard", RESHARD_OP_BYTES, reshard_op_make, reshard_op_edit, reshard_op_print,
     reshard_op_run, context_of_tile, words_of_tile, false},
};
_Static_assert(sizeof operations / sizeof *operations == OPERATION_COUNT,
               "an entry for each of the list");

const draw_operation *draw_operation_at(int i) { return &operations[i]; }

int draw_operation_named(const char *name) {
  for (int i = 0; i < OPERATION_COUNT; i++)
    if (strcmp(operations[i].name, name) == 0)
      return operations[i].run ? i : -1; /* what this program has */
  return -1;
}

bool draw_is_plan(const char *device) { return strncmp(device, "plan:", 5) == 0; }

bool draw_serves(const char *device, int operation) {
  if (operation == OPERATION_RESHARD) return reshard_op_serves(device);
  return operations[operation].is_planned || !draw_is_plan(device);
}

int draw_case_of(const char *device, uint64_t seed, uint64_t number, int only, uint64_t *own) {
  uint64_t state = seed * 0x9e3779b97f4a7c15 ^ (number + 1) * 0xd1342543de82ef95;
  draw_next(&state);
  int picked = draw_pick(&state, LIST_OPERATION);
  while (!draw_serves(device, picked)) picked = draw_pick(&state, LIST_OPERATION);
  *own = draw_next(&state);
  return only >= 0 ? only : picked;
}
