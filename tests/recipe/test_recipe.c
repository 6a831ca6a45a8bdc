/* Recipes as data: what is refused, with its path; printing; plans to look at; in place; other
 * devices. */
#include "base/memory.h"
#include "tests/recipe/model.h"

#include <stdlib.h>

/* ---- errors ---- */

#define ROW(row) "{\"recipe\": 1, \"name\": \"t\", \"rows\": [{" row "}]}"
#define IN_OUT "\"in\": {\"x\": \"a: f32[m, n]\"}, \"out\": {\"x\": \"b: f32[n, m] = f32[n m]\"}"

static const struct {
  const char *json, *said;
} refused[] = {
    {"", "1:1: no value"},
    {"{\"recipe\": 1,}", "1:14: a text is missing"},
    {"{\"name\": \"t\", \"rows\": []}", "1:1: recipe is missing"},
    {"{\"recipe\": 2, \"name\": \"t\", \"rows\": []}", "recipe: version 2"},
    {"{\"recipe\": 1, \"name\": \"t\"}", "rows is missing"},
    {"{\"recipe\": 1, \"name\": \"t\", \"rows\": [], \"rwos\": 1}", "1:48: rwos: no key"},
    {"{\"recipe\": 1, \"name\": \"t\", \"name\": \"u\", \"rows\": []}", "1:28: this key stands"},
    {"{\"recipe\": 1, \"name\": \"t\", \"rows\": [], \"rest\": \"keeep\"}", "rest: should be keep"},
    {"{\"recipe\": 1, \"name\": \"t\", \"rows\": [], \"let\": {\"a\": 1}}", "let.a: no name"},
    {"{\"recipe\": 1, \"name\": \"t\", \"rows\": [], \"let\": {\"A\": \"1 +\"}}",
     "let.A: column 4"},
    {ROW(IN_OUT ", \"padd\": {}"), "rows[0].padd: no key"},
    {ROW(IN_OUT ", \"pad\": {\"q\": 1}"), "rows[0].pad.q: no tensor of `out` has an axis q"},
    {ROW(IN_OUT ", \"shard\": {}"), "rows[0].shard: tp is missing"},
    {ROW(IN_OUT ", \"maps\": {\"x\": [{\"word_bits\": [0, 0]}]}"),
     "rows[0].maps.x[0].word_bits[1]"},
    {ROW(IN_OUT ", \"maps\": {\"y\": []}"), "rows[0].maps.y: `in` has no tensor"},
    {ROW("\"in\": {\"x\": \"a: f32[m, n]\"}"), "rows[0].in.x: `out` has no tensor of this key"},
    {ROW("\"in\": {\"x\": \"a f32[m]\"}, \"out\": {}"), "rows[0].in.x: column 1 of"},
    {ROW("\"in\": {\"x\": \"a: f33[m]\"}, \"out\": {}"), "column 4 of"},
    {ROW("\"in\": {\"x\": \"a: u8[m/2]\"}, \"out\": {}"), "= dtype[axes] is missing"},
    {ROW("\"in\": {\"x\": \"a: f32[m]\"}, \"out\": {\"x\": \"b: f32[1] = f32[k]\"}"),
     "rows[0].out.x: axis m of the input is not here"},
    {ROW(""), "rows[0]: neither in and out nor const"},
};

Test(recipe, refused_texts) {
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    llrt_recipe *recipe = (llrt_recipe *)1;
    llrt_status status = llrt_recipe_load(refused[i].json, strlen(refused[i].json), &recipe);
    cr_expect(status == LLRT_INVALID_ARGUMENT || status == LLRT_UNSUPPORTED, "%s", refused[i].json);
    cr_expect_null(recipe);
    cr_expect(strstr(llrt_last_error(), refused[i].said), "%s\n  says %s\n  not %s",
              refused[i].json, llrt_last_error(), refused[i].said);
  }
}

static llrt_recipe *load(const char *json) {
  llrt_recipe *recipe;
  cr_assert_eq(llrt_recipe_load(json, strlen(json), &recipe), LLRT_OK, "%s: %s", json,
               llrt_last_error());
  return recipe;
}

