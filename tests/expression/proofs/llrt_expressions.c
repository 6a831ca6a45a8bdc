/* llrt_expressions draws|functions|rows|prepare: see proofs.h and docs/expressions.md. */
#include "tests/expression/proofs/proofs.h"

#include "tests/expression/compute_trial.h"
#include "tests/expression/row_alone.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int usage(void) {
  fprintf(
      stderr,
      "usage: llrt_expressions draws     [--device D] [--seed S] [--count N]\n"
      "       llrt_expressions functions [--device D] [--stride N] [--threads N] [--only NAME]\n"
      "       llrt_expressions rows      [--device D] [--rows N] [--length N] [--step N] [--only "
      "NAME]\n"
      "       llrt_expressions prepare   [--device D] [--only NAME]\n"
      "D: host, cuda:0, hip:0, cuda-emu:sm_90a. rows and prepare read the catalogue from the\n"
      "source tree, or from the folder that LLRT_TEST_EXPRESSIONS names.\n");
  return 2;
}

static bool take(const char *option, const char *value, proof_options *options) {
  char *end = NULL;
  unsigned long long number = strtoull(value, &end, 10);
  bool whole = *value && !*end;
  if (strcmp(option, "--device") == 0) options->name = value;
  else if (strcmp(option, "--only") == 0) options->only = value;
  else if (!whole) return false;
  else if (strcmp(option, "--seed") == 0) options->seed = number;
  else if (strcmp(option, "--stride") == 0 && number > 0) options->stride = number;
  else if (strcmp(option, "--count") == 0) options->count = (int64_t)number;
  else if (strcmp(option, "--rows") == 0 && number > 0) options->rows = (int64_t)number;
  else if (strcmp(option, "--length") == 0 && number > 0) options->length = (int64_t)number;
  else if (strcmp(option, "--step") == 0 && number > 0) options->step = (int64_t)number;
  else if (strcmp(option, "--threads") == 0 && number > 0 && number < 1024)
    options->threads = (int)number;
  else return false;
  return true;
}

int main(int argc, char **argv) {
  static const struct {
    const char *word;
    int (*proof)(const proof_options *options);
  } proofs[] = {{"draws", proof_draws},
                {"functions", proof_functions},
                {"rows", proof_rows},
                {"prepare", proof_prepare}};
  proof_options options = {.name = "host",
                           .seed = 1,
                           .stride = 1,
                           .count = 1000,
                           .rows = 4096,
                           .length = ROW_ALONE_LENGTH,
                           .step = 1,
                           .threads = (int)sysconf(_SC_NPROCESSORS_ONLN)};
  for (int i = 2; i < argc; i += 2)
    if (i + 1 == argc || !take(argv[i], argv[i + 1], &options)) return usage();
  for (size_t i = 0; argc > 1 && i < sizeof proofs / sizeof *proofs; i++) {
    if (strcmp(argv[1], proofs[i].word) != 0) continue;
    options.device = trial_device(options.name);
    if (options.device) return proofs[i].proof(&options);
    fprintf(stderr, "%s: %s\n", options.name, llrt_last_error());
    return 2;
  }
  return usage();
}
