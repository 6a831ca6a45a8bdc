/* llrt_grouped_draws SEED COUNT [DEVICE [MOST [SPREADS]]]: draws and runs so many grouped products,
 * extents below MOST, on `host` or another device; of each so many spreads of rows over experts
 * (default 1), which share kernels. Prints what is wrong, and why others were refused. Exit status
 * 1: something was wrong. */
#include "../grouped_case.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  int count = argc > 2 ? atoi(argv[2]) : 100, most = argc > 4 ? atoi(argv[4]) : 100;
  const int spreads = argc > 5 ? atoi(argv[5]) : 1;
  const char *name = argc > 3 ? argv[3] : "host";
  llrt_context *context;
  llrt_device *device;
  int tally[3] = {0};
  if (llrt_context_create(NULL, &context) != LLRT_OK ||
      llrt_device_open(context, name, NULL, &device) != LLRT_OK) {
    fprintf(stderr, "%s\n", llrt_last_error());
    return 2;
  }
  static grouped_case c;
  for (int i = 0; i < count; i++) {
    char why[800] = "", title[3000];
    const uint64_t drawn = seed + (uint64_t)(i / spreads), rows = seed + (uint64_t)i;
    grouped_case_random(drawn, rows, most, &c);
    grouped_result result = grouped_case_run(&c, rows, device, i / spreads % 2, why, sizeof why);
    tally[result]++;
    if (result == GROUPED_RIGHT) continue;
    grouped_case_title(&c, title, sizeof title);
    printf("%s, seed %llu, rows %llu: %s: %s\n", result == GROUPED_WRONG ? "WRONG" : "refused",
           (unsigned long long)drawn, (unsigned long long)rows, why, title);
    fflush(stdout);
  }
  printf("%s: %d grouped products: %d right, %d wrong, %d refused\n", name, count,
         tally[GROUPED_RIGHT], tally[GROUPED_WRONG], tally[GROUPED_REFUSED]);
  llrt_device_close(&device);
  llrt_context_destroy(&context);
  return tally[GROUPED_WRONG] > 0;
}