/* Binds without a device; the message has to have `said`. */
static void expect_unbound(const char *json, const llrt_named_tensor *in, int n,
                           const llrt_recipe_params *params, llrt_status wanted, const char *said) {
  llrt_recipe *recipe = load(json);
  llrt_repack *plan = (llrt_repack *)1;
  llrt_status status = llrt_recipe_bind(NULL, recipe, in, n, params, &plan);
  cr_expect_eq(status, wanted, "%s: %s", said, llrt_last_error());
  cr_expect_null(plan);
  cr_expect(strstr(llrt_last_error(), said), "%s\n  not %s", llrt_last_error(), said);
  llrt_recipe_destroy(&recipe);
}

#define TENSOR(title, type, ...) \
  { \
    .name = title, .dtype = type, .rank = sizeof((int[]){__VA_ARGS__}) / sizeof(int), .shape = { \
      __VA_ARGS__ \
    } \
  }

Test(recipe, refused_checkpoints) {
  const llrt_named_tensor a[] = {TENSOR("a", LLRT_F32, 6, 4)}, twice[] = {a[0], a[0]};
  const llrt_recipe_params back = {.inverse = 1}, ranks = {.tp = 2, .rank = 2};
#define BAD LLRT_INVALID_ARGUMENT
  expect_unbound(ROW(IN_OUT), a, 0, NULL, BAD, "no row of recipe t fits any of the 0 tensors");
  expect_unbound(ROW(IN_OUT), twice, 2, NULL, BAD, "there are two tensors a");
  expect_unbound(ROW(IN_OUT), a, 1, &ranks, BAD, "rank 2 of 2");
  expect_unbound(ROW("\"in\": {\"x\": \"a: f32[m, 4] = f32[m (q n:4)]\"}, \"out\": {\"x\": \"b: "
                     "f32[n, m] = f32[n m q]\"}"),
                 a, 1, NULL, BAD, "how long axis");
  expect_unbound(ROW("\"in\": {\"x\": \"a: f32[4*m, n] = f32[(m c:4) n]\"}, \"out\": {\"x\": "
                     "\"b: f32[n, m*4] = f32[n (m c)]\"}"),
                 a, 1, NULL, BAD, "a: 1:50: rows[0].in.x: 4*m: no whole m makes it 6");
  expect_unbound(ROW("\"in\": {\"x\": \"a: f32[m, n]\", \"y\": \"c: f32[m]\"}, \"out\": {\"x\": "
                     "\"b: f32[n, m] = f32[n m]\", \"y\": \"d: f32[m]\"}"),
                 a, 1, NULL, BAD, "rows[0].in.y: there is no tensor c");
  expect_unbound(ROW(IN_OUT ", \"pad\": {\"n\": \"n - 1\"}"), a, 1, NULL, BAD,
                 "3 is less than the 4");
  expect_unbound(ROW(IN_OUT ", \"where\": {\"m\": \"2 * n\"}"), a, 1, NULL, BAD,
                 "m is 6, and should be 8");
  expect_unbound(
      ROW("\"in\": {\"x\": \"a: f32[m, n]\"}, \"out\": {\"x\": \"b: f32[n] = f32[n m]\"}"), a, 1,
      NULL, BAD, "stored are 16 bytes, meant 96");
  expect_unbound(ROW("\"in\": {\"x\": \"a: f32[m, n]\"}, \"out\": {\"x\": \"b: f32[n, m] = f32[n "
                     "m] in storage(rank=2, digits=[dim1: rest, dim0: rest, replica: 2 @ 24])\"}"),
                 a, 1, NULL, LLRT_UNSUPPORTED, "rows[0].out.x: the storage has copies");
  expect_unbound(ROW("\"in\": {\"x\": \"a: f32[m, n]\"}, \"out\": {\"x\": \"b: bf16[m, n]\"}"), a,
                 1, &back, LLRT_UNSUPPORTED, "the row has no inverse: it casts f32 to bf16");
  expect_unbound(ROW("\"in\": {\"x\": \"a: f32[m, n]\"}, \"out\": {\"x\": \"{P}: f32[m, n]\"}"), a,
                 1, NULL, BAD, "{P} is in no name");
}

