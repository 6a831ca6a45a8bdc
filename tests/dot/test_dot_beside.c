/* Products whose blocks have tiles beside each other and fetch what they have in common together,
 * and those whose teams take a block's tiles by turns: as plans, interpreted, and on an emulated
 * device. */
#include "dot_reference.h"

#include "jit/interpret/plan_interpret.h"
#include "jit/plan/check/plan_view.h"
#include "jit/plan/facts/box.h"
#include "jit/plan/plan_make.h"
#include "runtime/described.h"
#include "runtime/prepared.h"
#include "tests/open_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TYPES(a_, b_) .type = {[LLRT_DOT_A] = LLRT_##a_, [LLRT_DOT_B] = LLRT_##b_}
#define LIES(a_, b_) .storage = {[LLRT_DOT_A] = a_, [LLRT_DOT_B] = b_}
#define SHAPE(m_, n_, k_) .m = m_, .n = n_, .k = k_

/* Each with blocks at the edges, some of which have no rows; the first two's walks go through their
 * rings more than once. */
static const dot_problem problems[] = {
    {SHAPE(140, 200, 840), TYPES(BF16, BF16), LIES("", "col_major")},
    {SHAPE(72, 264, 584), TYPES(F16, F16)}, /* boxes along n */
    {SHAPE(70, 136, 272), TYPES(E4M3, E4M3), LIES("", "col_major")},
    {SHAPE(40, 200, 136), TYPES(BF16, BF16), LIES("", "col_major"), .n_batch = 1, .batch = {3},
     .shared = {false, true}},
};
static const dot_problem many = {SHAPE(264, 456, 72), TYPES(BF16, BF16), LIES("", "col_major")};
#define PROBLEMS ((int)(sizeof problems / sizeof *problems))

/* Of teams: with more tiles than teams, walks that go through their rings more than once, one turn
 * alone, and matrices of a batch. */
static const dot_problem of_teams[] = {
    {SHAPE(520, 400, 192), TYPES(BF16, BF16), LIES("", "col_major")},
    {SHAPE(300, 528, 832), TYPES(F16, F16), LIES("", "col_major")},
    {SHAPE(1300, 176, 64), TYPES(BF16, BF16), LIES("", "col_major")},
    {SHAPE(260, 200, 128), TYPES(BF16, BF16), LIES("", "col_major"), .n_batch = 1, .batch = {3},
     .shared = {false, true}},
};
#define OF_TEAMS ((int)(sizeof of_teams / sizeof *of_teams))

static bool has_teams(const plan_kernel *kernel) { return kernel->team_bits > 0; }

/* What a test looks at. */
static const dot_problem *problem = problems;
static bool (*chosen)(const plan_kernel *kernel) = plan_fetches_together;

static plan made;
static described_dot call;
static dot_bench bench;

/* Plans product number i on tensors of it, with all candidates. */
static void plan_product(int i, const llrt_tensor *a, const llrt_tensor *b, const llrt_tensor *d) {
  const plan_options options = {.wide = true};
  plan_target target;
  cr_assert_eq(plan_target_find("sm_90a", &target), LLRT_OK);
  cr_assert_eq(described_dot_make(a, b, d, &bench.params, &call), LLRT_OK, "%d: %s", i,
               llrt_last_error());
  cr_assert_eq(described_promise(&call.desc), LLRT_OK);
  cr_assert_eq(plan_make(&call.desc, &target, &options, &made), LLRT_OK, "%d: %s", i,
               llrt_last_error());
}

static void make_product(int i) {
  cr_assert(dot_bench_make(&problem[i], 5 + (uint64_t)i, &bench), "%d: %s", i, llrt_last_error());
  plan_product(i, &bench.part[LLRT_DOT_A].tensor, &bench.part[LLRT_DOT_B].tensor,
               &bench.part[LLRT_DOT_D].tensor);
}

/* The next kernel of the plan from number v on; -1: there is none. */
static int next_chosen(int v) {
  while (v < made.n_variants && !chosen(&made.variant[v])) v++;
  return v < made.n_variants ? v : -1;
}

