#include "tile_kernels.h"

llrt_status tile_kernels_init(const harness *h, const plan_tile *tile, plan_exchange exchange,
                              tile_kernels *k) {
  plan_options options = {.exchange = exchange};
  plan_tile made = *tile;
  k->turns[0] = h->options.check_only ? 1 : TILE_FEW_TURNS;
  k->turns[1] = h->options.check_only ? 2 : TILE_MORE_TURNS;
  k->op[0] = k->op[1] = NULL;
  made.turns = k->turns[1];
  llrt_status status = llrt_tile_op_make(h->device, &made, &options, NULL, &k->op[1]);
  made.turns = k->turns[0];
  if (status == LLRT_OK)
    status = llrt_tile_op_make(h->device, &made, &options, &k->plan, &k->op[0]);
  if (status != LLRT_OK) llrt_op_destroy(&k->op[1]);
  return status;
}

void tile_kernels_fini(tile_kernels *k) {
  for (int i = 0; i < 2; i++) llrt_op_destroy(&k->op[i]);
}

void tile_kernels_launch(const tile_kernels *k, int which, const llrt_tensor *tensors, int n) {
  harness_must(llrt_op_run(k->op[which], NULL, tensors, n, NULL), "run");
}

static double time_launch(harness *h, const tile_kernels *k, int which, const llrt_tensor *tensors,
                          int n) {
  llrt_event *start, *stop;
  double microseconds;
  harness_must(llrt_event_create(h->device, &start), "event");
  harness_must(llrt_event_create(h->device, &stop), "event");
  harness_must(llrt_event_record(start, NULL), "event");
  tile_kernels_launch(k, which, tensors, n);
  harness_must(llrt_event_record(stop, NULL), "event");
  harness_must(llrt_event_elapsed(start, stop, &microseconds), "event");
  llrt_event_destroy(&start);
  llrt_event_destroy(&stop);
  return microseconds;
}

harness_statistic tile_kernels_measure(harness *h, const tile_kernels *k,
                                       const llrt_tensor *tensors, int n) {
  double samples[HARNESS_MAX_SAMPLES];
  int count = h->options.repeat < HARNESS_MAX_SAMPLES ? h->options.repeat : HARNESS_MAX_SAMPLES;
  for (int i = 0; i < 3; i++) /* warms up, too */
    for (int j = 0; j < 2; j++) time_launch(h, k, j, tensors, n);
  for (int i = 0; i < count; i++) {
    double few = time_launch(h, k, 0, tensors, n), more = time_launch(h, k, 1, tensors, n);
    samples[i] = (more - few) / (k->turns[1] - k->turns[0]);
  }
  return harness_summarise(samples, count);
}