/* Act-order is refused by name, and by what is wrong with it. */
Test(recipe, refused_config) {
  static const char config[] =
      "{\"quantization_config\": {\"quant_method\": \"gptq\", \"bits\": 4, \"sym\": true, "
      "\"group_size\": 32, \"desc_act\": true}}";
  const llrt_named_tensor in[] = {TENSOR("x.qweight", LLRT_I32, 8, 64)};
  llrt_recipe_params params = {.config = config, .config_bytes = sizeof config - 1};
  llrt_recipe *recipe;
  llrt_repack *plan;
  cr_assert_eq(llrt_recipe_load_named("gptq.marlin", &recipe), LLRT_OK);
  cr_expect_eq(llrt_recipe_bind(NULL, recipe, in, 1, &params, &plan), LLRT_UNSUPPORTED);
  cr_expect(strstr(llrt_last_error(), "desc_act\": the config has true"), "%s", llrt_last_error());
  cr_expect(strstr(llrt_last_error(), "g_idx"), "%s", llrt_last_error());
  cr_expect_eq(llrt_recipe_bind(NULL, recipe, in, 1, NULL, &plan), LLRT_INVALID_ARGUMENT);
  params.config_bytes--;
  cr_expect_eq(llrt_recipe_bind(NULL, recipe, in, 1, &params, &plan), LLRT_INVALID_ARGUMENT);
  cr_expect(strstr(llrt_last_error(), "config: 1:"), "%s", llrt_last_error());
  llrt_recipe_destroy(&recipe);
  cr_expect_eq(llrt_recipe_load_named("gptq.marlim", &recipe), LLRT_INVALID_ARGUMENT);
  cr_expect(strstr(llrt_last_error(), "gptq.marlin"), "%s", llrt_last_error());
}

/* ---- what is told ---- */

static char *printed(const llrt_recipe *recipe) {
  size_t length;
  cr_assert_eq(llrt_recipe_print(recipe, NULL, 0, &length), LLRT_OK);
  char *text = malloc(length + 1);
  cr_assert_eq(llrt_recipe_print(recipe, text, length + 1, NULL), LLRT_OK);
  cr_expect_eq(strlen(text), length);
  return text;
}

/* Every recipe that comes with the library loads, is called as its file, and prints as itself. */
Test(recipe, shipped) {
  const char *name, *json;
  int n = 0;
  for (; (name = llrt_recipe_shipped(n, &json)); n++) {
    llrt_recipe *recipe = load(json);
    cr_expect_str_eq(llrt_recipe_name(recipe), name);
    char *first = printed(recipe);
    llrt_recipe *again = load(first);
    char *second = printed(again);
    cr_expect_str_eq(first, second);
    free(first);
    free(second);
    llrt_recipe_destroy(&recipe);
    llrt_recipe_destroy(&again);
  }
  cr_expect_gt(n, 3);
}

/* A plan without a device says what comes out. */
Test(recipe, plan) {
  const llrt_named_tensor in[] = {TENSOR("k", LLRT_BF16, 3), TENSOR("a", LLRT_F32, 6, 4)};
  llrt_recipe *recipe = load(ROW(IN_OUT ", \"const\": {\"one: f16[m]\": 1}"));
  llrt_repack *plan;
  char text[1024];
  cr_assert_eq(llrt_recipe_bind(NULL, recipe, in, 2, NULL, &plan), LLRT_OK, "%s",
               llrt_last_error());
  llrt_recipe_destroy(&recipe);
  llrt_repack_info info = {0};
  cr_assert_eq(llrt_repack_get_info(plan, &info), LLRT_OK);
  cr_expect_eq(info.n_inputs, 2);
  cr_expect_eq(info.n_outputs, 3);
  cr_expect_eq(info.n_steps, 2);
  cr_expect_eq(info.bytes_read, 6 * 4 * 4 + 6);
  const llrt_repack_tensor *b = llrt_repack_output(plan, 0);
  cr_expect_str_eq(b->name, "b");
  cr_expect(b->rank == 2 && b->shape[0] == 4 && b->shape[1] == 6 && b->bytes == 96);
  cr_expect_eq(b->place, -1);
  const llrt_repack_step *step = llrt_repack_step_at(plan, 0);
  cr_expect(step->n_inputs == 1 && step->inputs[0] == 1 && step->n_outputs == 2);
  cr_expect_null(llrt_repack_output(plan, 3));
  cr_assert_eq(llrt_repack_print(plan, text, sizeof text, NULL), LLRT_OK);
  cr_expect(strstr(text, "row 0: a f32[6,4] -> b f32[4,6], one f16[6]; 2 launches\n"), "%s", text);
  cr_expect(strstr(text, "kept: k bf16[3]; 1 launch\n"), "%s", text);
  const void *const from[2] = {text, text};
  void *const to[3] = {text, text, text};
  cr_expect_eq(llrt_repack_run(plan, from, to, NULL, NULL), LLRT_INVALID_ARGUMENT);
  cr_expect(strstr(llrt_last_error(), "without a device"));
  llrt_repack_destroy(&plan);
}

