/* See step_device.h. */
#include "step_device.h"

#include "base/bits.h"
#include "base/text.h"
#include "jit/plan/plan_print.h"
#include "runtime/context.h"
#include "tests/number_reference.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 512, GUARD_BYTE = 0xC3, ALIGNMENT = 256 };

/* ---- memory ---- */

/* Memory of all tensors on the host: before, and by the reference after. */
typedef struct images {
  unsigned char *before[STEP_TENSORS], *after[STEP_TENSORS], *open[STEP_TENSORS];
  size_t bytes[STEP_TENSORS];
} images;

static void fill_numbers(uint64_t *seed, llrt_dtype type, unsigned char *bytes, size_t n) {
  size_t size = (size_t)llrt_dtype_bits(type) / 8;
  for (size_t i = 0; i + size <= n; i += size) {
    int number = step_below(seed, 4) ? step_below(seed, 9) - 4 : 1;
    bool wide = type == LLRT_I64 || type == LLRT_U64;
    uint64_t code = wide ? (uint64_t)(int64_t)number : reference_encode(type, number);
    memcpy(bytes + i, &code, size);
  }
}

/* Values of an index, then counters. */
static void fill_values(uint64_t *seed, const step_tensor *tensor, unsigned char *bytes) {
  size_t size = (size_t)tensor->bits / 8;
  int64_t first = step_below(seed, (int)tensor->range), n = tensor->range;
  memset(bytes, 0, step_bytes(tensor));
  for (int64_t i = 0; i < tensor->counters; i++) {
    int64_t value = (first + i * (n > 2 ? n - 1 : 1)) % n; /* n - 1 and n have no divisor in common */
    if (step_once_in(seed, 5)) value = step_once_in(seed, 2) ? -1 - step_below(seed, 3) : n + step_below(seed, 3);
    memcpy(bytes + (size_t)i * size, &value, size);
  }
}

static void images_init(const step_case *c, images *all) {
  uint64_t seed = c->seed ^ 0x9e3779b97f4a7c15;
  memset(all, 0, sizeof *all);
  for (int t = 0; t < c->kernel.n_tensors; t++) {
    size_t n = all->bytes[t] = step_bytes(&c->tensor[t]);
    all->before[t] = malloc(n + 1);
    all->after[t] = malloc(n + 1);
    all->open[t] = calloc(n + 1, 1);
    for (size_t i = 0; i < n; i++) all->before[t][i] = (unsigned char)(step_random(&seed) >> 8);
    if (c->tensor[t].numbers) fill_numbers(&seed, (llrt_dtype)c->tensor[t].numbers, all->before[t], n);
    if (c->tensor[t].range) fill_values(&seed, &c->tensor[t], all->before[t]);
    memcpy(all->after[t], all->before[t], n);
  }
}

static void images_fini(images *all) {
  for (int t = 0; t < STEP_TENSORS; t++) {
    free(all->before[t]);
    free(all->after[t]);
    free(all->open[t]);
  }
}

static void explain(const step_case *c) {
  static plan one;
  llrt_text text;
  llrt_text_init(&text);
  one.n_variants = 1;
  one.variant[0] = c->kernel;
  plan_print(&one, &text);
  fprintf(stderr, "%s\n", text.data ? text.data : "");
  llrt_text_fini(&text);
}

/* The same of what is nearly right. */
static int64_t first_far(const step_case *c, const images *all, const unsigned char *got) {
  llrt_dtype type = (llrt_dtype)c->tensor[1].numbers;
  size_t size = (size_t)llrt_dtype_bits(type) / 8;
  for (size_t i = 0; i + size <= all->bytes[1]; i += size) {
    uint64_t x = 0, wanted = 0, code = 0;
    memcpy(&x, all->before[0] + i, size);
    memcpy(&wanted, all->after[1] + i, size);
    memcpy(&code, got + i, size);
    double right = reference_decode(type, wanted), is = reference_decode(type, code);
    bool same = wanted == code || (isnan(right) && isnan(is));
    if (!same && !(fabs(right - is) <= ldexp(fabs(reference_decode(type, x)), -19) + 1e-37)) return (int64_t)i;
  }
  return -1;
}

/* The first byte of a tensor that is not as it should be; -1: none. */
static int64_t first_wrong(const step_case *c, const images *all, int t, const unsigned char *got) {
  if (c->near && t == 1) return first_far(c, all, got);
  for (size_t i = 0; i < all->bytes[t]; i++)
    if ((got[i] ^ all->after[t][i]) & ~all->open[t][i]) return (int64_t)i;
  return -1;
}

