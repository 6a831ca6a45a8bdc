/* Tensors that are alike go together, by one launch over lists of addresses: what comes out is what
 * a plain loop makes, on every kind of device, aligned or not, all at once and step by step; and
 * counts of launches are those of whole checkpoints. */
#include "tests/recipe/model.h"

#include <stdlib.h>

enum { E = 5, M = 24, N = 40, SKEW = 64 };

/* Of every expert three tensors: a matrix that is turned, one of 4-bit elements, likewise, and a
 * vector that is cast; all go into tensors of all experts but the matrix. */
static const char json[] =
    "{\"recipe\": 1, \"name\": \"t\", \"rows\": ["
    "{\"each\": \"l.{L}\", \"in\": {\"x\": \"{each}.w: f32[m, n]\"}, "
    "\"out\": {\"x\": \"{each}.w: f32[n, m] = f32[n m]\"}},"
    "{\"fuse\": {\"e\": 5}, \"in\": {\"x\": \"q.{e}: u8[m, n/2] = u4[m n]\", \"s\": \"s.{e}: "
    "bf16[m]\"}, \"out\": {\"x\": \"q: u8[5, n, m/2] = u4[e n m]\", \"s\": \"s: f32[5, m] = f32[e "
    "m]\"}}]}";

typedef struct lists_run {
  llrt_device *device;
  llrt_repack *plan;
  llrt_repack_info info;
  model in;
  void *memory[2][MODEL_MOST];
  void *from[MODEL_MOST], *to[MODEL_MOST]; /* memory, or beside its beginning */
  void *workspace;
} lists_run;

static void make_model(model *in) {
  static const char *const names[] = {"l.%d.w", "q.%d", "s.%d"};
  uint64_t state = 7;
  for (int i = 0; i < 3 * E; i++) {
    char name[32];
    snprintf(name, sizeof name, names[i % 3], i / 3);
    if (i % 3 == 0) model_add(in, &state, name, LLRT_F32, 2, M, N);
    if (i % 3 == 1) model_add(in, &state, name, LLRT_U8, 2, M, N / 2);
    if (i % 3 == 2) {
      uint16_t *values = model_add(in, &state, name, LLRT_BF16, 1, M);
      for (int k = 0; k < M; k++) values[k] &= 0xbfff; /* no NaN */
    }
  }
  for (int i = 0; i < in->n; i++) in->tensor[i].name = in->name[i];
}

static void copy(llrt_device *device, void *to, const void *from, size_t bytes,
                 llrt_copy_kind kind) {
  cr_assert_eq(llrt_memory_copy(device, to, from, bytes, kind, NULL), LLRT_OK);
  cr_assert_eq(llrt_stream_synchronize(device, NULL), LLRT_OK);
}

static void *allocate(llrt_device *device, size_t bytes) {
  void *memory;
  cr_assert_eq(llrt_memory_allocate(device, bytes, &memory), LLRT_OK);
  cr_assert_eq(llrt_memory_set(device, memory, 0xa5, bytes, NULL), LLRT_OK);
  return memory;
}

static void begin(llrt_device *device, lists_run *r) {
  llrt_recipe *recipe;
  *r = (lists_run){.device = device};
  make_model(&r->in);
  cr_assert_eq(llrt_recipe_load(json, sizeof json - 1, &recipe), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_recipe_bind(device, recipe, r->in.tensor, r->in.n, NULL, &r->plan), LLRT_OK,
               "%s", llrt_last_error());
  cr_assert_eq(llrt_repack_get_info(r->plan, &r->info), LLRT_OK);
  llrt_recipe_destroy(&recipe);
  for (int i = 0; i < r->in.n; i++) r->memory[0][i] = allocate(device, r->in.bytes[i] + SKEW);
  for (int i = 0; i < r->info.n_outputs; i++)
    r->memory[1][i] = allocate(device, llrt_repack_output(r->plan, i)->bytes + SKEW);
  r->workspace = allocate(device, r->info.workspace);
}