static llrt_status interpret(const plan_kernel *kernel, int number) {
  const op_description *desc = &call.desc;
  llrt_storage_binding bindings[LLRT_MAX_TENSORS];
  llrt_tensor tensors[LLRT_MAX_TENSORS];
  const dot_problem *p = &problem[number];
  const int n = p->n_batch;
  for (int i = 0; i < desc->n_tensors; i++) {
    llrt_tensor *tensor = &tensors[i];
    *tensor = desc->tensors[i];
    cr_assert_eq(llrt_storage_bind(tensor->storage, tensor->rank, tensor->shape, tensor->strides,
                                   &bindings[i]),
                 LLRT_OK, "%s", llrt_last_error());
    memcpy(tensor->shape, p->batch, (size_t)n * sizeof *tensor->shape);
    memcpy(&tensor->shape[n], (int64_t[]){p->m, p->n, p->k}, 3 * sizeof(int64_t));
  }
  return plan_interpret(kernel, tensors, bindings, desc->n_tensors);
}

/* Two kernels of small tiles of each of the first products; of clusters there is each size. */
Test(dot_beside, interpreted, .timeout = 600) {
  char why[400];
  for (int i = 0; i < PROBLEMS; i++) {
    int number = 0, sizes = 0;
    make_product(i);
    for (int v = next_chosen(0); v >= 0; v = next_chosen(v + 1)) {
      sizes |= 1 << made.variant[v].cluster_bits;
      const int *tile = made.variant[v].tile.positions;
      if (tile[0] != 64 || tile[1] != 64 || number++ > 1 || i > 1) continue;
      memset(bench.part[LLRT_DOT_D].image, 0xee, 2);
      cr_assert_eq(interpret(&made.variant[v], i), LLRT_OK, "%d, variant %d: %s", i, v,
                   llrt_last_error());
      cr_expect(dot_reference_check(&bench, bench.part[LLRT_DOT_D].image, why, sizeof why),
                "%d, variant %d: %s", i, v, why);
    }
    cr_expect_eq(sizes, problems[i].type[LLRT_DOT_A] == LLRT_E4M3 ? 6 : 14, "%d: clusters of 2^%d",
                 i, sizes);
    dot_bench_free(&bench);
  }
}

/* An operand's boxes are parts of what blocks have of it in common, by the bits of their numbers in
 * which they differ. */
Test(dot_beside, boxes) {
  int both = 0;
  make_product(0);
  for (int v = next_chosen(0); v >= 0; v = next_chosen(v + 1)) {
    plan_kernel *kernel = &made.variant[v];
    const tile_facts *tile = &kernel->tile;
    const int common = tile->kind == TILE_SWAPPED ? 0 : 1, parts[2] = {tile->beside, tile->across};
    both += tile->beside > 1 && tile->across > 1;
    cr_expect_eq(plan_verify(kernel), LLRT_OK, "%s", llrt_last_error());
    cr_expect_eq(plan_box_peers(&kernel->launch.box[0]) ^ plan_box_peers(&kernel->launch.box[1]),
                 (1 << kernel->cluster_bits) - 1, "variant %d", v);
    for (int i = 0; i < 2; i++) {
      const int operand = i == 0 ? common : 1 - common;
      plan_box *box = &kernel->launch.box[operand];
      cr_expect_eq(1 << box->parts, parts[i], "variant %d", v);
      cr_expect_eq(plan_box_rows(box), tile->positions[operand], "variant %d", v);
      box->parts++;
      cr_expect_eq(plan_verify(kernel), LLRT_INTERNAL, "variant %d: other parts", v);
      box->parts--;
      if (box->parts > 0) box->among++;
      else box->size[1] *= 2;
      cr_expect_eq(plan_verify(kernel), LLRT_INTERNAL, "variant %d: other blocks, or rows", v);
      if (box->parts > 0) box->among--;
      else box->size[1] /= 2;
    }
  }
  cr_expect_gt(both, 0, "of %d kernels", made.n_variants);
  dot_bench_free(&bench);
}

