/* llrt_grouped_draws SEED COUNT [DEVICE [MOST]]: draws and runs so many grouped products, extents
 * below MOST, on `host` or another device. Prints what is wrong, and why others were refused. Exit
 * status 1: something was wrong. */
#include "../grouped_case.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  int count = argc > 2 ? atoi(argv[2]) : 100, most = argc > 4 ? atoi(argv[4]) : 100;
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
    grouped_case_random(seed + (uint64_t)i, most, &c);
    grouped_result result =
        grouped_case_run(&c, seed + (uint64_t)i, device, i % 2, why, sizeof why);
    tally[result]++;
    if (result == GROUPED_RIGHT) continue;
    grouped_case_title(&c, title, sizeof title);
    printf("%s, seed %llu: %s: %s\n", result == GROUPED_WRONG ? "WRONG" : "refused",
           (unsigned long long)(seed + (uint64_t)i), why, title);
    fflush(stdout);
  }
  printf("%s: %d grouped products: %d right, %d wrong, %d refused\n", name, count,
         tally[GROUPED_RIGHT], tally[GROUPED_WRONG], tally[GROUPED_REFUSED]);
  llrt_device_close(&device);
  llrt_context_destroy(&context);
  return tally[GROUPED_WRONG] > 0;
}
