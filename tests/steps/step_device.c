/* See step_device.h. */
#include "step_device.h"

#include "base/bits.h"
#include "base/text.h"
#include "jit/interpret/plan_interpret.h"
#include "jit/plan/check/plan_print.h"
#include "jit/plan/check/plan_view.h"
#include "runtime/context.h"
#include "tests/number_reference.h"

#include <criterion/criterion.h>

#include <stdarg.h>
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

static void fill_numbers(uint64_t *seed, llrt_dtype type, int fuzz, unsigned char *bytes,
                         size_t n) {
  size_t size = (size_t)llrt_dtype_bits(type) / 8;
  for (size_t i = 0; i + size <= n; i += size) {
    int number = step_below(seed, 4) ? step_below(seed, 9) - 4 : 1;
    bool wide = type == LLRT_I64 || type == LLRT_U64;
    uint64_t code = wide ? (uint64_t)(int64_t)number : reference_encode(type, number);
    code ^= step_random(seed) & (((uint64_t)1 << fuzz) - 1);
    memcpy(bytes + i, &code, size);
  }
}

/* Values of an index, then counters. */
static void fill_values(uint64_t *seed, const step_tensor *tensor, unsigned char *bytes) {
  size_t size = (size_t)tensor->bits / 8;
  int64_t first = step_below(seed, (int)tensor->range), n = tensor->range;
  memset(bytes, 0, step_bytes(tensor));
  for (int64_t i = 0; i < tensor->counters; i++) {
    int64_t value =
        (first + i * (n > 2 ? n - 1 : 1)) % n; /* n - 1 and n have no divisor in common */
    if (step_once_in(seed, 5))
      value = step_once_in(seed, 2) ? -1 - step_below(seed, 3) : n + step_below(seed, 3);
    memcpy(bytes + (size_t)i * size, &value, size);
  }
}

/* The same, of which groups follow each other; in some cases values are out of range, or exchanged,
 * or from no multiple on. */
