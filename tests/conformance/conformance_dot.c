/* Products of matrices (tests/dot): chosen ones, a sample of table 4, and random ones.
 * LLRT_TEST_DOTS=N makes it N random ones, every third with packed weights, and nothing else. */
#include "captured.h"
#include "area.h"
#include "conformance.h"
#include "rows.h"

#include "../dot/dot_reference.h"
#include "runtime/described.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD_BYTES 256
#define TABLE4_SAMPLE 200
#define RANDOM_SAMPLE 60
#define RANDOM_EXTENT 300 /* below which extents are, where nothing else is tested */

int dot_cases(void) {
  return randoms_alone() ? asked_randoms("LLRT_TEST_DOTS")
                         : dot_rows_count + TABLE4_SAMPLE + RANDOM_SAMPLE;
}

/* A drawn problem does not depend on how many rows there are. */
static void make_problem(int number, uint64_t seed, dot_problem *made) {
  if (!randoms_alone() && number >= dot_rows_count) number -= dot_rows_count;
  else if (!randoms_alone()) {
    *made = dot_rows[number];
    return;
  }
  uint64_t state = seed + 0x9E37u * (uint64_t)number;
  int most = randoms_alone() ? RANDOM_EXTENT : RANDOM_EXTENT / 3;
  bool drawn = randoms_alone() || number >= TABLE4_SAMPLE;
  if (drawn && number % 3 == 2) dot_problem_random_packed(state, most, made);
  else if (drawn) dot_problem_random(state, most, made);
  else dot_table4_problem(dot_random_below(&state, dot_table4_count()), made);
}

/* ---- one run ---- */

typedef struct dot_run {
  area_owner owner;
  dot_bench *bench;
  area memory[LLRT_DOT_ROLES];
} dot_run;

/* Where a tensor begins behind its memory's address. */
static size_t offset_of(const dot_run *run, int role, int shift) {
  const dot_problem *p = &run->bench->problem;
  int bits = llrt_dtype_bits(p->type[role]);
  return GUARD_BYTES + (size_t)shift * 16 +
         (size_t)p->shift[role] * (size_t)(bits < 8 ? 8 : bits) / 8;
}

#define NO_NUMBER 0xFF /* the bytes of a float that is none: sums show where it was read */

/* The tensors' images on the device between guards; addresses a bit off what an allocation has, for
 * odd shifts. */
static bool place(dot_run *run, int shift) {
  for (int r = 0; r < LLRT_DOT_ROLES; r++) {
    dot_part *part = &run->bench->part[r];
    if (!part->image) continue;
    size_t offset = offset_of(run, r, shift);
    part->tensor.device = run->owner.device;
    if (!area_make(&run->owner, part->bytes + offset + GUARD_BYTES, &run->memory[r])) return false;
    memset(run->memory[r].bits, r == LLRT_DOT_D ? 0xA5 : NO_NUMBER, run->memory[r].bytes);
    memcpy(run->memory[r].bits + offset, part->image, part->bytes);
    if (!area_send(&run->owner, &run->memory[r])) return false;
    part->tensor.data = run->memory[r].memory + offset;
  }
  return true;
}

/* C is D: its elements lie in D's memory. */
static void put_c_in_place(dot_run *run) {
  dot_part *c = &run->bench->part[LLRT_DOT_C], *d = &run->bench->part[LLRT_DOT_D];
  if (!run->bench->problem.in_place) return;
  memcpy(d->image, c->image, d->bytes);
}

static bool run_op(const area_owner *owner, const llrt_op *op, const op_description *desc,
                   const llrt_run_params *params) {
  CAPTURED_CHECK(owner, llrt_op_run(op, CAPTURED_STREAM, desc->tensors, desc->n_tensors, params));
  return true;
}