static void compare(const step_case *c, const images *all, int t, const unsigned char *got, const char *how) {
  int64_t at = first_wrong(c, all, t, got);
  if (at < 0) return;
  explain(c);
  cr_assert_fail("%s, seed %llu, %s: byte %lld of tensor %d, of %zu, is %02x, not %02x (before: %02x)", c->what,
                 (unsigned long long)c->seed, how, (long long)at, t, all->bytes[t], got[at], all->after[t][at],
                 all->before[t][at]);
}

static void expect_ok(const step_case *c, llrt_status status, const char *what, const char *message) {
  if (status == LLRT_OK) return;
  explain(c);
  cr_assert_fail("%s, seed %llu, %s: %s", c->what, (unsigned long long)c->seed, what, message);
}

/* ---- ways to run ---- */

/* What a way runs on: tensors in memory of its own, which begins and ends with guard bytes. */
typedef struct run_tensors {
  llrt_storage storage;
  llrt_tensor tensor[STEP_TENSORS];
  llrt_storage_binding binding[STEP_TENSORS];
  unsigned char *block[STEP_TENSORS];
} run_tensors;

static void describe(const step_case *c, run_tensors *r) {
  cr_assert_eq(llrt_storage_row_major(1, &r->storage), LLRT_OK);
  for (int t = 0; t < c->kernel.n_tensors; t++) {
    llrt_tensor *tensor = &r->tensor[t];
    *tensor = (llrt_tensor){.rank = 1, .shape = {c->tensor[t].elements}, .storage = &r->storage};
    cr_assert_eq(llrt_storage_bind(&r->storage, 1, tensor->shape, tensor->strides, &r->binding[t]), LLRT_OK);
  }
}

