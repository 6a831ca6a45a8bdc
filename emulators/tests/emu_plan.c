#include "runtime/described.h"
#include "emulators/tests/emu_plan.h"

#include "base/status.h"
#include "jit/jit.h"
#include "jit/plan/plan_make.h"
#include "runtime/promise.h"

#include <llrt/llrt.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct operands {
  llrt_storage storage[2];
  llrt_tensor tensor[2];
  llrt_storage_binding binding[2];
} operands;

static void make_operands(const emu_conversion *conversion, operands *made) {
  const char *texts[] = {conversion->source, conversion->destination};
  memset(made, 0, sizeof *made);
  for (int i = 0; i < 2; i++) {
    llrt_tensor *tensor = &made->tensor[i];
    cr_assert_eq(
        llrt_storage_parse(texts[i], conversion->rank, conversion->shape, &made->storage[i]),
        LLRT_OK, "%s: %s", texts[i], llrt_last_error());
    *tensor = (llrt_tensor){.data = (void *)(uintptr_t)4096,
                            .dtype = conversion->dtype,
                            .rank = conversion->rank,
                            .storage = &made->storage[i]};
    memcpy(tensor->shape, conversion->shape, sizeof conversion->shape);
    cr_assert_eq(llrt_storage_bind(&made->storage[i], conversion->rank, conversion->shape,
                                   tensor->strides, &made->binding[i]),
                 LLRT_OK);
  }
}

void emu_plan_make(const emu_conversion *conversion, plan_kernel *kernel) {
  plan *made = malloc(sizeof *made);
  operands *with = malloc(sizeof *with);
  plan_target target;
  make_operands(conversion, with);
  op_description desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2};
  memcpy(desc.tensors, with->tensor, sizeof with->tensor);
  cr_assert_eq(described_promise(&desc), LLRT_OK, "%s", llrt_last_error());
  if (!conversion->panels)
    llrt_promises_open_extents(&desc, conversion->rank); /* masks are what is tested */
  const plan_options options = {.panels = conversion->panels};
  cr_assert_eq(plan_target_find(conversion->target, &target), LLRT_OK);
  cr_assert_eq(plan_make(&desc, &target, &options, made), LLRT_OK, "%s", llrt_last_error());
  int i = 0;
  while (
      i < made->n_variants - 1 && !conversion->large && !conversion->panels &&
      !plan_range_contains(&made->variant[i].launch.range, conversion->rank, conversion->shape)) {
    i++;
  }
  *kernel = made->variant[i];
  free(with);
  free(made);
}

/* ---- running ---- */

static uint8_t byte_at(size_t i) { return (uint8_t)(i * 0x9e3779b97f4a7c15 >> 56); }

static bool next(const emu_conversion *conversion, int64_t *coords) {
  for (int axis = conversion->rank - 1; axis >= 0; axis--) {
    if (++coords[axis] < conversion->shape[axis]) return true;
    coords[axis] = 0;
  }
  return false;
}

/* Whether some offset bits of the tile add nothing: then offset ^ these bits holds a copy. */
static int64_t copy_bits(const llrt_layout *tile) {
  int64_t bits = 0;
  for (int i = 0; i < llrt_layout_in_bits(tile); i++) {
    if (llrt_layout_apply_flat(tile, (uint64_t)1 << i) == 0) bits |= (int64_t)1 << i;
  }
  return bits;
}

/* Bytes in which an element of the destination is not the source's; of 4 bits, the first of a byte
 * in its low half. */
static size_t wrong_bytes(const uint8_t *out, int64_t to, int64_t from, int bits) {
  size_t wrong = 0, size = (size_t)bits / 8;
  if (bits == 4)
    return (out[to / 2] >> to % 2 * 4 & 15) != (byte_at((size_t)from / 2) >> from % 2 * 4 & 15);
  for (size_t k = 0; k < size; k++)
    wrong += out[(size_t)to * size + k] != byte_at((size_t)from * size + k);
  return wrong;
}

static size_t count_wrong(const emu_conversion *conversion, const operands *with,
                          const uint8_t *out) {
  int64_t coords[LLRT_MAX_RANK] = {0}, copies = copy_bits(&with->storage[1].tile);
  size_t wrong = 0;
  do {
    int64_t from = llrt_storage_offset(&with->storage[0], &with->binding[0], coords);
    int64_t to = llrt_storage_offset(&with->storage[1], &with->binding[1], coords);
    int64_t copy = 0;
    do {
      wrong += wrong_bytes(out, to ^ copy, from, llrt_dtype_bits(conversion->dtype));
      copy = (copy - copies) & copies; /* the next subset */
    } while (copy);
  } while (next(conversion, coords));
  return wrong;
}

