/* Branches of PTX that ptxas takes for something else (jit/compile/joins.h): none on a conjunction
 * that a branch on the way to it has decided. */
#include "jit/jit.h"
#include "jit/plan/convert/convert.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- PTX as blocks ---- */

enum { MAX_BLOCKS = 512, NAME = 32 };

typedef struct block {
  char label[NAME];     /* "" where it has none */
  char predicate[NAME]; /* of the branch that ends it; "": none */
  char to[NAME];        /* where that goes; "": nowhere */
  bool ends;            /* it does not go on to the next block */
  int from, n_from;     /* the last block that comes here, how many do */
} block;

typedef struct blocks {
  block at[MAX_BLOCKS];
  int n;
  char logic[MAX_BLOCKS][NAME]; /* predicates that are made of others */
  int n_logic;
} blocks;

static block *open_block(blocks *b, const char *label) {
  cr_assert_lt(b->n, MAX_BLOCKS);
  block *made = &b->at[b->n++];
  *made = (block){.from = -1};
  snprintf(made->label, sizeof made->label, "%s", label);
  return made;
}

static void read_line(blocks *b, const char *line) {
  block *last = &b->at[b->n - 1];
  char name[NAME], to[NAME], kind[NAME];
  if (sscanf(line, "$%30[^:]:", name) == 1 && strchr(line, ':')) {
    open_block(b, name);
  } else if (sscanf(line, "@%*[!%]%30[p0-9] bra $%30[^;]", name, to) == 2) {
    snprintf(last->predicate, sizeof last->predicate, "%s", name);
    snprintf(last->to, sizeof last->to, "%s", to);
    open_block(b, "");
  } else if (sscanf(line, "bra.uni $%30[^;]", to) == 1) {
    snprintf(last->to, sizeof last->to, "%s", to);
    last->ends = true;
    open_block(b, "");
  } else if (strncmp(line, "ret;", 4) == 0) {
    last->ends = true;
    open_block(b, "");
  } else if (sscanf(line, "%10[a-z].pred %%%30[p0-9],", kind, name) == 2 &&
             strcmp(kind, "mov") != 0) {
    cr_assert_lt(b->n_logic, MAX_BLOCKS);
    strcpy(b->logic[b->n_logic++], name);
  }
}

static void come_from(blocks *b, int to, int from) {
  b->at[to].from = from;
  b->at[to].n_from++;
}