/* ---- on a device ---- */

static llrt_tensor send(llrt_device *device, const dot_part *part) {
  llrt_tensor sent = part->tensor;
  sent.device = device;
  cr_assert_eq(llrt_memory_allocate(device, part->bytes, &sent.data), LLRT_OK);
  cr_assert_eq(
      llrt_memory_copy(device, sent.data, part->image, part->bytes, LLRT_COPY_TO_DEVICE, NULL),
      LLRT_OK);
  return sent;
}

static void run_kernel(llrt_device *device, int i, int v, const llrt_tensor *d) {
  op_description *desc = &call.desc;
  const dot_part *part = &bench.part[LLRT_DOT_D];
  storage_set set;
  llrt_op *op;
  char why[400];
  cr_assert_eq(llrt_storage_set_init(desc->tensors, desc->n_tensors, 0, &set), LLRT_OK);
  cr_assert_eq(llrt_op_make(device, desc, &set, &op), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_op_build_kernels(op, &made.variant[v], 1), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(
      llrt_memory_copy(device, d->data, part->image, part->bytes, LLRT_COPY_TO_DEVICE, NULL),
      LLRT_OK);
  cr_assert_eq(llrt_op_run(op, NULL, desc->tensors, desc->n_tensors, NULL), LLRT_OK,
               "%d, variant %d: %s", i, v, llrt_last_error());
  unsigned char *found = malloc(part->bytes);
  cr_assert(found);
  cr_assert_eq(llrt_memory_copy(device, found, d->data, part->bytes, LLRT_COPY_FROM_DEVICE, NULL),
               LLRT_OK, "%d, variant %d: %s", i, v, llrt_last_error());
  cr_expect(dot_reference_check(&bench, found, why, sizeof why), "%d, variant %d: %s", i, v, why);
  free(found);
  llrt_op_destroy(&op);
}

/* The emulator tells of a copy to memory that another block has not given free, and of barriers of
 * blocks that have not begun or have ended. */
static void run_emulated(int i, int step) {
  opened_device opened = open_device("cuda-emu:sm_90a");
  llrt_tensor sent[3];
  static const int role[] = {LLRT_DOT_A, LLRT_DOT_B, LLRT_DOT_D};
  int number = 0;
  cr_assert(dot_bench_make(&problem[i], 5 + (uint64_t)i, &bench), "%d: %s", i, llrt_last_error());
  for (int t = 0; t < 3; t++) sent[t] = send(opened.device, &bench.part[role[t]]);
  plan_product(i, &sent[0], &sent[1], &sent[2]);
  for (int v = next_chosen(0); v >= 0; v = next_chosen(v + 1))
    if (number++ % step == i % step) run_kernel(opened.device, i, v, &sent[2]);
  cr_expect_gt(number, 0, "%d", i);
  for (int t = 0; t < 3; t++) llrt_memory_free(opened.device, sent[t].data);
  dot_bench_free(&bench);
  close_device(&opened);
}

Test(dot_beside, emulated, .timeout = 300) {
  for (int i = 0; i < PROBLEMS; i++) run_emulated(i, 11);
}

/* Of 20 multiprocessors, 18 of which lie together, clusters of four have 16: no more blocks than
 * these are launched, which take the others' tiles. */
Test(dot_beside, fewer, .timeout = 300) {
  char stats[] = "/tmp/llrt_beside_XXXXXX", line[400] = "";
  const int file = mkstemp(stats);
  int blocks = 0;
  cr_assert_geq(file, 0);
  setenv("LLRT_EMU_UNITS", "20", 1);
  setenv("LLRT_EMU_STATS", stats, 1);
  opened_device opened = open_device("cuda-emu:sm_90a");
  llrt_tensor sent[3];
  static const int role[] = {LLRT_DOT_A, LLRT_DOT_B, LLRT_DOT_D};
  cr_assert(dot_bench_make(&many, 5, &bench), "%s", llrt_last_error());
  for (int t = 0; t < 3; t++) sent[t] = send(opened.device, &bench.part[role[t]]);
  plan_product(0, &sent[0], &sent[1], &sent[2]);
  int v = next_chosen(0);
  while (made.variant[v].cluster_bits != 2 || made.variant[v].tile.positions[1] != 64)
    v = next_chosen(v + 1);
  run_kernel(opened.device, 0, v, &sent[2]);
  for (int t = 0; t < 3; t++) llrt_memory_free(opened.device, sent[t].data);
  dot_bench_free(&bench);
  close_device(&opened);
  FILE *read = fdopen(file, "r");
  while (fgets(line, sizeof line, read))
    if (strstr(line, "\"blocks\":")) blocks = atoi(strstr(line, "\"blocks\":") + 9);
  fclose(read);
  unlink(stats);
  cr_expect_eq(blocks, 16, "%d blocks: %s", blocks, line);
}

/* A block may begin after its neighbours, and fewer blocks than tiles go in rounds. */
Test(dot_beside, reversed, .timeout = 300) {
  setenv("LLRT_EMU_BLOCKS", "reversed", 1);
  run_emulated(0, 13);
}

/* ---- teams ---- */

static void look_at_teams(void) {
  problem = of_teams;
  chosen = has_teams;
}

Test(dot_teams, interpreted, .init = look_at_teams, .timeout = 600) {
  const int i = OF_TEAMS - 1;
  char why[400];
  make_product(i);
  const int v = next_chosen(0);
  cr_assert_geq(v, 0);
  cr_assert_eq(interpret(&made.variant[v], i), LLRT_OK, "%s", llrt_last_error());
  cr_expect(dot_reference_check(&bench, bench.part[LLRT_DOT_D].image, why, sizeof why), "%s", why);
  dot_bench_free(&bench);
}

/* Twice the warps of a tile and the producers; no registers for more columns; slots that a team
 * keeps, and clusters, are refused. */
Test(dot_teams, plans, .init = look_at_teams) {
  make_product(0);
  for (int v = next_chosen(0); v >= 0; v = next_chosen(v + 1)) {
    plan_kernel *kernel = &made.variant[v];
    int at = kernel->n_steps - 1;
    cr_expect_eq(plan_verify(kernel), LLRT_OK, "%s", llrt_last_error());
    cr_expect_eq(kernel->launch.threads, 32 * (2 * 4 + 4), "variant %d", v);
    cr_expect_eq(kernel->tile.teams, 2, "variant %d", v);
    while (kernel->step[at].kind != PLAN_RELEASE) at--;
    kernel->step[at].kind = PLAN_OPAQUE;
    cr_expect_eq(plan_verify(kernel), LLRT_INTERNAL, "variant %d: slots are kept", v);
    kernel->step[at].kind = PLAN_RELEASE;
    kernel->n_indices = 1;
    cr_expect_eq(plan_verify(kernel), LLRT_INTERNAL, "variant %d: an index", v);
    kernel->n_indices = 0;
  }
  dot_bench_free(&bench);
}

/* Rows of D that are no whole pieces of 16 bytes pass shared memory, for which warps wait. */
Test(dot_teams, none_where_warps_wait, .init = look_at_teams) {
  static const dot_problem odd = {SHAPE(520, 402, 192), TYPES(BF16, BF16), LIES("", "col_major")};
  problem = &odd;
  make_product(0);
  cr_expect_eq(next_chosen(0), -1);
  dot_bench_free(&bench);
}

Test(dot_teams, emulated, .init = look_at_teams, .timeout = 300) {
  for (int i = 0; i < OF_TEAMS; i++) run_emulated(i, 1);
}

Test(dot_teams, reversed, .init = look_at_teams, .timeout = 300) {
  setenv("LLRT_EMU_BLOCKS", "reversed", 1);
  run_emulated(1, 2);
}
