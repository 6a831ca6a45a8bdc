#include "tests/recipe/model.h"

#include <stdarg.h>
#include <stdlib.h>

uint64_t model_shape;

uint64_t model_random(uint64_t *state, uint64_t below) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (*state >> 33) % below;
}

static size_t bytes_of(const llrt_named_tensor *tensor) {
  size_t bits = (size_t)llrt_dtype_bits(tensor->dtype);
  for (int i = 0; i < tensor->rank; i++) bits *= (size_t)tensor->shape[i];
  return (bits + 7) / 8;
}

/* Memory of its own, on whose end the address sanitizer looks. */
static void *memory_of(size_t bytes) {
  void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
  cr_assert(memory);
  memset(memory, 0xa5, (bytes + 63) / 64 * 64 + 64);
  return memory;
}

static int add(model *of, const char *name, const llrt_named_tensor *tensor) {
  cr_assert_lt(of->n, MODEL_MOST);
  int i = of->n++;
  snprintf(of->name[i], sizeof of->name[i], "%s", name);
  of->tensor[i] = *tensor;
  of->bytes[i] = bytes_of(tensor);
  of->data[i] = memory_of(of->bytes[i]);
  return i;
}

void *model_add(model *of, uint64_t *state, const char *name, llrt_dtype dtype, int rank, ...) {
  llrt_named_tensor tensor = {.dtype = dtype, .rank = rank};
  va_list extents;
  va_start(extents, rank);
  for (int i = 0; i < rank; i++) tensor.shape[i] = va_arg(extents, int);
  va_end(extents);
  int i = add(of, name, &tensor);
  for (size_t b = 0; b < of->bytes[i]; b++)
    ((uint8_t *)of->data[i])[b] = (uint8_t)model_random(state, 256);
  return of->data[i];
}

void model_free(model *of) {
  for (int i = 0; i < of->n; i++) free(of->data[i]);
  of->n = 0;
}

int model_find(const model *of, const char *name) {
  for (int i = 0; i < of->n; i++)
    if (strcmp(of->name[i], name) == 0) return i;
  cr_assert(false, "there is no %s", name);
  return -1;
}

/* Memory for what a plan puts out. */
static void take_outputs(const llrt_repack *plan, model *out) {
  llrt_repack_info info = {.size = sizeof info};
  cr_assert_eq(llrt_repack_get_info(plan, &info), LLRT_OK);
  for (int i = 0; i < info.n_outputs; i++) {
    const llrt_repack_tensor *made = llrt_repack_output(plan, i);
    llrt_named_tensor tensor = {.dtype = made->dtype, .rank = made->rank};
    memcpy(tensor.shape, made->shape, sizeof tensor.shape);
    int at = add(out, made->name, &tensor);
    cr_assert_eq(out->bytes[at], made->bytes, "%s", made->name);
  }
}

static llrt_repack *bind(llrt_device *device, const llrt_recipe *recipe, const model *in,
                         const llrt_recipe_params *params) {
  llrt_repack *plan;
  llrt_named_tensor tensors[MODEL_MOST]; /* a model may have moved since its names were written */
  for (int i = 0; i < in->n; i++) {
    tensors[i] = in->tensor[i];
    tensors[i].name = in->name[i];
  }
  cr_assert_eq(llrt_recipe_bind(device, recipe, tensors, in->n, params, &plan), LLRT_OK, "%s",
               llrt_last_error());
  return plan;
}

static void *upload(llrt_device *device, const void *bytes, size_t size) {
  void *memory;
  cr_assert_eq(llrt_memory_allocate(device, size, &memory), LLRT_OK, "%s", llrt_last_error());
  if (bytes)
    cr_assert_eq(llrt_memory_copy(device, memory, bytes, size, LLRT_COPY_TO_DEVICE, NULL), LLRT_OK);
  return memory;
}

