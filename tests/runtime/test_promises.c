/* Every promise about every tensor of every kind of operation: a run that keeps all of a tensor's
 * is done, one that breaks one of them is OUT_OF_CLASS, names the tensor and what is broken, and
 * writes nothing. */
#include "runtime/context.h"
#include "runtime/described.h"
#include "runtime/description.h"
#include "runtime/promise.h"
#include "tests/runtime/convert_fixture.h"

#include <llrt/dot.h>

/* Of both axes; elements from row to row and from one to the next. */
enum { EXTENT = 12, PITCH = 192, STEP = 8, BYTES = 20 * PITCH * 4 };

static llrt_context *context;
static llrt_device *host;

static void setup(void) {
  cr_assert_eq(llrt_context_create(&fixture_params, &context), LLRT_OK);
  cr_assert_eq(llrt_device_open(context, "host", NULL, &host), LLRT_OK);
}

static void teardown(void) {
  llrt_device_close(&host);
  llrt_context_destroy(&context);
}

TestSuite(promises, .init = setup, .fini = teardown);

/* ---- an operation whose tensors have run-time strides ---- */

static _Alignas(256) unsigned char memory[LLRT_MAX_TENSORS][BYTES];
static _Alignas(64) int32_t values[64];
static llrt_storage pitched;
static llrt_index index_of_source;

static llrt_tensor pitched_tensor(int t, llrt_dtype dtype) {
  cr_assert_eq(llrt_storage_strided(2, NULL, &pitched), LLRT_OK);
  return (llrt_tensor){.data = memory[t],
                       .dtype = dtype,
                       .rank = 2,
                       .shape = {EXTENT, EXTENT},
                       .strides = {PITCH, STEP},
                       .storage = &pitched,
                       .device = host};
}

static void make_convert(op_description *desc) {
  *desc = (op_description){.kind = LLRT_OP_CONVERT, .n_tensors = 2};
  for (int t = 0; t < 2; t++) desc->tensors[t] = pitched_tensor(t, LLRT_F32);
}

static void make_scaled(op_description *desc) {
  make_convert(desc);
  desc->n_tensors = 3;
  desc->tensors[2] = pitched_tensor(2, LLRT_F32);
  desc->n_maps = 1;
  desc->maps[0] = (llrt_map){.kind = LLRT_MAP_SCALE};
}

static void make_gather(op_description *desc) {
  make_convert(desc);
  for (int i = 0; i < 64; i++) values[i] = i % EXTENT;
  index_of_source = (llrt_index){.axis = 0,
                                 .kind = LLRT_INDEX_COORDINATE,
                                 .dtype = LLRT_I32,
                                 .axes = 2,
                                 .extent = EXTENT,
                                 .data = values,
                                 .strides = {0, 1}};
  desc->tensors[0].indices = &index_of_source;
  desc->tensors[0].n_indices = 1;
}

static void make_reduce(op_description *desc) {
  *desc = (op_description){
      .kind = LLRT_OP_REDUCE, .n_tensors = 3, .combine = {.op = LLRT_COMBINE_ARGMAX, .axes = 2}};
  const llrt_dtype types[] = {LLRT_F32, LLRT_I32, LLRT_F32};
  for (int t = 0; t < 3; t++) {
    desc->tensors[t] = pitched_tensor(t, types[t]);
    if (t > 0) desc->tensors[t].shape[1] = 1;
  }
}

static void make_scan(op_description *desc) {
  make_convert(desc);
  desc->kind = LLRT_OP_SCAN;
  desc->combine = (llrt_op_combine){.op = LLRT_COMBINE_SUM, .axes = 2};
}

typedef struct operation {
  const char *name;
  void (*make)(op_description *desc);
} operation;

static const operation operations[] = {{"convert", make_convert},
                                       {"scaled", make_scaled},
                                       {"gather", make_gather},
                                       {"reduce", make_reduce},
                                       {"scan", make_scan}};
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* ---- one promise, kept and broken ---- */

typedef struct trial {
  const char *name;
  op_description desc;
  char what[120];
  llrt_op *op;
} trial;

static const char *const roles[] = {"source", "destination", "scale"};

static void prepare(trial *t, const char *promise, int tensor) {
  snprintf(t->what, sizeof t->what, "%s: %s of tensor %d", t->name, promise, tensor);
  cr_assert_eq(described_prepare(host, &t->desc, &t->op), LLRT_OK, "%s: %s", t->what,
               llrt_last_error());
}

static llrt_status run(trial *t, const llrt_tensor *tensors) {
  static _Alignas(LLRT_WORKSPACE_ALIGNMENT) unsigned char workspace[1 << 16];
  llrt_run_params params = {.workspace = workspace, .workspace_bytes = sizeof workspace};
  return llrt_op_run(t->op, NULL, tensors, t->desc.n_tensors, &params);
}

static void expect_kept(trial *t) {
  cr_expect_eq(run(t, t->desc.tensors), LLRT_OK, "%s: %s", t->what, llrt_last_error());
}