static bool run_prepared(dot_run *run, bool reload, area *workspace) {
  static char saved[16 << 20];
  static described_dot call;
  const area_owner *owner = &run->owner;
  const dot_part *part = run->bench->part;
  llrt_op *op, *loaded = NULL;
  size_t bytes, size = sizeof saved;
  AREA_CHECK(owner, described_dot_make(&part[LLRT_DOT_A].tensor, &part[LLRT_DOT_B].tensor,
                                       &part[LLRT_DOT_D].tensor, &run->bench->params, &call));
  AREA_CHECK(owner, described_promise(&call.desc));
  AREA_CHECK(owner, described_prepare(owner->device, &call.desc, &op));
  llrt_status status = LLRT_OK;
  if (reload) {
    status = llrt_op_save(op, saved, &size);
    if (status == LLRT_OK) status = llrt_op_load(owner->device, saved, size, &loaded);
  }
  const llrt_op *used = loaded ? loaded : op;
  const op_description *desc = &call.desc;
  if (status == LLRT_OK) status = llrt_op_workspace(used, desc->tensors, desc->n_tensors, &bytes);
  if (status == LLRT_OK && !area_make(owner, bytes + 1, workspace)) status = LLRT_OUT_OF_MEMORY;
  if (status == LLRT_OK && !area_send(owner, workspace)) status = LLRT_DEVICE;
  llrt_run_params params = {.workspace = workspace->memory, .workspace_bytes = bytes};
  int turns = run->bench->problem.in_place
                  ? 1
                  : 2; /* the second finds the workspace as the first left it */
  for (int turn = 0; turn < turns && status == LLRT_OK; turn++)
    if (!run_op(owner, used, desc, &params)) status = LLRT_DEVICE;
  llrt_status idle = llrt_stream_synchronize(owner->device, NULL);
  if (status == LLRT_OK) status = idle;
  llrt_op_destroy(&loaded);
  if (status != LLRT_OK) area_fail(owner, "run: %s", llrt_last_error());
  llrt_op_destroy(&op);
  return status == LLRT_OK && area_same(owner, workspace, "workspace");
}

static bool multiply(dot_run *run, route by, area *workspace) {
  const dot_part *part = run->bench->part;
  if (by != ROUTE_CONVERT) return run_prepared(run, by == ROUTE_LOAD, workspace);
  CAPTURED_CHECK(&run->owner,
                 llrt_dot_into(&part[LLRT_DOT_A].tensor, &part[LLRT_DOT_B].tensor,
                               &part[LLRT_DOT_D].tensor, &run->bench->params, CAPTURED_STREAM));
  return true;
}

/* What was read is as it was, and so are the guards; D is right. */
static bool check(dot_run *run) {
  area *d = &run->memory[LLRT_DOT_D];
  const dot_part *part = &run->bench->part[LLRT_DOT_D];
  size_t offset = (size_t)((uint8_t *)part->tensor.data - d->memory);
  uint8_t *found = malloc(part->bytes + 1);
  if (!found) return area_fail(&run->owner, "out of memory");
  llrt_status status = llrt_memory_copy(run->owner.device, found, part->tensor.data, part->bytes,
                                        LLRT_COPY_FROM_DEVICE, NULL);
  if (status == LLRT_OK) status = llrt_stream_synchronize(run->owner.device, NULL);
  bool right = status == LLRT_OK || area_fail(&run->owner, "reading back: %s", llrt_last_error());
  right = right && dot_reference_check(run->bench, found, run->owner.why, run->owner.why_size);
  if (right) memcpy(d->bits + offset, found, part->bytes);
  free(found);
  for (int r = 0; r < LLRT_DOT_ROLES && right; r++)
    if (run->memory[r].bits && !(r == LLRT_DOT_C && run->bench->problem.in_place))
      right = area_same(&run->owner, &run->memory[r], r == LLRT_DOT_D ? "result" : "operands");
  return right;
}

static bool run_all(dot_run *run, route by, int shift, area *workspace) {
  put_c_in_place(run);
  if (!place(run, shift)) return false;
  if (run->bench->problem.in_place)
    run->bench->part[LLRT_DOT_C].tensor.data = run->bench->part[LLRT_DOT_D].tensor.data;
  return multiply(run, by, workspace) && check(run);
}

bool dot_case_passes(int number, uint64_t seed, llrt_device *device, char *title, size_t title_size,
                     char *why, size_t size) {
  static dot_bench bench;
  dot_problem problem;
  dot_run run = {.owner = {device, why, size}, .bench = &bench};
  area workspace = {0};
  why[0] = 0;
  make_problem(number, seed, &problem);
  bool passed = dot_bench_make(&problem, seed + (uint64_t)number, &bench);
  dot_problem_title(&bench.problem, title, title_size);
  if (!passed) area_fail(&run.owner, "cannot be made: %s", llrt_last_error());
  passed = passed && run_all(&run, (route)(number % ROUTE_COUNT), number % 4 == 3, &workspace);
  for (int r = 0; r < LLRT_DOT_ROLES; r++) area_free(&run.owner, &run.memory[r]);
  area_free(&run.owner, &workspace);
  dot_bench_free(&bench);
  return passed;
}