/* Any request for memory may fail: that is said, and nothing is lost (the address sanitizer looks).
 */
Test(recipe, without_memory) {
  const llrt_named_tensor in[] = {TENSOR("k", LLRT_BF16, 3), TENSOR("a", LLRT_F32, 6, 4)};
  static const char json[] =
      ROW(IN_OUT ", \"const\": {\"one: f16[m]\": 1}, \"pad\": {\"m\": \"roundup(m, 4)\"}");
  static const char config[] = "{\"a\": [1, {}]}";
  const llrt_recipe_params params = {.config = config, .config_bytes = sizeof config - 1};
  int failed = 0;
  for (int n = 1;; n++) {
    llrt_recipe *recipe;
    llrt_repack *plan = NULL;
    char text[512];
    memory_fail(MEMORY_HEAP, n, 0);
    llrt_status status = llrt_recipe_load(json, sizeof json - 1, &recipe);
    if (!status) status = llrt_recipe_print(recipe, text, sizeof text, NULL);
    if (!status) status = llrt_recipe_bind(NULL, recipe, in, 2, &params, &plan);
    if (!status) status = llrt_repack_print(plan, text, sizeof text, NULL);
    bool all = memory_asked() < n;
    memory_fail(0, 0, 0);
    cr_expect(status == (all ? LLRT_OK : LLRT_OUT_OF_MEMORY), "request %d: %s, %s", n,
              llrt_status_name(status), llrt_last_error());
    failed += status != LLRT_OK;
    llrt_repack_destroy(&plan);
    llrt_recipe_destroy(&recipe);
    if (all) break;
  }
  cr_expect_gt(failed, 20);
}

/* ---- in place ---- */

/* A small square may be turned where it lies, columns of another width through the workspace, and
 * what grows has memory of its own. */
Test(recipe, in_place) {
  enum { N = 64, WIDE = 300 };
  static const char json[] =
      "{\"recipe\": 1, \"name\": \"t\", \"rows\": [{\"in\": {\"x\": \"{P}.weight: f32[m, n]\"}, "
      "\"out\": {\"x\": \"{P}.weight: f32[m, n] = f32[m n] in col_major\"}},"
      "{\"pad\": {\"n\": \"n + 1\"}, \"in\": {\"x\": \"grown: f32[n]\"}, \"out\": {\"x\": \"grown: "
      "f32[n]\"}}]}";
  const llrt_named_tensor in[] = {TENSOR("s.weight", LLRT_F32, N, N), TENSOR("kept", LLRT_F32, 5),
                                  TENSOR("w.weight", LLRT_F32, N, WIDE),
                                  TENSOR("grown", LLRT_F32, 3)};
  llrt_recipe_params params = {.in_place = 1};
  opened_device at = open_device("host");
  llrt_recipe *recipe = load(json);
  llrt_repack *plan;
  cr_assert_eq(llrt_recipe_bind(at.device, recipe, in, 4, &params, &plan), LLRT_OK, "%s",
               llrt_last_error());
  llrt_repack_info info = {0};
  llrt_repack_get_info(plan, &info);
  float *data[4], *workspace = aligned_alloc(64, 4 * N * WIDE), grown[4] = {9, 9, 9, 9};
  cr_expect_leq(info.workspace, 4 * N * WIDE);
  for (int i = 0; i < 4; i++) {
    data[i] = aligned_alloc(64, 4 * N * WIDE);
    for (int e = 0; e < N * WIDE; e++) data[i][e] = (float)e;
  }
  const void *from[4] = {data[0], data[1], data[2], data[3]};
  void *to[4];
  for (int i = 0; i < 4; i++) {
    const llrt_repack_tensor *out = llrt_repack_output(plan, i);
    bool grows = strcmp(out->name, "grown") == 0;
    cr_expect_eq(out->place < 0, grows, "%s", out->name);
    to[i] = grows ? grown : data[out->place];
  }
  cr_assert_eq(llrt_repack_run(plan, from, to, workspace, NULL), LLRT_OK, "%s", llrt_last_error());
  for (int t = 0; t < 3; t += 2) {
    int columns = t ? WIDE : N;
    for (int r = 0; r < N; r++)
      for (int c = 0; c < columns; c++)
        cr_assert_eq(data[t][c * N + r], (float)(r * columns + c), "%s[%d][%d]", in[t].name, r, c);
  }
  cr_expect(grown[0] == 0 && grown[2] == 2 && grown[3] == 0);
  cr_expect_eq(data[1][4], 4);
  to[0] = workspace; /* not where the plan puts it */
  cr_expect_eq(llrt_repack_run_step(plan, 0, from, to, workspace, NULL), LLRT_INVALID_ARGUMENT);
  llrt_repack_destroy(&plan);
  llrt_recipe_destroy(&recipe);
  for (int i = 0; i < 4; i++) free(data[i]);
  free(workspace);
  close_device(&at);
}