/* Addresses `skew` bytes behind what is aligned, of every other tensor. */
static void place(lists_run *r, size_t skew) {
  for (int i = 0; i < r->in.n; i++) {
    r->from[i] = (char *)r->memory[0][i] + (i % 2 ? skew : 0);
    copy(r->device, r->from[i], r->in.data[i], r->in.bytes[i], LLRT_COPY_TO_DEVICE);
  }
  for (int i = 0; i < r->info.n_outputs; i++) {
    r->to[i] = (char *)r->memory[1][i] + (i % 2 ? skew : 0);
    size_t bytes = llrt_repack_output(r->plan, i)->bytes;
    cr_assert_eq(llrt_memory_set(r->device, r->to[i], 0xa5, bytes, NULL), LLRT_OK);
  }
}

static void end(lists_run *r) {
  for (int i = 0; i < r->in.n; i++) llrt_memory_free(r->device, r->memory[0][i]);
  for (int i = 0; i < r->info.n_outputs; i++) llrt_memory_free(r->device, r->memory[1][i]);
  llrt_memory_free(r->device, r->workspace);
  llrt_repack_destroy(&r->plan);
  model_free(&r->in);
}

static int nibble(const uint8_t *bytes, int i) { return bytes[i / 2] >> i % 2 * 4 & 15; }

static void expect_expert(const lists_run *r, int e, const float turned[N][M],
                          const uint8_t *quarters, const float *scales) {
  const float *w = r->in.data[3 * e];
  const uint8_t *q = r->in.data[3 * e + 1];
  const uint16_t *s = r->in.data[3 * e + 2];
  for (int m = 0; m < M; m++) {
    for (int n = 0; n < N; n++) {
      cr_assert_eq(memcmp(&turned[n][m], &w[m * N + n], 4), 0, "w of %d: %d, %d", e, m, n);
      cr_assert_eq(nibble(quarters, (e * N + n) * M + m), nibble(q, m * N + n), "q of %d: %d, %d",
                   e, m, n);
    }
    uint32_t bits = (uint32_t)s[m] << 16;
    cr_assert_eq(memcmp(&scales[e * M + m], &bits, 4), 0, "s of %d: %d", e, m);
  }
}

static void expect_all(const lists_run *r) {
  static float turned[E][N][M], scales[E * M];
  static uint8_t quarters[E * N * M / 2];
  for (int i = 0; i < r->info.n_outputs; i++) {
    const llrt_repack_tensor *made = llrt_repack_output(r->plan, i);
    void *host = made->name[0] == 'l'   ? (void *)turned[made->name[2] - '0']
                 : made->name[0] == 'q' ? (void *)quarters
                                        : (void *)scales;
    copy(r->device, host, r->to[i], made->bytes, LLRT_COPY_FROM_DEVICE);
  }
  for (int e = 0; e < E; e++) expect_expert(r, e, (const float(*)[M])turned[e], quarters, scales);
}

static void check_device(const char *name) {
  opened_device at = open_device(name);
  lists_run r;
  begin(at.device, &r);
  cr_expect_eq(r.info.launches, 4, "%s: %d launches", name, r.info.launches);
  cr_expect_geq(r.info.workspace, 2 * 3 * E * sizeof(uint64_t));
  for (int turn = 0; turn < 3; turn++) {
    const void *const *from = (const void *const *)r.from;
    place(&r, turn == 1 ? 4 : 0); /* an element of the widest type */
    for (int s = 0; s < r.info.n_steps && turn == 2; s++)
      cr_assert_eq(llrt_repack_run_step(r.plan, s, from, r.to, r.workspace, NULL), LLRT_OK, "%s",
                   llrt_last_error());
    if (turn < 2)
      cr_assert_eq(llrt_repack_run(r.plan, from, r.to, r.workspace, NULL), LLRT_OK, "%s",
                   llrt_last_error());
    expect_all(&r);
  }
  cr_expect_eq(llrt_repack_run(r.plan, (const void *const *)r.from, r.to, NULL, NULL),
               LLRT_INVALID_ARGUMENT);
  cr_expect(strstr(llrt_last_error(), "workspace is NULL"), "%s", llrt_last_error());
  r.from[4] = NULL;
  cr_expect_eq(llrt_repack_run(r.plan, (const void *const *)r.from, r.to, r.workspace, NULL),
               LLRT_INVALID_ARGUMENT);
  cr_expect(strstr(llrt_last_error(), "in[4], q.1, is NULL"), "%s", llrt_last_error());
  end(&r);
  close_device(&at);
}

