/* A grid: blocks one after another; the waves of a block in turn, each to its next barrier or
 * end. */
#include "gfx9_code.h"

#include <stdlib.h>
#include <string.h>

#define MAX_STEPS 100000000ull /* of one wave: no kernel here comes near */

static bool step(gfx9_wave *wave, const gfx9_code *code) {
  if (wave->pc >= code->n) {
    return gfx9_fault(wave, &code->op[code->n - 1], EMU_LIMIT, EMU_NOWHERE,
                      "runs past the end of the kernel");
  }
  const gfx9_op *op = &code->op[wave->pc++];
  emu_counters *counters = wave->machine->counters;
  counters->instructions++;
  if (op->info->counter) (*(uint64_t *)((char *)counters + op->info->counter))++;
  if (!gfx9_check_waits(wave, op)) return false;
  return op->info->step ? op->info->step(wave, op) : gfx9_run_lanes(wave, op);
}

static bool run_to_barrier(gfx9_wave *wave, const gfx9_code *code) {
  for (uint64_t steps = 0; wave->state == GFX9_RUNNING; steps++) {
    if (!step(wave, code)) return false;
    if (steps > MAX_STEPS) {
      return gfx9_fault(wave, &code->op[wave->pc], EMU_LIMIT, EMU_NOWHERE, "an endless loop");
    }
  }
  return true;
}

/* All waves came to a barrier, or all ended: on the hardware a wave that has ended no longer
 * counts, but a kernel of ours whose waves part ways is wrong. */
static bool meet(gfx9_wave *waves, int n, const gfx9_code *code, bool *ended) {
  for (int i = 1; i < n; i++) {
    if (waves[i].state == waves[0].state && waves[i].pc == waves[0].pc) continue;
    int at = waves[i].pc > 0 ? waves[i].pc - 1 : 0;
    if (waves[0].state == GFX9_ENDED && waves[i].state == GFX9_ENDED) continue;
    return gfx9_fault(&waves[i], &code->op[at], EMU_BARRIER, EMU_NOWHERE,
                      "wave 0 is elsewhere: at %s", code->op[waves[0].pc - 1].text);
  }
  *ended = waves[0].state == GFX9_ENDED;
  for (int i = 0; i < n && !*ended; i++) waves[i].state = GFX9_RUNNING;
  return true;
}

/* Fresh scratch memory; of gfx90a's description of it, the swizzling by lanes, which makes it
 * known. */
static void begin_scratch(gfx9_wave *wave) {
  const gfx9_descriptor *descriptor = &wave->machine->module->descriptor;
  if (!descriptor->private_bytes) return;
  emu_range *range = emu_memory_find(wave->machine->memory, wave->scratch, 1);
  memset(range->undefined, 0xff, range->bytes);
  if (!(descriptor->properties & GFX9_HAS_PRIVATE_BUFFER)) return;
  memset(wave->s_undefined, 0, 4 * sizeof *wave->s_undefined);
  wave->s[3] = 1 << 23;
}

/* What the hardware gives: lane numbers in v0 (packed, y and z being 0), the pointer to the
 * arguments and the block's number in the first scalars. Everything else is undefined. */
static void begin_wave(gfx9_wave *wave, int number, uint32_t threads) {
  const gfx9_machine *machine = wave->machine;
  const gfx9_descriptor *descriptor = &machine->module->descriptor;
  gfx9_row *v = wave->v, *v_undefined = wave->v_undefined;
  *wave = (gfx9_wave){.machine = (gfx9_machine *)machine,
                      .number = number,
                      .v = v,
                      .v_undefined = v_undefined,
                      .scc_undefined = true,
                      .scratch = wave->scratch};
  int vectors = machine->module->code.vectors;
  memset(v_undefined, 0xff, (size_t)vectors * sizeof(gfx9_row));
  memset(wave->tainted, 1, (size_t)vectors);
  memset(wave->s_undefined, 0xff, sizeof wave->s_undefined);
  for (int i = 0; i < GFX9_LANES; i++) v[0][i] = (uint32_t)(number * GFX9_LANES + i);
  memset(v_undefined[0], 0, sizeof(gfx9_row));
  wave->tainted[0] = false;

  begin_scratch(wave);
  int next = descriptor->properties & GFX9_HAS_PRIVATE_BUFFER ? 4 : 0;
  if (descriptor->properties & GFX9_HAS_KERNARGS) {
    gfx9_set_pair(&wave->s[next], machine->kernargs);
    gfx9_set_pair(&wave->s_undefined[next], 0);
    next += 2;
  }
  if (descriptor->properties & GFX9_HAS_FLAT_SCRATCH) gfx9_set_pair(&wave->s_undefined[next], 0);
  next = (int)(descriptor->rsrc2 >> 1 & 31); /* user registers; the block's number follows */
  for (int axis = 0; axis < 3; axis++) {
    if (!(descriptor->rsrc2 >> (7 + axis) & 1)) continue;
    wave->s[next] = axis == 0 ? machine->block : 0;
    wave->s_undefined[next++] = 0;
  }
  if (descriptor->rsrc2 & 1) wave->s_undefined[next] = 0; /* the wave's offset in scratch memory */
  uint32_t left = threads - (uint32_t)(number * GFX9_LANES);
  gfx9_set_pair(&wave->s[GFX9_EXEC], left >= GFX9_LANES ? GFX9_ALL : ((uint64_t)1 << left) - 1);
  wave->s_undefined[GFX9_EXEC] = wave->s_undefined[GFX9_EXEC + 1] = 0;
}

