/* GPTQ and AWQ to Marlin: every byte as vLLM's arithmetic has it, and back. */
#include "tests/recipe/marlin.h"
#include "tests/recipe/model.h"

#include <stdlib.h>

static const char gptq_config[] =
    "{\"quantization_config\": {\"quant_method\": \"gptq\", \"bits\": 4, \"sym\": true, "
    "\"group_size\": 32, \"desc_act\": false}}";

/* Codes of int32[k/8][n], eight along k in a word: columns begin .. begin + count - 1. */
static uint8_t *gptq_codes(const uint32_t *words, int k, int n, int begin, int count) {
  uint8_t *codes = malloc((size_t)k * count + 1);
  for (int i = 0; i < k; i++)
    for (int j = 0; j < count; j++)
      codes[i * count + j] = words[i / 8 * n + begin + j] >> 4 * (i % 8) & 15;
  return codes;
}

static void check_gptq(llrt_device *device, int k, int n, int tp, uint64_t seed) {
  model in = {0};
  uint64_t state = seed;
  uint32_t *q = model_add(&in, &state, "model.layers.3.mlp.up_proj.qweight", LLRT_I32, 2, k / 8, n);
  uint16_t *s = model_add(&in, &state, "model.layers.3.mlp.up_proj.scales", LLRT_F16, 2, k / 32, n);
  model_add(&in, &state, "model.norm.weight", LLRT_BF16, 1, 40);
  llrt_recipe_params params = {
      .config = gptq_config, .config_bytes = sizeof gptq_config - 1, .tp = tp};
  repacked made[2];
  for (int r = 0; r < tp; r++) {
    int mine = n / tp;
    params.rank = r;
    made[r] = model_repack(device, "gptq.marlin", &in, &params);
    uint8_t *codes = gptq_codes(q, k, n, r * mine, mine);
    uint32_t *words = malloc((size_t)k * mine / 2);
    uint16_t *scales = malloc((size_t)k / 32 * mine * 4), *wanted = scales + k / 32 * mine;
    for (int g = 0; g < k / 32; g++)
      memcpy(scales + g * mine, s + g * n + r * mine, (size_t)mine * 2);
    marlin_weights(codes, k, mine, words);
    marlin_scales(scales, k / 32, mine, wanted);
    model_expect(&made[r], "model.layers.3.mlp.up_proj.qweight", LLRT_I32, words,
                 (size_t)k * mine / 2);
    model_expect(&made[r], "model.layers.3.mlp.up_proj.scales", LLRT_F16, wanted,
                 (size_t)k / 32 * mine * 2);
    free(codes);
    free(words);
    free(scales);
  }
  model_expect_back(device, "gptq.marlin", &in, &params, made, tp);
  for (int r = 0; r < tp; r++) repacked_free(&made[r]);
  model_free(&in);
}

Test(recipe_marlin, gptq) {
  opened_device at = open_device("host");
  check_gptq(at.device, 64, 128, 1, 1);
  check_gptq(at.device, 192, 320, 1, 2);
  check_gptq(at.device, 128, 384, 2, 3);
  close_device(&at);
}
