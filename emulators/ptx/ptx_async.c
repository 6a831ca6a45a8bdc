/* Copies from global to shared memory that are awaited by group (PTX ISA, "cp.async"). Until the
 * wait, the bytes are undefined: whoever reads them too early is found out by what he does with
 * them. Each warp's groups are those of all its lanes together. */
#include "emulators/ptx/ptx_run.h"

#include <stdlib.h>
#include <string.h>

typedef struct copy {
  uint64_t group;
  int lane;
  ptx_async_copy of;
} copy;

typedef struct async_state {
  uint64_t group; /* the one that is open */
  copy *copy;
  int n, capacity;
} async_state;

void ptx_async_reset(ptx_warp *warp) {
  async_state *state = warp->async;
  if (!state) return;
  free(state->copy);
  free(state);
  warp->async = NULL;
}

static copy *new_copy(ptx_warp *warp) {
  async_state *state = warp->async;
  if (!state) warp->async = state = calloc(1, sizeof *state);
  if (!state) return NULL;
  if (state->n == state->capacity) {
    int larger = state->capacity ? 2 * state->capacity : 64;
    copy *grown = realloc(state->copy, (size_t)larger * sizeof *grown);
    if (!grown) return NULL;
    state->copy = grown;
    state->capacity = larger;
  }
  return &state->copy[state->n++];
}

/* One lane's copy: reads now, takes the place in shared memory, writes at the wait. */
static bool start_copy(ptx_run *run, ptx_warp *warp, const ptx_op *op, int lane, uint64_t to,
                       uint64_t from, int bytes, int valid) {
  uint8_t *bits, *shadow,
      *place = ptx_locate(run, warp, op, lane, PTX_SHARED, to, bytes, true, &bits);
  if (!place) return false;
  const uint8_t *source = NULL; /* of no bytes the address is not looked at */
  if (valid > 0) source = ptx_locate(run, warp, op, lane, PTX_GLOBAL, from, valid, false, &shadow);
  if (valid > 0 && !source) return false;
  copy *made = new_copy(warp);
  if (!made) return ptx_fault(run, warp, op, lane, EMU_LIMIT, "no memory for a copy");
  *made = (copy){.group = ((async_state *)warp->async)->group,
                 .lane = lane,
                 .of = {.to = (uint32_t)to, .bytes = (uint32_t)bytes}};
  if (source) memcpy(made->of.data, source, (size_t)valid); /* the rest is zeros */
  if (source) memcpy(made->of.undefined, shadow, (size_t)valid);
  memset(bits, 0xff, (size_t)bytes);
  return true;
}

static void count(ptx_run *run, const uint64_t *to, const uint64_t *from, uint32_t mask,
                  int bytes) {
  emu_counters *counters = &run->counters;
  int least;
  counters->global_loads++;
  counters->global_load_sectors += (uint64_t)emu_count_sectors(from, mask, bytes);
  counters->global_load_bytes += (uint64_t)(__builtin_popcount(mask) * bytes);
  counters->shared_stores++;
  uint64_t wavefronts = (uint64_t)ptx_wavefronts(to, mask, bytes, &least);
  counters->shared_store_wavefronts += wavefronts;
  counters->shared_store_conflicts += wavefronts - (uint64_t)least;
}

static bool run_copy(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  int64_t bytes = op->operand[2].value;
  bool cached = op->choice[0] == 1;
  ptx_lanes to, from;
  if (bytes != 16 && !(cached && (bytes == 4 || bytes == 8))) {
    return ptx_fault(run, warp, op, EMU_NOWHERE, EMU_UNKNOWN, "a copy of %lld bytes",
                     (long long)bytes);
  }
  if (!ptx_addresses(run, warp, op, 0, mask, to) || !ptx_addresses(run, warp, op, 1, mask, from)) {
    return false;
  }
  bool partial = op->n_operands == 4;
  if (partial && !ptx_require_defined(run, warp, op, 3, mask, "the size")) return false;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    uint64_t valid = partial ? warp->value[ptx_reg(op, 3, 0)][lane] : (uint64_t)bytes;
    if (valid > (uint64_t)bytes) {
      return ptx_fault(run, warp, op, lane, EMU_OUT_OF_RANGE,
                       "a source of more bytes than the copy");
    }
    if (!start_copy(run, warp, op, lane, to[lane], from[lane], (int)bytes, (int)valid)) {
      return false;
    }
  }
  count(run, to, from, mask, (int)bytes);
  return true;
}

