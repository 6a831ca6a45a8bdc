/* The planner's predicted cost is what the gfx9 emulator counts, for kernels of tiles without
 * edges. */
#include "counted_pairs.h"
#include "gfx9_trial.h"

#include "jit/jit.h"
#include "jit/plan/plan_make.h"
#include "runtime/described.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define PERMUTED(columns) "{offset: [" columns "]} -> [dim0:256, dim1:512]"

typedef struct pair {
  const char *source, *destination;
} pair;

static const pair pairs[] = {
    COUNTED_PAIRS,
    /* Permutations of the offset's bits; with 64-bit elements the reads of the first two have
     * conflicts. */
    {PERMUTED("[0,4],[64,0],[0,16],[32,0],[128,0],[2,0],[0,1],[0,128],[0,2],"
              "[4,0],[0,8],[8,0],[0,64],[0,32],[1,0],[0,256],[16,0]"),
     PERMUTED("[8,0],[0,1],[0,256],[0,64],[128,0],[0,128],[0,4],[0,32],[2,0],"
              "[16,0],[0,8],[4,0],[64,0],[32,0],[1,0],[0,2],[0,16]")},
    {PERMUTED("[2,0],[0,8],[1,0],[0,128],[8,0],[64,0],[0,16],[0,32],[32,0],"
              "[0,4],[0,64],[0,1],[4,0],[0,256],[128,0],[16,0],[0,2]"),
     PERMUTED("[8,0],[0,2],[0,64],[64,0],[0,1],[0,8],[1,0],[0,256],[16,0],"
              "[0,32],[2,0],[4,0],[0,128],[128,0],[0,4],[32,0],[0,16]")},
    {PERMUTED("[0,64],[4,0],[16,0],[64,0],[2,0],[0,2],[32,0],[8,0],[128,0],"
              "[1,0],[0,256],[0,4],[0,32],[0,128],[0,16],[0,8],[0,1]"),
     PERMUTED("[4,0],[0,256],[32,0],[0,4],[0,64],[0,128],[0,32],[16,0],[64,0],"
              "[0,8],[1,0],[8,0],[0,2],[2,0],[0,1],[0,16],[128,0]")},
    {PERMUTED("[8,0],[64,0],[0,16],[0,128],[1,0],[2,0],[0,4],[0,1],[0,8],"
              "[0,256],[0,64],[128,0],[16,0],[0,32],[32,0],[0,2],[4,0]"),
     PERMUTED("[8,0],[4,0],[0,4],[16,0],[2,0],[0,8],[0,64],[128,0],[0,128],"
              "[0,2],[0,32],[32,0],[64,0],[0,256],[0,1],[1,0],[0,16]")},
    {PERMUTED("[0,4],[4,0],[0,16],[0,2],[64,0],[8,0],[1,0],[0,128],[0,32],"
              "[2,0],[128,0],[16,0],[0,256],[32,0],[0,1],[0,8],[0,64]"),
     PERMUTED("[8,0],[0,2],[0,16],[128,0],[0,32],[1,0],[64,0],[4,0],[0,128],"
              "[32,0],[0,64],[2,0],[0,1],[0,8],[0,256],[0,4],[16,0]")},
};

/* One conversion of 256 x 512 elements, ready to plan and to launch. */
typedef struct conversion {
  const pair *of;
  const char *target;
  llrt_storage storage[2];
  llrt_storage_binding binding[2];
  op_description desc;
  emu_memory memory;
  size_t bytes[2];
} conversion;

static void begin(conversion *c, llrt_dtype dtype) {
  static const int64_t shape[LLRT_MAX_RANK] = {256, 512}, strides[LLRT_MAX_RANK];
  c->desc.kind = LLRT_OP_CONVERT;
  c->desc.n_tensors = 2;
  for (int t = 0; t < 2; t++) {
    llrt_tensor *tensor = &c->desc.tensors[t];
    cr_assert_eq(
        llrt_storage_parse(t ? c->of->destination : c->of->source, 2, shape, &c->storage[t]),
        LLRT_OK);
    cr_assert_eq(llrt_storage_bind(&c->storage[t], 2, shape, strides, &c->binding[t]), LLRT_OK);
    c->bytes[t] = (size_t)c->binding[t].span * (size_t)llrt_dtype_bits(dtype) / 8;
    uint64_t address = emu_memory_allocate(&c->memory, c->bytes[t]);
    *tensor = (llrt_tensor){.dtype = dtype, .rank = 2, .storage = &c->storage[t]};
    tensor->data = (void *)(uintptr_t)address;
    memcpy(tensor->shape, shape, sizeof tensor->shape);
  }
  emu_memory_set(&c->memory, (uintptr_t)c->desc.tensors[0].data, 0x5a, c->bytes[0]);
  cr_assert_eq(described_promise(&c->desc), LLRT_OK);
}