/* Runs a plan on host memory: there, or on copies in the device's. */
static void run(llrt_device *device, const llrt_repack *plan, const void **in, void **out) {
  llrt_repack_info info = {.size = sizeof info};
  llrt_device_info about = {.size = sizeof about};
  const void *from[MODEL_MOST];
  void *to[MODEL_MOST];
  cr_assert_eq(llrt_repack_get_info(plan, &info), LLRT_OK);
  cr_assert_eq(llrt_device_get_info(device, &about), LLRT_OK);
  bool copies = strcmp(about.name, "host") != 0;
  for (int i = 0; i < info.n_inputs; i++)
    from[i] = copies ? upload(device, in[i], llrt_repack_input(plan, i)->bytes) : in[i];
  for (int i = 0; i < info.n_outputs; i++)
    to[i] = copies ? upload(device, out[i], llrt_repack_output(plan, i)->bytes) : out[i];
  void *workspace = info.workspace ? upload(device, NULL, info.workspace) : NULL;
  cr_assert_eq(llrt_repack_run(plan, from, to, workspace, NULL), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_stream_synchronize(device, NULL), LLRT_OK, "%s", llrt_last_error());
  for (int i = 0; i < info.n_outputs && copies; i++) {
    cr_assert_eq(llrt_memory_copy(device, out[i], to[i], llrt_repack_output(plan, i)->bytes,
                                  LLRT_COPY_FROM_DEVICE, NULL),
                 LLRT_OK);
    llrt_stream_synchronize(device, NULL);
    llrt_memory_free(device, to[i]);
  }
  for (int i = 0; i < info.n_inputs && copies; i++)
    llrt_memory_free(device, (void *)(uintptr_t)from[i]);
  llrt_memory_free(device, workspace);
}

repacked model_repack(llrt_device *device, const char *recipe, const model *in,
                      const llrt_recipe_params *params) {
  repacked made = {0};
  cr_assert_eq(llrt_recipe_load_named(recipe, &made.recipe), LLRT_OK, "%s", llrt_last_error());
  made.plan = bind(device, made.recipe, in, params);
  take_outputs(made.plan, &made.out);
  const void *addresses[MODEL_MOST];
  for (int i = 0; i < in->n; i++) addresses[i] = in->data[i];
  run(device, made.plan, addresses, made.out.data);
  return made;
}

void repacked_free(repacked *made) {
  llrt_repack_destroy(&made->plan);
  llrt_recipe_destroy(&made->recipe);
  model_free(&made->out);
}

void model_expect_back(llrt_device *device, const char *recipe, const model *in,
                       const llrt_recipe_params *params, repacked *made, int n_made) {
  model back = {0};
  llrt_recipe_params own = *params;
  own.inverse = 1;
  for (int r = 0; r < n_made; r++) {
    own.rank = r;
    llrt_repack *plan = bind(device, made[r].recipe, in, &own);
    const void *addresses[MODEL_MOST];
    llrt_repack_info info = {.size = sizeof info};
    cr_assert_eq(llrt_repack_get_info(plan, &info), LLRT_OK);
    cr_assert_eq(info.n_outputs, in->n);
    for (int i = 0; i < info.n_inputs; i++) {
      int found = model_find(&made[r].out, llrt_repack_input(plan, i)->name);
      addresses[i] = made[r].out.data[found];
    }
    if (r == 0) take_outputs(plan, &back);
    run(device, plan, addresses, back.data);
    llrt_repack_destroy(&plan);
  }
  for (int i = 0; i < in->n; i++) {
    cr_assert_eq(back.bytes[i], in->bytes[i]);
    cr_expect_eq(memcmp(back.data[i], in->data[i], in->bytes[i]), 0,
                 "%s: %s does not come back (shape %llu)", recipe, in->name[i],
                 (unsigned long long)model_shape);
  }
  model_free(&back);
}

void model_expect(const repacked *made, const char *name, llrt_dtype dtype, const void *wanted,
                  size_t bytes) {
  int i = model_find(&made->out, name);
  cr_assert_eq(made->out.tensor[i].dtype, dtype, "%s", name);
  cr_assert_eq(made->out.bytes[i], bytes, "%s: %zu bytes, not %zu (shape %llu)", name,
               made->out.bytes[i], bytes, (unsigned long long)model_shape);
  const uint8_t *a = made->out.data[i], *b = wanted;
  size_t at = 0;
  while (at < bytes && a[at] == b[at]) at++;
  cr_expect_eq(at, bytes, "%s: byte %zu is %02x, not %02x (shape %llu)", name, at,
               at < bytes ? a[at] : 0, at < bytes ? b[at] : 0, (unsigned long long)model_shape);
}