static void read_ptx(const char *ptx, blocks *b) {
  const char *line = strchr(strstr(ptx, ".entry"), '{');
  b->n = b->n_logic = 0;
  open_block(b, "");
  for (; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
    read_line(b, line + strspn(line, " \t"));
  for (int i = 0; i < b->n; i++) {
    const block *from = &b->at[i];
    if (i > 0 && b->at[i - 1].ends && !from->label[0]) continue; /* nobody comes here */
    if (!from->ends && i + 1 < b->n) come_from(b, i + 1, i);
    for (int k = 0; k < b->n && from->to[0]; k++)
      if (strcmp(b->at[k].label, from->to) == 0) come_from(b, k, i);
  }
}

static bool is_logic(const blocks *b, const char *predicate) {
  for (int i = 0; i < b->n_logic; i++)
    if (strcmp(b->logic[i], predicate) == 0) return true;
  return false;
}

/* Whether block i ends with a branch that is decided: by the one way that leads to it. */
static bool is_decided(const blocks *b, int i) {
  const char *predicate = b->at[i].predicate;
  if (!predicate[0] || !is_logic(b, predicate)) return false;
  for (int steps = 0; steps < b->n && b->at[i].n_from == 1; steps++) {
    i = b->at[i].from;
    if (strcmp(b->at[i].predicate, predicate) == 0) return true;
  }
  return false;
}

static blocks found;

static int count_logic_branches(const char *ptx) {
  int n = 0;
  read_ptx(ptx, &found);
  for (int i = 0; i < found.n; i++) n += is_logic(&found, found.at[i].predicate);
  return n;
}

static int count_decided(const char *ptx) {
  int n = 0;
  read_ptx(ptx, &found);
  for (int i = 0; i < found.n; i++) n += is_decided(&found, i);
  return n;
}

Test(branches, a_decided_branch_is_seen) {
  static const char apart[] =
      ".entry k()\n{\n\tand.pred %p1, %p2, %p3;\n\t@%p1 bra $L1;\n\tbra.uni $L2;\n$L1:\n\t@!%p1 "
      "bra $L4;\n\tbra.uni $L3;\n"
      "$L2:\n\t@!%p1 bra $L4;\n$L3:\n\tst.global.u32 [%rd1], %r1;\n$L4:\n\tret;\n}\n";
  static const char joined[] =
      ".entry k()\n{\n\tand.pred %p1, %p2, %p3;\n\t@%p1 bra $L1;\n\tbra.uni $L2;\n$L1:\n"
      "\tbra.uni $L3;\n$L2:\n$L3:\n\t@!%p1 bra $L4;\n$L4:\n\tret;\n}\n";
  cr_assert_eq(count_decided(apart), 2);
  cr_assert_eq(count_decided(joined), 0);
}

/* ---- flat kernels of few elements ---- */

typedef struct few {
  const char *source, *destination;
  int rank;
  int64_t shape[2];
} few;

/* Of most, one element of a thread's four is inside at most, so that a load and a store are all
 * that there is. */
static const few fews[] = {
    {"S[(1,1,1,2,1):(38,38,91,1,1)] + 51",
     "tiled([1,1], {offset: []} -> [dim0:1, dim1:1], order=[1,0])",
     2,
     {2, 1}},
    {"swizzle(per_element=2, swizzle_len=1, atom_len=3) o S[(2):(2)]",
     "reshape_ins({register: [[1]], lane: [], warp: [[0]], block: []} -> [dim0:2], [register:1, "
     "lane:4])",
     1,
     {2}},
    {"storage(rank=1, digits=[dim0: 4, dim0: 1 @ 38, dim0: rest @ 85])",
     "divide_left({offset: [[1],[1]]} -> [dim0:2] * {offset: [[1],[2]]} -> [dim0:4], {offset: "
     "[[1],[1]]} -> [dim0:2])",
     1,
     {4}},
    {"strided([6,1])",
     "storage(rank=2, digits=[dim1: rest, dim0: rest], tile={offset: "
     "[[1,0],[0,8],[0,2],[0,1],[0,4],[2,0]]} "
     "-> [dim0:4, dim1:16], pad=keep)",
     2,
     {2, 3}},
    {"row_major", "tiled([1,1], {offset: []} -> [dim0:1, dim1:1], order=[1,0])", 2, {3, 1}},
    {"storage(rank=1, digits=[dim0:3, dim0:rest])",
     "storage(rank=1, digits=[dim0:rest @ 3])",
     1,
     {3}},
    {"strided([2])", "storage(rank=1, digits=[dim0: rest], pad=keep)", 1, {2}},
    {"storage(rank=2, digits=[dim1:3, dim1:rest, dim0:rest])", "col_major", 2, {2, 3}},
};

static const llrt_dtype types[][2] = {
    {LLRT_U4, LLRT_U8},  {LLRT_I4, LLRT_U8},       {LLRT_E2M1, LLRT_E5M2FNUZ},
    {LLRT_U4, LLRT_F32}, {LLRT_U4, LLRT_E4M3FNUZ}, {LLRT_I4, LLRT_F16},
    {LLRT_U8, LLRT_U8},  {LLRT_F16, LLRT_E5M2},    {LLRT_U32, LLRT_U32}};

static plan_kernel kernel;
static llrt_storage storages[2];

/* Counts in device memory on the source (1), the destination (2) or both (3). */
static bool plan_few(const few *f, const llrt_dtype type[2], unsigned counts,
                     const char *target_name) {
  static const int32_t there;
  const char *const text[] = {f->source, f->destination};
  op_description desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2};
  plan_target target;
  for (int t = 0; t < 2; t++) {
    cr_assert_eq(llrt_storage_parse(text[t], f->rank, f->shape, &storages[t]), LLRT_OK, "%s: %s",
                 text[t], llrt_last_error());
    desc.tensors[t] = (llrt_tensor){.dtype = type[t], .rank = f->rank, .storage = &storages[t]};
    if (counts >> t & 1) desc.tensors[t].extent_ptr[0] = &there;
    desc.promises[t].address.multiple = 16;
    for (int a = 0; a < f->rank; a++) {
      desc.promises[t].shape[a].min = desc.promises[t].shape[a].max = f->shape[a];
      desc.promises[t].stride[a].multiple = 1;
    }
  }
  cr_assert_eq(plan_target_find(target_name, &target), LLRT_OK);
  return plan_flat(&desc, &target, &kernel) == LLRT_OK;
}

Test(branches, none_is_decided) {
  static const char *const targets[] = {"sm_80", "sm_90a"};
  int made = 0, with_logic = 0;
  for (size_t i = 0; i < sizeof fews / sizeof *fews * sizeof types / sizeof *types * 3; i++) {
    const few *f = &fews[i / 3 % (sizeof fews / sizeof *fews)];
    const llrt_dtype *type = types[i / 3 / (sizeof fews / sizeof *fews)];
    llrt_jit_result result;
    if (!plan_few(f, type, 1 + i % 3, targets[i % 2])) continue;
    llrt_status status = llrt_jit_get_interface()->compile(&kernel, LLRT_EMIT_OBJECT, &result);
    cr_assert_eq(status, LLRT_OK, "%s", result.message);
    cr_assert_eq(count_decided(result.data), 0, "%s to %s, types %d to %d, counts %zu:\n%s",
                 f->source, f->destination, (int)type[0], (int)type[1], 1 + i % 3,
                 (char *)result.data);
    with_logic += count_logic_branches(result.data) > 0;
    made++;
    llrt_jit_get_interface()->release(&result);
  }
  cr_assert_gt(made, 100, "%d", made);
  cr_assert_gt(with_logic, 50, "%d", with_logic);
}