/* The variant that a run with this shape takes. */
static const plan_kernel *choose(const plan *made, const int64_t *shape) {
  int v = 0;
  while (v + 1 < made->n_variants && !plan_range_contains(&made->variant[v].launch.range, 2, shape))
    v++;
  return &made->variant[v];
}

static void run(conversion *c, const plan_kernel *kernel, emu_counters *counters) {
  const llrt_jit_interface *jit = llrt_jit_get_interface();
  llrt_jit_result code;
  gfx9_module *module;
  emu_fault fault;
  uint64_t args[PLAN_MAX_ARGS];
  int64_t blocks;
  char report[512];
  cr_assert_eq(jit->compile(kernel, LLRT_EMIT_OBJECT, &code), LLRT_OK, "%s", code.message);
  cr_assert(gfx9_module_create(code.data, code.size, c->target, PLAN_ENTRY_NAME, &c->memory,
                               &module, &fault),
            "%s: %s", fault.message, fault.instruction);
  cr_assert_eq(plan_launch_bind(&kernel->launch, c->desc.tensors, c->binding, 2, args, &blocks),
               LLRT_OK);
  cr_assert_eq(gfx9_module_kernel(module)->n_args, kernel->launch.n_args);
  gfx9_launch launch = {
      .blocks = (uint32_t)blocks, .threads = (uint32_t)kernel->launch.threads, .kernargs = args};
  bool ok = gfx9_run(module, &launch, counters, &fault);
  emu_fault_print(&fault, report, sizeof report);
  cr_assert(ok, "%s", report);
  gfx9_module_destroy(module);
  jit->release(&code);
}

static void expect(const conversion *c, const char *what, int64_t predicted, uint64_t counted) {
  cr_expect(predicted == (int64_t)counted, "%s -> %s, %s, %s: %s %lld, counted %llu", c->of->source,
            c->of->destination, llrt_dtype_name(c->desc.tensors[0].dtype), c->target, what,
            (long long)predicted, (unsigned long long)counted);
}

static void compare(const pair *of, llrt_dtype dtype, const char *name) {
  static plan made;
  static conversion c;
  plan_target target;
  emu_counters counted;
  c = (conversion){.of = of, .target = name};
  begin(&c, dtype);
  cr_assert_eq(plan_target_find(name, &target), LLRT_OK);
  cr_assert_eq(plan_make(&c.desc, &target, NULL, &made), LLRT_OK, "%s", llrt_last_error());
  const plan_kernel *kernel = choose(&made, c.desc.tensors[0].shape);
  const plan_cost *cost = &kernel->cost;
  cr_assert(!kernel->flat);
  run(&c, kernel, &counted);
  int64_t blocks = (int64_t)counted.blocks, warps = blocks << kernel->warp_bits;
  expect(&c, "load sectors", cost->load_sectors * blocks, counted.global_load_sectors);
  expect(&c, "store sectors", cost->store_sectors * blocks, counted.global_store_sectors);
  expect(&c, "shared store wavefronts", cost->shared_store_wavefronts * blocks,
         counted.shared_store_wavefronts);
  expect(&c, "shared load wavefronts", cost->shared_load_wavefronts * blocks,
         counted.shared_load_wavefronts);
  expect(&c, "shuffles", cost->shuffles * warps, counted.shuffles);
  emu_memory_fini(&c.memory);
}

static void compare_all(const char *target) {
  static const llrt_dtype types[] = {LLRT_U8, LLRT_BF16, LLRT_F32, LLRT_I64};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    for (int type = 0; type < 4; type++) compare(&pairs[i], types[type], target);
}

Test(gfx9_cost, gfx90a) { compare_all("gfx90a"); }
Test(gfx9_cost, gfx942) { compare_all("gfx942"); }
