/* In place, too, tensors that are alike go together, by one launch over one list of addresses: what
 * lies there then is what a plan into memory of its own makes, and the way back gives the
 * checkpoint. */
#include "tests/recipe/model.h"

#include <stdlib.h>

enum { LAYERS = 3, K = 64, N = 128, GROUP = 32, SKEW = 64, COUNT = 2 * LAYERS + 1 };

static const char config[] =
    "{\"quantization_config\": {\"quant_method\": \"gptq\", \"bits\": 4, \"sym\": true, "
    "\"group_size\": 32, \"desc_act\": false}}";

static void make_layers(model *in) {
  uint64_t state = 11;
  char name[64];
  for (int i = 0; i < LAYERS; i++) {
    snprintf(name, sizeof name, "model.layers.%d.mlp.up_proj.qweight", i);
    model_add(in, &state, name, LLRT_I32, 2, K / 8, N);
    snprintf(name, sizeof name, "model.layers.%d.mlp.up_proj.scales", i);
    model_add(in, &state, name, LLRT_F16, 2, K / GROUP, N);
  }
  model_add(in, &state, "model.norm.weight", LLRT_BF16, 1, 40);
  for (int i = 0; i < in->n; i++) in->tensor[i].name = in->name[i];
}

static void copy(llrt_device *device, void *to, const void *from, size_t bytes,
                 llrt_copy_kind kind) {
  cr_assert_eq(llrt_memory_copy(device, to, from, bytes, kind, NULL), LLRT_OK);
  cr_assert_eq(llrt_stream_synchronize(device, NULL), LLRT_OK);
}

static llrt_repack *bind(llrt_device *device, const model *in, bool inverse) {
  const llrt_recipe_params params = {
      .config = config, .config_bytes = sizeof config - 1, .inverse = inverse, .in_place = true};
  llrt_recipe *recipe;
  llrt_repack *plan;
  cr_assert_eq(llrt_recipe_load_named("gptq.marlin", &recipe), LLRT_OK);
  cr_assert_eq(llrt_recipe_bind(device, recipe, in->tensor, in->n, &params, &plan), LLRT_OK, "%s",
               llrt_last_error());
  llrt_recipe_destroy(&recipe);
  return plan;
}

/* Runs a plan whose outputs all lie where inputs do; names say which of `memory` that is. */
static void run_named(llrt_device *device, const llrt_repack *plan, const model *in,
                      void *const *memory, int launches) {
  llrt_repack_info info = {0};
  const void *from[COUNT];
  void *to[COUNT], *workspace;
  cr_assert_eq(llrt_repack_get_info(plan, &info), LLRT_OK);
  cr_assert_eq(info.n_inputs, COUNT);
  cr_expect_eq(info.launches, launches, "%d launches", info.launches);
  for (int i = 0; i < COUNT; i++)
    from[i] = memory[model_find(in, llrt_repack_input(plan, i)->name)];
  for (int i = 0; i < COUNT; i++) {
    cr_assert_geq(llrt_repack_output(plan, i)->place, 0);
    to[i] = (void *)(uintptr_t)from[llrt_repack_output(plan, i)->place];
  }
  cr_expect_leq(info.workspace, 512); /* bytes: addresses alone */
  cr_assert_eq(llrt_memory_allocate(device, info.workspace + 1, &workspace), LLRT_OK);
  cr_assert_eq(llrt_repack_run(plan, from, to, workspace, NULL), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_stream_synchronize(device, NULL), LLRT_OK, "%s", llrt_last_error());
  llrt_memory_free(device, workspace);
}

static void expect_bytes(llrt_device *device, const void *memory, const void *wanted, size_t bytes,
                         const char *name) {
  unsigned char *host = malloc(bytes);
  copy(device, host, memory, bytes, LLRT_COPY_FROM_DEVICE);
  cr_expect_eq(memcmp(host, wanted, bytes), 0, "%s", name);
  free(host);
}

