#include "reshard_op.h"

#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS = 60000 };

/* What tests/reshard draws by, by the names that it has in this program. */
uint64_t reshard_random_bits(random_source *source);
int reshard_random_below(random_source *source, int limit);

uint64_t reshard_random_bits(random_source *source) { return draw_next(&source->state); }

int reshard_random_below(random_source *source, int limit) {
  return (int)(reshard_random_bits(source) % (uint64_t)limit);
}

void reshard_op_make(uint64_t seed, draw_speed speed, void *made) {
  random_source source = {.state = seed};
  (void)speed;
  reshard_case_draw(&source, made);
}

static int plain_storage(llrt_sharding *s) {
  llrt_storage rows;
  if (llrt_storage_row_major(s->rank, &rows) != LLRT_OK || llrt_storage_equal(&rows, &s->storage))
    return -1;
  s->storage = rows;
  return 1;
}

/* Extents halve, then maps, storages and splits go. */
int reshard_op_edit(void *of, int way) {
  reshard_case *c = of;
  llrt_sharding *side[2] = {&c->source, &c->destination};
  if (way < LLRT_MAX_RANK) {
    if (way >= c->source.rank || c->shape[way] <= 1) return -1;
    c->shape[way] /= 2;
    return 1;
  }
  way -= LLRT_MAX_RANK;
  if (way == 0) {
    if (!c->flip && !c->scaled && !c->permuted) return -1;
    if (c->permuted) c->permuted = false;
    else if (c->scaled) c->scaled = false;
    else c->flip = 0;
    return 1;
  }
  if (way <= 2) return plain_storage(side[way - 1]);
  if (way > 4) return 0;
  if (side[way - 3]->n_splits == 0) return -1;
  side[way - 3]->n_splits--;
  side[way - 3]->split[side[way - 3]->n_splits] = (llrt_split){0, 0};
  return 1;
}

void reshard_op_print(const void *of, char *text, size_t size) {
  reshard_case_print(of, text, size);
}

bool reshard_op_serves(const char *device) {
  return strcmp(device, "host") == 0 || strncmp(device, "cuda-emu:", 9) == 0;
}

/* The process's emulated devices, of every kind; each has a context, as ranks of one process do. */
static bool open_emulated(reshard_place *place, bench *at) {
  static const char *const names[RESHARD_MAX_RANKS] = {
      "cuda-emu:sm_90a",  "cuda-emu:sm_80",   "cuda-emu:sm_89", "cuda-emu:sm_90a#1",
      "cuda-emu:sm_80#1", "cuda-emu:sm_89#1", "cuda-emu:sm_90", "cuda-emu:sm_90#1"};
  static llrt_device *device[RESHARD_MAX_RANKS];
  for (int i = 0; i < RESHARD_MAX_RANKS; i++) {
    llrt_context *context;
    if (device[i]) continue;
    llrt_status status = llrt_context_create(NULL, &context);
    if (status == LLRT_OK) status = llrt_device_open(context, names[i], NULL, &device[i]);
    for (int k = 0; k < i && status == LLRT_OK; k++) {
      status = llrt_device_reach_peer(device[i], device[k]);
      if (status == LLRT_OK) status = llrt_device_reach_peer(device[k], device[i]);
    }
    if (status == LLRT_OK) continue;
    device[i] = NULL;
    bench_fail(at, status, names[i]);
    return false;
  }
  memcpy(place->device, device, sizeof device);
  return true;
}

verdict reshard_op_run(bench *at, const void *of, int words) {
  reshard_place place = {.timeout_ms = TIMEOUT_MS};
  char message[600] = "";
  (void)words;
  for (int i = 0; i < RESHARD_MAX_RANKS; i++) place.device[i] = at->device;
  if (!at->is_host) {
    place.stream = (void *)2; /* CU_STREAM_PER_THREAD */
    if (!open_emulated(&place, at)) return VERDICT_LIMIT;
  }
  reshard_result result = reshard_case_run(of, &place, message, sizeof message);
  if (result == RESHARD_RIGHT) return VERDICT_RIGHT;
  return bench_say(at, result == RESHARD_WRONG ? VERDICT_WRONG : VERDICT_REFUSED, "%s", message);
}