static bool run_block(gfx9_machine *machine, gfx9_wave *waves, int n, uint32_t threads) {
  const gfx9_code *code = &machine->module->code;
  bool ended = false;
  emu_shared_reset(&machine->shared);
  for (int i = 0; i < n; i++) begin_wave(&waves[i], i, threads);
  while (!ended) {
    for (int i = 0; i < n; i++)
      if (!run_to_barrier(&waves[i], code)) return false;
    if (!meet(waves, n, code, &ended)) return false;
    emu_shared_barrier(&machine->shared);
  }
  machine->counters->blocks++;
  return true;
}

static bool make_waves(gfx9_machine *machine, gfx9_wave *waves, int n) {
  size_t rows = (size_t)machine->module->code.vectors;
  size_t scratch = GFX9_LANES * (size_t)machine->module->descriptor.private_bytes;
  for (int i = 0; i < n; i++) {
    waves[i].machine = machine;
    waves[i].v = calloc(rows, sizeof(gfx9_row));
    waves[i].v_undefined = calloc(rows, sizeof(gfx9_row));
    if (scratch) waves[i].scratch = emu_memory_allocate(machine->memory, scratch);
    if (!waves[i].v || !waves[i].v_undefined || (scratch && !waves[i].scratch)) return false;
  }
  return true;
}

static bool run_grid(gfx9_machine *machine, gfx9_wave *waves, int n, const gfx9_launch *launch) {
  if (!make_waves(machine, waves, n)) {
    return emu_fault_set(machine->fault, EMU_LIMIT, "no memory for registers");
  }
  bool ok = true;
  for (machine->block = 0; ok && machine->block < launch->blocks; machine->block++) {
    ok = run_block(machine, waves, n, launch->threads);
  }
  return ok;
}

/* The arguments, in device memory as the hardware has them, in whole vectors of 16 bytes. */
static bool copy_arguments(gfx9_machine *machine, const gfx9_launch *launch) {
  uint32_t bytes = machine->module->kernel.kernarg_bytes;
  machine->kernargs = emu_memory_allocate(machine->memory, bytes ? (bytes + 15) & ~15u : 16);
  if (!machine->kernargs) return emu_fault_set(machine->fault, EMU_LIMIT, "no memory");
  return bytes == 0 ||
         emu_memory_write(machine->memory, machine->kernargs, launch->kernargs, bytes);
}

static bool check_launch(const gfx9_module *module, const gfx9_launch *launch, emu_fault *fault) {
  if (launch->threads < 1 || launch->threads > GFX9_MAX_WAVES * GFX9_LANES) {
    return emu_fault_set(fault, EMU_LIMIT, "%u threads a block", launch->threads);
  }
  if (module->kernel.lds_bytes > 64 << 10) {
    return emu_fault_set(fault, EMU_LIMIT, "%u bytes of LDS", module->kernel.lds_bytes);
  }
  return true;
}

bool gfx9_run(const gfx9_module *module, const gfx9_launch *launch, emu_counters *counters,
              emu_fault *fault) {
  gfx9_machine *machine = calloc(1, sizeof *machine);
  gfx9_wave *waves = calloc(GFX9_MAX_WAVES, sizeof *waves);
  bool ok = false;
  memset(counters, 0, sizeof *counters);
  emu_fault_set(fault, EMU_OK, "%s", "");
  if (!machine || !waves) {
    emu_fault_set(fault, EMU_LIMIT, "no memory");
    goto done;
  }
  machine->module = module;
  machine->memory = module->memory;
  machine->system = launch->system;
  machine->counters = counters;
  machine->fault = fault;
  if (!check_launch(module, launch, fault) || !copy_arguments(machine, launch)) goto done;
  if (!emu_shared_init(&machine->shared, module->kernel.lds_bytes)) {
    emu_fault_set(fault, EMU_LIMIT, "no memory for LDS");
    goto done;
  }
  ok = run_grid(machine, waves, (int)((launch->threads + GFX9_LANES - 1) / GFX9_LANES), launch);
done:
  if (machine && machine->kernargs) emu_memory_free(machine->memory, machine->kernargs);
  if (machine) emu_shared_fini(&machine->shared);
  for (int i = 0; waves && i < GFX9_MAX_WAVES; i++) {
    free(waves[i].v);
    free(waves[i].v_undefined);
    if (waves[i].scratch) emu_memory_free(machine->memory, waves[i].scratch);
  }
  free(waves);
  free(machine);
  return ok;
}