/* Every other tensor begins `skew` bytes behind what is aligned. */
static void check(llrt_device *device, const repacked *apart, const model *in, size_t skew) {
  llrt_repack *forth = bind(device, in, false), *back = bind(device, in, true);
  void *memory[COUNT], *at[COUNT];
  for (int i = 0; i < COUNT; i++) {
    cr_assert_eq(llrt_memory_allocate(device, in->bytes[i] + SKEW, &memory[i]), LLRT_OK);
    at[i] = (char *)memory[i] + (i % 4 == 0 ? skew : 0);
    copy(device, at[i], in->data[i], in->bytes[i], LLRT_COPY_TO_DEVICE);
  }
  run_named(device, forth, in, at, 3); /* weights, scales, addresses */
  for (int i = 0; i < COUNT; i++) {
    int made = model_find(&apart->out, in->name[i]);
    expect_bytes(device, at[i], apart->out.data[made], in->bytes[i], in->name[i]);
  }
  run_named(device, back, in, at, 3);
  for (int i = 0; i < COUNT; i++)
    expect_bytes(device, at[i], in->data[i], in->bytes[i], in->name[i]);
  for (int i = 0; i < COUNT; i++) llrt_memory_free(device, memory[i]);
  llrt_repack_destroy(&forth);
  llrt_repack_destroy(&back);
}

static void check_device(const char *name) {
  opened_device at = open_device(name);
  const llrt_recipe_params params = {.config = config, .config_bytes = sizeof config - 1};
  model in = {0};
  make_layers(&in);
  repacked apart = model_repack(at.device, "gptq.marlin", &in, &params);
  check(at.device, &apart, &in, 0);
  check(at.device, &apart, &in, 4);
  repacked_free(&apart);
  model_free(&in);
  close_device(&at);
}

Test(recipe_lists_in_place, cuda) { check_device("cuda-emu:sm_90a"); }
Test(recipe_lists_in_place, cuda_80) { check_device("cuda-emu:sm_80"); }
Test(recipe_lists_in_place, hip) { check_device("hip-emu:gfx942"); }

/* One list for both sides, or the operation has no place to work in. */
Test(recipe_lists_in_place, two_lists) {
  opened_device at = open_device("cuda-emu:sm_90a");
  llrt_storage turned, rows;
  void *lists;
  cr_assert_eq(llrt_storage_parse("storage(rank=3, digits=[dim1: rest, dim2: rest])", 3,
                                  (const int64_t[]){2, 16, 16}, &turned),
               LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_storage_parse("storage(rank=3, digits=[dim2: rest, dim1: rest])", 3,
                                  (const int64_t[]){2, 16, 16}, &rows),
               LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_memory_allocate(at.device, 64, &lists), LLRT_OK);
  cr_assert_eq(llrt_memory_set(at.device, lists, 0, 64, NULL), LLRT_OK); /* skipped */
  llrt_index list[2];
  llrt_tensor tensor[2];
  for (int t = 0; t < 2; t++) {
    list[t] = (llrt_index){.kind = LLRT_INDEX_POINTER,
                           .axes = 1,
                           .dtype = LLRT_U64,
                           .alignment = 16,
                           .data = lists,
                           .strides = {1}};
    tensor[t] = (llrt_tensor){.dtype = LLRT_F32,
                              .rank = 3,
                              .shape = {2, 16, 16},
                              .storage = t ? &rows : &turned,
                              .device = at.device,
                              .indices = &list[t],
                              .n_indices = 1};
  }
  llrt_tensor_promise promises[2] = {0};
  llrt_op_desc desc = {.kind = LLRT_OP_CONVERT,
                       .n_tensors = 2,
                       .tensors = tensor,
                       .promises = promises,
                       .in_place = 1};
  llrt_op *op;
  const llrt_run_params run = {.size = sizeof run};
  cr_assert_eq(llrt_op_promise_coarse(&desc), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_op_prepare(at.device, &desc, &op), LLRT_OK, "%s", llrt_last_error());
  cr_expect_eq(llrt_op_run(op, NULL, tensor, 2, &run), LLRT_OK, "%s", llrt_last_error());
  list[1].data = (char *)lists + 16;
  cr_expect_eq(llrt_op_run(op, NULL, tensor, 2, &run), LLRT_INVALID_ARGUMENT);
  cr_expect(strstr(llrt_last_error(), "two lists of addresses"), "%s", llrt_last_error());
  cr_expect_eq(llrt_stream_synchronize(at.device, NULL), LLRT_OK, "%s", llrt_last_error());
  llrt_op_destroy(&op);
  llrt_memory_free(at.device, lists);
  close_device(&at);
}