Test(recipe_lists, host) { check_device("host"); }
Test(recipe_lists, cuda) { check_device("cuda-emu:sm_90a"); }
Test(recipe_lists, hip) { check_device("hip-emu:gfx942"); }

/* ---- DeepSeek-V3 ---- */

enum { LAYERS = 58, EXPERTS = 256, PARTS = 6 };

static const struct {
  const char *name;
  llrt_dtype dtype;
  int rows, columns;
} part[PARTS] = {
    {"gate_proj.weight", LLRT_E4M3, 2048, 7168}, {"gate_proj.weight_scale_inv", LLRT_F32, 16, 56},
    {"up_proj.weight", LLRT_E4M3, 2048, 7168},   {"up_proj.weight_scale_inv", LLRT_F32, 16, 56},
    {"down_proj.weight", LLRT_E4M3, 7168, 2048}, {"down_proj.weight_scale_inv", LLRT_F32, 56, 16},
};

/* A conversion each took 89,088 launches, to load or to go back; tensors of one class take one. */
Test(recipe_lists, deepseek) {
  enum { COUNT = LAYERS * EXPERTS * PARTS, NAME = 80 };
  static const char config[] =
      "{\"n_routed_experts\": 256, \"quantization_config\": {\"quant_method\": \"fp8\"}}";
  char(*names)[NAME] = malloc((size_t)COUNT * sizeof *names);
  llrt_named_tensor *tensors = calloc(COUNT, sizeof *tensors);
  llrt_recipe *recipe;
  for (int i = 0; i < COUNT; i++) {
    int p = i % PARTS;
    snprintf(names[i], sizeof names[i], "model.layers.%d.mlp.experts.%d.%s",
             i / PARTS / EXPERTS + 3, i / PARTS % EXPERTS, part[p].name);
    tensors[i] = (llrt_named_tensor){.name = names[i],
                                     .dtype = part[p].dtype,
                                     .rank = 2,
                                     .shape = {part[p].rows, part[p].columns}};
  }
  cr_assert_eq(llrt_recipe_load_named("deepseek-fp8.grouped", &recipe), LLRT_OK);
  for (int inverse = 0; inverse < 2; inverse++) {
    llrt_recipe_params params = {
        .config = config, .config_bytes = sizeof config - 1, .inverse = inverse};
    llrt_repack *plan;
    llrt_repack_info info = {0};
    cr_assert_eq(llrt_recipe_bind(NULL, recipe, tensors, COUNT, &params, &plan), LLRT_OK, "%s",
                 llrt_last_error());
    cr_assert_eq(llrt_repack_get_info(plan, &info), LLRT_OK);
    cr_expect_leq(info.launches, 48, "%d launches", info.launches);
    cr_expect_eq(info.workspace, (size_t)COUNT * 2 * sizeof(uint64_t));
    int most = 0;
    for (int s = 0; s < info.n_steps; s++)
      if (llrt_repack_step_at(plan, s)->launches > most)
        most = llrt_repack_step_at(plan, s)->launches;
    cr_expect_leq(most, 3, "%d launches of a step", most);
    llrt_repack_destroy(&plan);
  }
  llrt_recipe_destroy(&recipe);
  free(tensors);
  free(names);
}
