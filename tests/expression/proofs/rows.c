/* Rows alone (tests/expression/row_alone.h). */
#include "tests/expression/catalogue_call.h"
#include "tests/expression/row_alone.h"
#include "tests/expression/proofs/proofs.h"

#include <stdio.h>
#include <string.h>

int proof_rows(const proof_options *options) {
  int n = 0, wrong = 0;
  const char *name;
  for (int i = 0; (name = catalogue_name(i, true)); i++) {
    if (options->only && strcmp(options->only, name) != 0) continue;
    const char *why =
        row_alone_check(options->device, name, options->rows, options->length, options->step);
    n++;
    wrong += why != NULL;
    if (why) printf("%s: %s\n", name, why);
    fflush(stdout);
  }
  printf(
      "%s: %d expressions of %lld rows, one of %lld alone and all at 3 more alignments: %d wrong\n",
      options->name, n, (long long)options->rows, (long long)options->step, wrong);
  return wrong > 0 || n == 0;
}