static void fill_following(uint64_t *seed, const step_tensor *tensor, unsigned char *bytes) {
  size_t size = (size_t)tensor->bits / 8;
  int64_t groups = tensor->range >> tensor->follow, first = step_below(seed, (int)groups);
  int faults = step_below(seed, 5);
  memset(bytes, 0, step_bytes(tensor));
  for (int64_t i = 0; i < tensor->counters; i++) {
    int64_t group = i >> tensor->follow, at = i & (int64_t)bits_mask(tensor->follow);
    group = (first + group * (groups > 2 ? groups - 1 : 1)) % groups;
    if (faults == 1 && step_once_in(seed, 9)) at = -1 - tensor->range;
    else if (faults == 2) at ^= 1;
    else if (faults == 3) at++;
    int64_t value = (group << tensor->follow) + at;
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
    if (c->tensor[t].numbers)
      fill_numbers(&seed, (llrt_dtype)c->tensor[t].numbers, c->tensor[t].fuzz, all->before[t], n);
    if (c->tensor[t].range && c->tensor[t].follow)
      fill_following(&seed, &c->tensor[t], all->before[t]);
    else if (c->tensor[t].range) fill_values(&seed, &c->tensor[t], all->before[t]);
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
    if (!same && !(fabs(right - is) <= ldexp(fabs(reference_decode(type, x)), -19) + 1e-37))
      return (int64_t)i;
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

/* A run of a case's kernel, or of one in which a fault is planted: then what is wrong is kept, not
 * asserted. */
typedef struct trial {
  const step_case *c;
  const plan_kernel *kernel;
  const images *all;
  bool planted, seen;
} trial;

/* What is wrong is said, or for a planted fault that it is seen. */
__attribute__((format(printf, 2, 3))) static void blame(trial *t, const char *format, ...) {
  char message[400];
  va_list list;
  t->seen = true;
  if (t->planted) return;
  va_start(list, format);
  vsnprintf(message, sizeof message, format, list);
  va_end(list);
  explain(t->c);
  cr_assert_fail("%s, seed %llu, %s", t->c->what, (unsigned long long)t->c->seed, message);
}

static void compare(trial *t, int tensor, const unsigned char *got, const char *how) {
  const images *all = t->all;
  int64_t at = first_wrong(t->c, all, tensor, got);
  if (at < 0) return;
  blame(t, "%s: byte %lld of tensor %d, of %zu, is %02x, not %02x (before: %02x)", how,
        (long long)at, tensor, all->bytes[tensor], got[at], all->after[tensor][at],
        all->before[tensor][at]);
}

static bool is_ok(trial *t, llrt_status status, const char *what, const char *message) {
  if (status != LLRT_OK) blame(t, "%s: %s", what, message);
  return status == LLRT_OK;
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
    cr_assert_eq(llrt_storage_bind(&r->storage, 1, tensor->shape, tensor->strides, &r->binding[t]),
                 LLRT_OK);
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

static void check_host(trial *t, run_tensors *r, const char *how) {
  for (int i = 0; i < t->c->kernel.n_tensors; i++) {
    size_t bytes = t->all->bytes[i], first = (size_t)(GUARD + t->c->tensor[i].lead),
           end = first + bytes;
    size_t total = (bytes + 2 * GUARD + 2 * ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    compare(t, i, r->tensor[i].data, how);
    for (size_t k = 0; k < total; k++)
      if ((k < first || k >= end) && r->block[i][k] != GUARD_BYTE)
        blame(t, "%s: byte %lld of tensor %d, of %zu, is written", how,
              (long long)k - (long long)first, i, bytes);
    free(r->block[i]);
  }
}

static void interpret(trial *t) {
  run_tensors r = {0};
  host_tensors(t->c, t->all, &r);
  is_ok(t, plan_interpret(t->kernel, r.tensor, r.binding, t->kernel->n_tensors), "interpreter",
        llrt_last_error());
  check_host(t, &r, "interpreter");
}

/* What the compiler makes of it, as text. */
static void show_text(const plan_kernel *kernel, const llrt_jit_interface *jit) {
  llrt_jit_result result = {0};
  if (jit->compile(kernel, strcmp(getenv("LLRT_TEST_SHOW"), "ir") ? LLRT_EMIT_ASM : LLRT_EMIT_IR,
                   &result) == LLRT_OK)
    fprintf(stderr, "%s\n", (const char *)result.data);
  jit->release(&result);
}

/* Compiles and loads the kernel; NULL: it cannot be. */
static backend_module *load(trial *t, llrt_device *device) {
  const llrt_backend *backend = device->backend;
  const llrt_jit_interface *jit;
  llrt_jit_result result = {0};
  backend_module *module = NULL;
  void *linked = NULL;
  cr_assert_eq(llrt_jit_library_get(&device->context->jit, &jit), LLRT_OK, "%s", llrt_last_error());
  bool made =
      is_ok(t, jit->compile(t->kernel, LLRT_EMIT_OBJECT, &result), "compiler", result.message);
  if (getenv("LLRT_TEST_SHOW")) show_text(t->kernel, jit);
  backend_code code = {.data = result.data,
                       .size = result.size,
                       .entry = PLAN_ENTRY_NAME,
                       .shared_bytes = t->kernel->launch.shared_bytes,
                       .cluster = t->kernel->launch.cluster};
  if (made && backend->link) {
    size_t size;
    made = is_ok(t, backend->link(device, result.data, result.size, &linked, &size), "link",
                 llrt_last_error());
    if (linked) { /* else it is loaded as it is */
      code.data = linked;
      code.size = size;
    }
  }
  if (made && !is_ok(t, backend->load(device, &code, &module), "load", llrt_last_error()))
    module = NULL;
  free(linked);
  jit->release(&result);
  return module;
}

/* Memory of the device: as many bytes as tensors have, behind their lead, so that emulators see
 * what is read outside. */
static void device_tensors(const step_case *c, const images *all, llrt_device *device,
                           run_tensors *r) {
  describe(c, r);
  for (int t = 0; t < c->kernel.n_tensors; t++) {
    void *memory;
    size_t lead = (size_t)c->tensor[t].lead;
    cr_assert_eq(device->backend->allocate(device, lead + all->bytes[t], &memory), LLRT_OK, "%s",
                 llrt_last_error());
    r->block[t] = memory;
    r->tensor[t].data = r->block[t] + lead;
    unsigned char *image = malloc(lead + all->bytes[t]);
    memset(image, GUARD_BYTE, lead);
    memcpy(image + lead, all->before[t], all->bytes[t]);
    device->backend->copy(device, memory, image, lead + all->bytes[t], LLRT_COPY_TO_DEVICE, NULL);
    free(image);
  }
}

static void launch(trial *t, llrt_device *device, const backend_module *module,
                   const run_tensors *r) {
  uint64_t args[PLAN_MAX_ARGS];
  int64_t blocks;
  const plan_launch *launch = &t->kernel->launch;
  if (!is_ok(t,
             plan_launch_bind(launch, r->tensor, r->binding, t->kernel->n_tensors, args, &blocks),
             "arguments", llrt_last_error()))
    return;
  backend_launch call = {.early = device->target.facts.early_launches,
                         .blocks = blocks,
                         .threads = launch->threads,
                         .n_args = launch->n_args,
                         .args = args,
                         .n_boxes = launch->n_boxes,
                         .boxes = launch->box};
  llrt_status status = device->backend->launch(device, module, &call, NULL);
  if (status == LLRT_OK) status = device->backend->synchronize(device, NULL);
  is_ok(t, status, "launch", llrt_last_error());
}

static void check_device(trial *t, llrt_device *device, run_tensors *r) {
  for (int i = 0; i < t->c->kernel.n_tensors; i++) {
    size_t lead = (size_t)t->c->tensor[i].lead, bytes = lead + t->all->bytes[i];
    unsigned char *got = malloc(bytes);
    llrt_status status =
        device->backend->copy(device, got, r->block[i], bytes, LLRT_COPY_FROM_DEVICE, NULL);
    if (status == LLRT_OK) status = device->backend->synchronize(device, NULL);
    if (is_ok(t, status, "copy", llrt_last_error())) {
      for (size_t k = 0; k < lead; k++)
        if (got[k] != GUARD_BYTE)
          blame(t, "byte %lld of tensor %d is written", (long long)k - (long long)lead, i);
      compare(t, i, got + lead, "device");
    }
    free(got);
    device->backend->release(device, r->block[i]);
  }
}

static void run(trial *t, const step_target *target) {
  run_tensors r = {0};
  llrt_device *device = target->opened;
  bool host = target->plan.isa == PLAN_ISA_HOST;
  backend_module *module = load(t, device);
  if (!module) return;
  if (host) host_tensors(t->c, t->all, &r);
  else device_tensors(t->c, t->all, device, &r);
  launch(t, device, module, &r);
  if (host) check_host(t, &r, "device");
  else check_device(t, device, &r);
  device->backend->unload(device, module);
}

/* The memory that the case's kernel leaves. */
static void find_images(const step_case *c, images *all) {
  char message[160] = "";
  images_init(c, all);
  if (step_reference(c, all->after, all->open, message)) return;
  explain(c);
  cr_assert_fail("%s, seed %llu: the test's own kernel: %s", c->what, (unsigned long long)c->seed,
                 message);
}

bool step_check(const step_case *c, const step_target *target) {
  images all;
  const char *only = getenv("LLRT_TEST_CASE");
  if (plan_verify(&c->kernel) != LLRT_OK) return false;
  if (only && strtoull(only, NULL, 0) != c->seed) return true;
  if (getenv("LLRT_TEST_SHOW")) explain(c); /* the last one is that of a crash */
  find_images(c, &all);
  trial t = {.c = c, .kernel = &c->kernel, .all = &all};
  interpret(&t);
  if (target->device) run(&t, target);
  images_fini(&all);
  return true;
}

step_seen step_plant(const step_case *c, const plan_kernel *planted, const step_target *target) {
  images all;
  step_seen seen;
  find_images(c, &all);
  trial t = {.c = c, .kernel = planted, .all = &all, .planted = true};
  interpret(&t);
  seen.interpreter = t.seen;
  t.seen = false;
  if (target->device) run(&t, target);
  seen.device = t.seen;
  images_fini(&all);
  return seen;
}