/* A thread that has touched the place since is a race. */
static bool is_race(ptx_run *run, ptx_warp *warp, const ptx_op *op, const copy *done) {
  int other;
  emu_thread by = {warp->index, done->lane};
  if (emu_shared_write(&run->shared, done->of.to, done->of.bytes, by, &other) < 0) return false;
  ptx_fault_at(run, warp, op, done->lane, done->of.to, EMU_RACE,
               "another %s touched what is copied here", other == EMU_OTHER_LANE ? "lane" : "warp");
  return true;
}

/* Writes the copies of all groups before `group`. */
static bool finish(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint64_t group) {
  async_state *state = warp->async;
  int kept = 0;
  for (int i = 0; state && i < state->n; i++) {
    const copy *done = &state->copy[i];
    if (done->group >= group) {
      state->copy[kept++] = *done;
      continue;
    }
    if (is_race(run, warp, op, done)) return false;
    memcpy(run->shared.data + done->of.to, done->of.data, done->of.bytes);
    memcpy(run->shared.undefined + done->of.to, done->of.undefined, done->of.bytes);
  }
  if (state) state->n = kept;
  return true;
}

bool ptx_async_take(ptx_run *run, ptx_warp *warp, const ptx_op *op, int lane, ptx_async_copy *out,
                    bool *found) {
  async_state *state = warp->async;
  int i = 0;
  while (state && i < state->n && state->copy[i].lane != lane) i++;
  *found = state && i < state->n;
  if (!*found) return true;
  if (is_race(run, warp, op, &state->copy[i])) return false;
  *out = state->copy[i].of;
  state->n--;
  memmove(&state->copy[i], &state->copy[i + 1], (size_t)(state->n - i) * sizeof(copy));
  return true;
}

static bool all_lanes(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  return mask == warp->alive || ptx_fault(run, warp, op, EMU_NOWHERE, EMU_UNKNOWN,
                                          "lanes 0x%08x of 0x%08x alone", mask, warp->alive);
}

static bool commit(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  async_state *state = warp->async;
  if (!all_lanes(run, warp, op, mask)) return false;
  if (!state) warp->async = state = calloc(1, sizeof *state);
  if (!state) return ptx_fault(run, warp, op, EMU_NOWHERE, EMU_LIMIT, "no memory for a group");
  state->group++;
  return true;
}

static bool run_commit(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  return ptx_come_each(run, warp, op, &mask) || commit(run, warp, op, mask);
}

/* Groups but for the n last committed ones. */
static bool run_wait(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  const async_state *state = warp->async;
  uint64_t n = (uint64_t)op->operand[0].value, committed = state ? state->group : 0;
  if (ptx_come_each(run, warp, op, &mask)) return true;
  if (!all_lanes(run, warp, op, mask)) return false;
  return finish(run, warp, op, committed > n ? committed - n : 0);
}

static bool run_wait_all(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  if (ptx_come_each(run, warp, op, &mask)) return true;
  return commit(run, warp, op, mask) && finish(run, warp, op, UINT64_MAX);
}

#define ROW(syntax, operands, execute, class) {syntax, operands, execute, NULL, NULL, class, 0}

const ptx_form ptx_async_forms[] = {
    ROW("cp async ca|cg shared|shared::cta global ?L2::64B|L2::128B|L2::256B", "mmi?s", run_copy,
        PTX_MEMORY),
    ROW("cp async commit_group", "", run_commit, PTX_BARRIER),
    ROW("cp async wait_group", "i", run_wait, PTX_BARRIER),
    ROW("cp async wait_all", "", run_wait_all, PTX_BARRIER),
    {0}};