static bool run_ptx(const plan_kernel *kernel, const char *text, int64_t blocks, uint64_t *args,
                    emu_memory *memory, emu_outcome *outcome) {
  void *parameters[PLAN_MAX_ARGS];
  for (int i = 0; i < kernel->launch.n_args; i++) parameters[i] = &args[i];
  ptx_module *module = ptx_module_parse(text, &outcome->fault);
  if (!module) return false;
  ptx_grid grid = {.memory = memory,
                   .blocks = (uint32_t)blocks,
                   .threads = (uint32_t)kernel->launch.threads,
                   .dynamic_shared = (uint32_t)kernel->launch.shared_bytes,
                   .parameters = parameters};
  bool done = ptx_launch(ptx_module_kernel(module, PLAN_ENTRY_NAME), &grid, &outcome->counters,
                         &outcome->fault);
  ptx_module_free(module);
  return done;
}

static bool run_gfx9(const emu_conversion *conversion, const plan_kernel *kernel,
                     const llrt_jit_result *code, int64_t blocks, const uint64_t *args,
                     emu_memory *memory, emu_outcome *outcome) {
  gfx9_module *module;
  gfx9_launch launch = {
      .blocks = (uint32_t)blocks, .threads = (uint32_t)kernel->launch.threads, .kernargs = args};
  if (!gfx9_module_create(code->data, code->size, conversion->target, PLAN_ENTRY_NAME, memory,
                          &module, &outcome->fault)) {
    return false;
  }
  bool done = gfx9_run(module, &launch, &outcome->counters, &outcome->fault);
  gfx9_module_destroy(module);
  return done;
}

static void execute(const emu_conversion *conversion, const plan_kernel *kernel,
                    const llrt_jit_result *code, operands *with, emu_outcome *outcome) {
  emu_memory memory = {0};
  size_t bits = (size_t)llrt_dtype_bits(conversion->dtype), bytes[2];
  uint64_t args[PLAN_MAX_ARGS], address[2];
  int64_t blocks;
  for (int i = 0; i < 2; i++) {
    bytes[i] = ((size_t)with->binding[i].span * bits + 7) / 8;
    address[i] = emu_memory_allocate(&memory, bytes[i]);
    with->tensor[i].data = (void *)(uintptr_t)address[i];
  }
  uint8_t *data = calloc(bytes[0] + bytes[1], 1);
  for (size_t i = 0; i < bytes[0]; i++) data[i] = byte_at(i);
  emu_memory_write(&memory, address[0], data, bytes[0]);
  cr_assert_eq(plan_launch_bind(&kernel->launch, with->tensor, with->binding, 2, args, &blocks),
               LLRT_OK);
  outcome->done = strncmp(conversion->target, "gfx", 3) == 0
                      ? run_gfx9(conversion, kernel, code, blocks, args, &memory, outcome)
                      : run_ptx(kernel, code->data, blocks, args, &memory, outcome);
  if (outcome->done) {
    emu_memory_read(&memory, data + bytes[0], address[1], bytes[1]);
    outcome->wrong = count_wrong(conversion, with, data + bytes[0]);
  } else {
    emu_fault_print(&outcome->fault, outcome->message, sizeof outcome->message);
  }
  emu_memory_fini(&memory);
  free(data);
}

void emu_plan_run(const emu_conversion *conversion, const plan_kernel *kernel,
                  emu_outcome *outcome) {
  const llrt_jit_interface *jit = llrt_jit_get_interface();
  operands *with = malloc(sizeof *with);
  llrt_jit_result code = {0};
  memset(outcome, 0, sizeof *outcome);
  setenv("LLRT_EMIT_LOCATIONS", "1", 1); /* faults then tell the plan's step */
  make_operands(conversion, with);
  outcome->compiled = jit->compile(kernel, LLRT_EMIT_OBJECT, &code) == LLRT_OK;
  if (outcome->compiled) {
    execute(conversion, kernel, &code, with, outcome);
    jit->release(&code);
  } else {
    snprintf(outcome->message, sizeof outcome->message, "%.500s", code.message);
  }
  free(with);
}