static void host_tensors(const step_case *c, const images *all, run_tensors *r) {
  describe(c, r);
  for (int t = 0; t < c->kernel.n_tensors; t++) {
    size_t total = (all->bytes[t] + 2 * GUARD + 2 * ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    r->block[t] = aligned_alloc(ALIGNMENT, total);
    memset(r->block[t], GUARD_BYTE, total);
    r->tensor[t].data = r->block[t] + GUARD + c->tensor[t].lead;
    memcpy(r->tensor[t].data, all->before[t], all->bytes[t]);
  }
}

static void check_host(const step_case *c, const images *all, run_tensors *r, const char *how) {
  for (int t = 0; t < c->kernel.n_tensors; t++) {
    size_t first = (size_t)(GUARD + c->tensor[t].lead), end = first + all->bytes[t];
    size_t total = (all->bytes[t] + 2 * GUARD + 2 * ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    compare(c, all, t, r->tensor[t].data, how);
    for (size_t i = 0; i < total; i++)
      if ((i < first || i >= end) && r->block[t][i] != GUARD_BYTE) {
        explain(c);
        cr_assert_fail("%s, seed %llu, %s: byte %lld of tensor %d, of %zu, is written", c->what, (unsigned long long)c->seed,
                       how, (long long)i - (long long)first, t, all->bytes[t]);
      }
    free(r->block[t]);
  }
}

static void interpret(const step_case *c, const images *all) {
  run_tensors r = {0};
  host_tensors(c, all, &r);
  expect_ok(c, plan_interpret(&c->kernel, r.tensor, r.binding, c->kernel.n_tensors), "interpreter", llrt_last_error());
  check_host(c, all, &r, "interpreter");
}

/* What the compiler makes of it, as text. */
static void show_text(const step_case *c, const llrt_jit_interface *jit) {
  llrt_jit_result result = {0};
  if (jit->compile(&c->kernel, strcmp(getenv("LLRT_TEST_SHOW"), "ir") ? LLRT_EMIT_ASM : LLRT_EMIT_IR, &result) == LLRT_OK)
    fprintf(stderr, "%s\n", (const char *)result.data);
  jit->release(&result);
}

/* Compiles and loads the kernel. */
static backend_module *load(const step_case *c, llrt_device *device) {
  const llrt_backend *backend = device->backend;
  const llrt_jit_interface *jit;
  llrt_jit_result result = {0};
  backend_module *module;
  void *linked = NULL;
  expect_ok(c, llrt_jit_library_get(&device->context->jit, &jit), "compiler", llrt_last_error());
  llrt_status status = jit->compile(&c->kernel, LLRT_EMIT_OBJECT, &result);
  expect_ok(c, status, "compiler", result.message);
  if (getenv("LLRT_TEST_SHOW")) show_text(c, jit);
  backend_code code = {.data = result.data, .size = result.size, .entry = PLAN_ENTRY_NAME,
                       .shared_bytes = c->kernel.launch.shared_bytes, .cluster = c->kernel.launch.cluster};
  if (backend->link) {
    expect_ok(c, backend->link(device, result.data, result.size, &linked, &code.size), "link", llrt_last_error());
    code.data = linked;
  }
  expect_ok(c, backend->load(device, &code, &module), "load", llrt_last_error());
  free(linked);
  jit->release(&result);
  return module;
}

/* Memory of the device: as many bytes as tensors have, behind their lead, so that emulators see what is read outside. */
static void device_tensors(const step_case *c, const images *all, llrt_device *device, run_tensors *r) {
  describe(c, r);
  for (int t = 0; t < c->kernel.n_tensors; t++) {
    void *memory;
    size_t lead = (size_t)c->tensor[t].lead;
    cr_assert_eq(device->backend->allocate(device, lead + all->bytes[t], &memory), LLRT_OK, "%s", llrt_last_error());
    r->block[t] = memory;
    r->tensor[t].data = r->block[t] + lead;
    unsigned char *image = malloc(lead + all->bytes[t]);
    memset(image, GUARD_BYTE, lead);
    memcpy(image + lead, all->before[t], all->bytes[t]);
    device->backend->copy(device, memory, image, lead + all->bytes[t], LLRT_COPY_TO_DEVICE, NULL);
    free(image);
  }
}

static void launch(const step_case *c, llrt_device *device, const backend_module *module, const run_tensors *r) {
  uint64_t args[PLAN_MAX_ARGS];
  int64_t blocks;
  expect_ok(c, plan_launch_bind(&c->kernel.launch, r->tensor, r->binding, c->kernel.n_tensors, args, &blocks), "arguments",
            llrt_last_error());
  backend_launch call = {.early = device->target.early_launches, .blocks = blocks, .threads = c->kernel.launch.threads,
                         .n_args = c->kernel.launch.n_args, .args = args};
  llrt_status status = device->backend->launch(device, module, &call, NULL);
  if (status == LLRT_OK) status = device->backend->synchronize(device, NULL);
  expect_ok(c, status, "launch", llrt_last_error());
}

static void check_device(const step_case *c, const images *all, llrt_device *device, run_tensors *r) {
  for (int t = 0; t < c->kernel.n_tensors; t++) {
    size_t lead = (size_t)c->tensor[t].lead;
    unsigned char *got = malloc(lead + all->bytes[t]);
    device->backend->copy(device, got, r->block[t], lead + all->bytes[t], LLRT_COPY_FROM_DEVICE, NULL);
    cr_assert_eq(device->backend->synchronize(device, NULL), LLRT_OK);
    for (size_t i = 0; i < lead; i++)
      cr_assert_eq(got[i], GUARD_BYTE, "%s, seed %llu: byte %lld of tensor %d is written", c->what,
                   (unsigned long long)c->seed, (long long)i - (long long)lead, t);
    compare(c, all, t, got + lead, "device");
    free(got);
    device->backend->release(device, r->block[t]);
  }
}

static void run(const step_case *c, const images *all, const step_target *target) {
  run_tensors r = {0};
  llrt_device *device = target->opened;
  bool host = target->plan.isa == PLAN_ISA_HOST;
  backend_module *module = load(c, device);
  if (host) host_tensors(c, all, &r);
  else device_tensors(c, all, device, &r);
  launch(c, device, module, &r);
  if (host) check_host(c, all, &r, "device");
  else check_device(c, all, device, &r);
  device->backend->unload(device, module);
}

bool step_check(const step_case *c, const step_target *target) {
  images all;
  char message[160] = "";
  const char *only = getenv("LLRT_TEST_CASE");
  if (plan_verify(&c->kernel) != LLRT_OK) return false;
  if (only && strtoull(only, NULL, 0) != c->seed) return true;
  if (getenv("LLRT_TEST_SHOW")) explain(c); /* the last one is that of a crash */
  images_init(c, &all);
  if (!step_reference(c, all.after, all.open, message)) {
    explain(c);
    cr_assert_fail("%s, seed %llu: the test's own kernel: %s", c->what, (unsigned long long)c->seed, message);
  }
  interpret(c, &all);
  if (target->device) run(c, &all, target);
  images_fini(&all);
  return true;
}