/* ---- GPUs ---- */

/* What emulated GPUs make of a checkpoint is what the host makes, and comes back. */
static void check_device(const char *name) {
  static const char config[] =
      "{\"quantization_config\": {\"quant_method\": \"compressed-tensors\", \"format\": "
      "\"pack-quantized\"}}";
  opened_device host = open_device("host"), gpu = open_device(name);
  llrt_recipe_params params = {.config = config, .config_bytes = sizeof config - 1};
  uint64_t state = 7;
  model in = {0};
  model_add(&in, &state, "x.weight_packed", LLRT_I32, 2, 64, 8);
  model_add(&in, &state, "x.weight_scale", LLRT_F16, 2, 64, 2);
  repacked wanted = model_repack(host.device, "compressed-tensors-int4.marlin", &in, &params);
  repacked made = model_repack(gpu.device, "compressed-tensors-int4.marlin", &in, &params);
  for (int i = 0; i < wanted.out.n; i++)
    model_expect(&made, wanted.out.name[i], wanted.out.tensor[i].dtype, wanted.out.data[i],
                 wanted.out.bytes[i]);
  model_expect_back(gpu.device, "compressed-tensors-int4.marlin", &in, &params, &made, 1);
  repacked_free(&wanted);
  repacked_free(&made);
  model_free(&in);
  close_device(&host);
  close_device(&gpu);
}

Test(recipe, nvidia) { check_device("cuda-emu:sm_90a"); }
Test(recipe, amd) { check_device("hip-emu:gfx942"); }

/* Of two outputs of one tensor neither lies where it does: the first would be read for the second.
 */
Test(recipe, in_place_of_two) {
  enum { N = 8 };
  static const char json[] =
      ROW("\"in\": {\"a\": \"x: f32[m, n]\", \"b\": \"x: f32[m, n]\"}, "
          "\"out\": {\"a\": \"y: f32[n, m] = f32[n m]\", \"b\": \"z: f32[m, n]\"}");
  const llrt_named_tensor in[] = {TENSOR("x", LLRT_F32, N, N)};
  llrt_recipe_params params = {.in_place = 1};
  opened_device at = open_device("host");
  llrt_recipe *recipe = load(json);
  llrt_repack *plan;
  cr_assert_eq(llrt_recipe_bind(at.device, recipe, in, 1, &params, &plan), LLRT_OK, "%s",
               llrt_last_error());
  float x[N * N], y[N * N], z[N * N];
  for (int i = 0; i < N * N; i++) x[i] = (float)i;
  const void *from[1] = {x};
  void *to[2] = {y, z};
  cr_expect_lt(llrt_repack_output(plan, 0)->place, 0);
  cr_expect_lt(llrt_repack_output(plan, 1)->place, 0);
  cr_assert_eq(llrt_repack_run(plan, from, to, NULL, NULL), LLRT_OK, "%s", llrt_last_error());
  for (int i = 0; i < N * N; i++) cr_expect(y[i] == x[i % N * N + i / N] && z[i] == x[i]);
  llrt_repack_destroy(&plan);
  llrt_recipe_destroy(&recipe);
  close_device(&at);
}