static void expect_broken(trial *t, const llrt_tensor *tensors, const char *role,
                          const char *said) {
  static unsigned char before[sizeof memory];
  memcpy(before, memory, sizeof memory);
  cr_expect_eq(run(t, tensors), LLRT_OUT_OF_CLASS, "%s, broken", t->what);
  cr_expect(strstr(llrt_last_error(), said), "%s: \"%s\" lacks \"%s\"", t->what, llrt_last_error(),
            said);
  cr_expect(strstr(llrt_last_error(), role), "%s: \"%s\" lacks \"%s\"", t->what, llrt_last_error(),
            role);
  cr_expect_eq(memcmp(before, memory, sizeof memory), 0, "%s: something was written", t->what);
}

/* Tensors of another extent along an axis, as far as they have more than one position there. */
static void break_extent(trial *t, int tensor, int axis, int64_t extent) {
  llrt_tensor tensors[LLRT_MAX_TENSORS];
  char said[40];
  memcpy(tensors, t->desc.tensors, sizeof tensors);
  for (int i = 0; i < t->desc.n_tensors; i++)
    if (tensors[i].shape[axis] > 1) tensors[i].shape[axis] = extent;
  snprintf(said, sizeof said, "shape[%d] is %lld", axis, (long long)extent);
  expect_broken(t, tensors, roles[tensor], said);
}

static void break_stride(trial *t, int tensor, int axis) {
  llrt_tensor tensors[LLRT_MAX_TENSORS];
  char said[40];
  memcpy(tensors, t->desc.tensors, sizeof tensors);
  tensors[tensor].strides[axis] += 4;
  snprintf(said, sizeof said, "stride of axis %d is", axis);
  expect_broken(t, tensors, roles[tensor], said);
}

static void break_address(trial *t, int tensor, const char *role) {
  llrt_tensor tensors[LLRT_MAX_TENSORS];
  memcpy(tensors, t->desc.tensors, sizeof tensors);
  tensors[tensor].data = memory[tensor] + 16;
  expect_broken(t, tensors, role, "address");
}

/* Each of the tensor's promises, of the axes along which it has several positions. */
static void check_tensor(trial *t, int tensor) {
  static const int64_t outside[] = {10, 4, 20}; /* no multiple, too few, too many */
  llrt_tensor_promise *promises = &t->desc.promises[tensor];
  promises->address.multiple = 32;
  for (int axis = 0; axis < 2; axis++) {
    if (t->desc.tensors[tensor].shape[axis] == 1) continue;
    promises->shape[axis] = (llrt_promise){.multiple = 4, .min = 8, .max = 16};
    promises->stride[axis].multiple = 8;
  }
  prepare(t, "promises", tensor);
  expect_kept(t);
  break_address(t, tensor, roles[tensor]);
  for (int axis = 0; axis < 2; axis++) {
    if (t->desc.tensors[tensor].shape[axis] == 1) continue;
    for (int i = 0; i < 3; i++) break_extent(t, tensor, axis, outside[i]);
    break_stride(t, tensor, axis);
  }
  expect_kept(t);
  llrt_op_destroy(&t->op);
  *promises = (llrt_tensor_promise){.address = {0}};
}

Test(promises, of_every_tensor) {
  static trial t;
  for (int i = 0; i < OPERATIONS; i++) {
    t = (trial){.name = operations[i].name};
    operations[i].make(&t.desc);
    for (int tensor = 0; tensor < t.desc.n_tensors; tensor++) check_tensor(&t, tensor);
  }
}

/* That values of an index follow each other along an axis, and where the first lies. */
Test(promises, of_indices) {
  static trial t;
  t = (trial){.name = "gather"};
  make_gather(&t.desc);
  t.desc.promises[0].index[0] = (llrt_index_promise){.along = 2, .multiple = 16};
  prepare(&t, "index", 0);
  expect_kept(&t);
  index_of_source.data = values + 1;
  expect_broken(&t, t.desc.tensors, "source", "index 0");
  index_of_source.data = values;
  index_of_source.strides[1] = 2;
  expect_broken(&t, t.desc.tensors, "source", "index 0");
  index_of_source.strides[1] = 1;
  expect_kept(&t);
  llrt_op_destroy(&t.op);
}

/* ---- promises that calls make themselves ---- */

static void expect_normal(const op_description *desc, const char *name) {
  op_description normal = *desc;
  llrt_description_normalise(&normal);
  for (int t = 0; t < desc->n_tensors; t++) {
    const llrt_tensor_promise *made = &desc->promises[t], *same = &normal.promises[t];
    size_t axes = (size_t)desc->tensors[t].rank * sizeof(llrt_promise);
    cr_expect_eq(made->address.multiple, same->address.multiple, "%s: tensor %d", name, t);
    cr_expect_eq(memcmp(made->shape, same->shape, axes), 0, "%s: extents of tensor %d", name, t);
    cr_expect_eq(memcmp(made->stride, same->stride, axes), 0, "%s: strides of tensor %d", name, t);
  }
}

