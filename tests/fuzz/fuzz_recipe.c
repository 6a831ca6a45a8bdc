/* Any text as a recipe. What loads prints, and what is printed loads and prints as itself. It is
 * bound, without a device, to a checkpoint with names of the shipped recipes: that is refused with
 * a reason, or makes a plan whose tensors and steps refer to each other. */
#include "tests/fuzz/fuzz.h"

#include <llrt/llrt.h>

#include <string.h>

static const char config[] =
    "{\"n_routed_experts\": 2, \"num_experts\": 2, \"quantization_config\": {\"quant_method\": "
    "\"awq\", \"bits\": 4, "
    "\"zero_point\": true, \"group_size\": 32, \"sym\": true, \"format\": \"pack-quantized\"}}";

#define EXPERTS "model.layers.1.mlp.experts."
static const llrt_named_tensor checkpoint[] = {
    {"a", LLRT_F32, 2, {6, 4}, {0}},
    {EXPERTS "gate_up_proj_blocks", LLRT_U8, 4, {2, 128, 4, 16}, {0}},
    {EXPERTS "gate_up_proj_scales", LLRT_U8, 3, {2, 128, 4}, {0}},
    {EXPERTS "gate_up_proj_bias", LLRT_BF16, 2, {2, 128}, {0}},
    {EXPERTS "0.down_proj.weight", LLRT_E4M3, 2, {128, 256}, {0}},
    {EXPERTS "1.down_proj.weight", LLRT_E4M3, 2, {128, 256}, {0}},
    {"p.q_proj.qweight", LLRT_I32, 2, {64, 16}, {0}},
    {"p.q_proj.qzeros", LLRT_I32, 2, {2, 16}, {0}},
    {"p.q_proj.scales", LLRT_F16, 2, {2, 128}, {0}},
    {"norm", LLRT_BF16, 1, {64}, {0}},
    {"l.o_proj.weight", LLRT_BF16, 2, {256, 128}, {0}},
    {EXPERTS "0.gate_proj.weight", LLRT_BF16, 2, {128, 256}, {0}},
    {EXPERTS "1.gate_proj.weight", LLRT_BF16, 2, {128, 256}, {0}},
    {EXPERTS "0.up_proj.weight", LLRT_BF16, 2, {128, 256}, {0}},
    {EXPERTS "1.up_proj.weight", LLRT_BF16, 2, {128, 256}, {0}},
};
enum { TENSORS = sizeof checkpoint / sizeof checkpoint[0] };

static char *printed(const llrt_recipe *recipe) {
  size_t length, same;
  FUZZ_CHECK(llrt_recipe_print(recipe, NULL, 0, &length) == LLRT_OK);
  char *text = malloc(length + 1);
  FUZZ_CHECK(text && llrt_recipe_print(recipe, text, length + 1, &same) == LLRT_OK);
  FUZZ_CHECK(same == length && strlen(text) == length);
  return text;
}

static void check_tensor(const llrt_repack_tensor *tensor, int n_steps) {
  FUZZ_CHECK(tensor && tensor->name && tensor->rank >= 0 && tensor->rank <= LLRT_MAX_RANK);
  FUZZ_CHECK(tensor->step >= -1 && tensor->step < n_steps);
  unsigned __int128 bits = (unsigned)llrt_dtype_bits(tensor->dtype);
  for (int i = 0; i < tensor->rank; i++) bits *= (uint64_t)tensor->shape[i];
  FUZZ_CHECK((bits + 7) / 8 == tensor->bytes);
}

static void check_plan(const llrt_repack *plan) {
  llrt_repack_info info = {0};
  size_t length;
  FUZZ_CHECK(llrt_repack_get_info(plan, &info) == LLRT_OK);
  FUZZ_CHECK(llrt_repack_print(plan, NULL, 0, &length) == LLRT_OK && length > 0);
  for (int i = 0; i < info.n_inputs; i++) check_tensor(llrt_repack_input(plan, i), info.n_steps);
  for (int i = 0; i < info.n_outputs; i++) check_tensor(llrt_repack_output(plan, i), info.n_steps);
  for (int s = 0; s < info.n_steps; s++) {
    const llrt_repack_step *step = llrt_repack_step_at(plan, s);
    FUZZ_CHECK(step->workspace <= info.workspace);
    for (int i = 0; i < step->n_inputs; i++)
      FUZZ_CHECK(llrt_repack_input(plan, step->inputs[i])->step == s);
    for (int i = 0; i < step->n_outputs; i++)
      FUZZ_CHECK(llrt_repack_output(plan, step->outputs[i])->step == s);
  }
}

static void bind(const llrt_recipe *recipe, int tp, int inverse) {
  const llrt_recipe_params params = {.config = config,
                                     .config_bytes = sizeof config - 1,
                                     .tp = tp,
                                     .rank = tp - 1,
                                     .inverse = inverse};
  llrt_repack *plan;
  llrt_status status = llrt_recipe_bind(NULL, recipe, checkpoint, TENSORS, &params, &plan);
  FUZZ_CHECK((status == LLRT_OK) == (plan != NULL));
  FUZZ_CHECK(status == LLRT_OK || status == LLRT_INVALID_ARGUMENT || status == LLRT_UNSUPPORTED);
  if (plan) check_plan(plan);
  else FUZZ_CHECK(llrt_last_error()[0]);
  llrt_repack_destroy(&plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llrt_recipe *recipe, *again;
  llrt_status status = llrt_recipe_load((const char *)data, size, &recipe);
  FUZZ_CHECK(status == LLRT_OK || status == LLRT_INVALID_ARGUMENT || status == LLRT_UNSUPPORTED);
  FUZZ_CHECK((status == LLRT_OK) == (recipe != NULL));
  if (!recipe) {
    FUZZ_CHECK(strchr(llrt_last_error(), ':'));
    return 0;
  }
  char *first = printed(recipe);
  FUZZ_CHECK(llrt_recipe_load(first, strlen(first), &again) == LLRT_OK);
  char *second = printed(again);
  FUZZ_CHECK(strcmp(first, second) == 0);
  for (int tp = 1; tp <= 3; tp += 2)
    for (int inverse = 0; inverse < 2; inverse++) bind(recipe, tp, inverse);
  free(first);
  free(second);
  llrt_recipe_destroy(&again);
  llrt_recipe_destroy(&recipe);
  return 0;
}
