#include "conformance.h"

#include <stdlib.h>

static const char *const variables[] = {"LLRT_TEST_DOTS", "LLRT_TEST_REDUCES", "LLRT_TEST_SCANS"};

int asked_randoms(const char *variable) {
  const char *text = getenv(variable);
  return text && *text ? atoi(text) : 0;
}

bool randoms_alone(void) {
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
    const char *text = getenv(variables[i]);
    if (text && *text) return true;
  }
  return false;
}