/* They are as preparing leaves the caller's, so that either finds the other's kernels. */
Test(promises, of_calls_are_normal) {
  static op_description desc;
  static const int64_t extents[] = {EXTENT, 3000, 4096, 0, (int64_t)1 << 33};
  for (int o = 0; o < OPERATIONS; o++)
    for (size_t i = 0; i < sizeof extents / sizeof *extents; i++) {
      storage_set set;
      operations[o].make(&desc);
      if (desc.tensors[0].n_indices > 0 && i > 0) continue; /* as many values as it has */
      for (int t = 0; t < desc.n_tensors; t++) desc.tensors[t].shape[0] = extents[i];
      desc.tensors[0].data = memory[0] + 4;
      cr_assert_eq(described_promise(&desc), LLRT_OK, "%s: %s", operations[o].name,
                   llrt_last_error());
      expect_normal(&desc, operations[o].name);
      cr_assert_eq(llrt_storage_set_init(desc.tensors, desc.n_tensors, 0, &set), LLRT_OK);
      llrt_promises_open_extents(&desc, 2);
      expect_normal(&desc, operations[o].name);
      llrt_promises_classes(&set, &desc);
      expect_normal(&desc, operations[o].name);
      llrt_promises_widen(&set, &desc);
      expect_normal(&desc, operations[o].name);
    }
}

/* A call whose kernel is there finds it by one lookup, while others plan and compile: whatever its
 * extents and addresses are, and whether something was prepared for its storages or not. */
Test(promises, known_calls_wait_for_nobody, .timeout = 60) {
  static const struct {
    int64_t shape[2];
    int shift; /* of the source's address, in elements */
  } rows[] = {{{12, 12}, 0}, {{12, 12}, 1}, {{2000, 8}, 0}, {{2000, 8}, 2}, {{1500, 3}, 0}};
  static _Alignas(64) float from[2000 * 8 + 4], to[2000 * 8];
  llrt_storage columns;
  llrt_op *op = NULL;
  cr_assert_eq(llrt_storage_col_major(2, &columns), LLRT_OK);
  for (int prepared = 0; prepared < 2; prepared++) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
      llrt_tensor source = {.data = from + rows[i].shift,
                            .dtype = LLRT_F32,
                            .rank = 2,
                            .shape = {rows[i].shape[0], rows[i].shape[1]},
                            .device = host};
      llrt_tensor destination = source;
      destination.data = to;
      destination.storage = &columns;
      for (int turn = 0; turn < 3; turn++) {
        if (turn == 2) pthread_mutex_lock(&context->cache.choosing);
        cr_expect_eq(llrt_convert_into(&source, &destination, NULL, NULL), LLRT_OK, "%s",
                     llrt_last_error());
        if (turn == 2) pthread_mutex_unlock(&context->cache.choosing);
      }
      if (op || i + 1 < sizeof rows / sizeof *rows) continue;
      op_description desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2};
      desc.tensors[0] = source;
      desc.tensors[1] = destination;
      cr_assert_eq(described_prepare(host, &desc, &op), LLRT_OK, "%s", llrt_last_error());
    }
  }
  llrt_op_destroy(&op);
}

/* ---- products ---- */

/* A dot's tensors in their order: addresses. */
Test(promises, of_a_dot) {
  static described_dot call;
  static trial t;
  static const char *const names[] = {"operand A", "result D",   "operand B", "addend C",
                                      "bias",      "scale of A", "scale of B"};
  enum { TENSORS = sizeof names / sizeof *names, M = 8, N = 16, K = 24 };
  static const int64_t shapes[TENSORS][2] = {{M, K}, {M, N}, {K, N}, {M, N},
                                             {N, 0}, {M, 1}, {1, N}};
  llrt_tensor x[TENSORS];
  for (int i = 0; i < TENSORS; i++) {
    x[i] =
        (llrt_tensor){.data = memory[i], .dtype = LLRT_F32, .rank = i == 4 ? 1 : 2, .device = host};
    memcpy(x[i].shape, shapes[i], sizeof shapes[i]);
  }
  static const double one = 1;
  const llrt_dot_params params = {.c = &x[3],
                                  .beta = &one,
                                  .bias = &x[4],
                                  .a = {.scale = &x[5], .group = {1, LLRT_GROUP_ALL}},
                                  .b = {.scale = &x[6], .group = {LLRT_GROUP_ALL, 1}}};
  cr_assert_eq(described_dot_make(&x[0], &x[2], &x[1], &params, &call), LLRT_OK, "%s",
               llrt_last_error());
  cr_assert_eq(call.desc.n_tensors, TENSORS);
  t = (trial){.name = "dot", .desc = call.desc};
  for (int i = 0; i < TENSORS; i++) {
    t.desc.promises[i].address.multiple = 32;
    prepare(&t, "address", i);
    expect_kept(&t);
    break_address(&t, i, names[i]);
    t.desc.promises[i].address.multiple = 0;
    llrt_op_destroy(&t.op);
  }
}
