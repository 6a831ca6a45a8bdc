/* The tuned numbers as a list: for who varies them one by one. */
#include "jit/plan/types/tuning.h"

#include <stddef.h>
#include <string.h>

typedef enum number_type { IS_int, IS_int64_t, IS_double } number_type;

static const struct {
  const char *name, *unit;
  size_t offset;
  number_type type;
} numbers[] = {
#define ROW(type, name, unit, trades, source) {#name, unit, offsetof(plan_tuning, name), IS_##type},
    PLAN_TUNING(ROW)
#undef ROW
};

int plan_tuning_count(void) { return (int)(sizeof numbers / sizeof *numbers); }

const char *plan_tuning_name(int number) { return numbers[number].name; }

bool plan_tuning_is_log(int number) { return strncmp(numbers[number].unit, "log2 ", 5) == 0; }

double plan_tuning_get(const plan_tuning *tuning, int number) {
  const void *at = (const char *)tuning + numbers[number].offset;
  switch (numbers[number].type) {
  case IS_int: return *(const int *)at;
  case IS_int64_t: return (double)*(const int64_t *)at;
  case IS_double: break;
  }
  return *(const double *)at;
}

void plan_tuning_set(plan_tuning *tuning, int number, double value) {
  void *at = (char *)tuning + numbers[number].offset;
  switch (numbers[number].type) {
  case IS_int: *(int *)at = (int)value; break;
  case IS_int64_t: *(int64_t *)at = (int64_t)value; break;
  case IS_double: *(double *)at = value; break;
  }
}
