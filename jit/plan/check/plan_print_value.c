/* Words of the text of `llrt explain`: numbers, tensors, values, names of steps. */
#include "jit/plan/check/plan_print.h"

#include "jit/plan/check/plan_view.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/kernel/step_table.h"

static void print_quotient(const plan_arg *arg, const char *rounding, llrt_text *text) {
  const char *name = arg->padded ? "padded" : "n";
  if (arg->factor == 1) llrt_text_add(text, "%s%d", name, arg->index);
  else llrt_text_add(text, "%s(%s%d/%lld)", rounding, name, arg->index, (long long)arg->factor);
}

void plan_print_number(const plan_kernel *kernel, const plan_number *number, llrt_text *text) {
  if (number->arg < 0) {
    llrt_text_add(text, "%lld", (long long)number->value);
    return;
  }
  const plan_arg *arg = &kernel->launch.arg[number->arg];
  switch ((plan_arg_kind)arg->kind) {
  case PLAN_ARG_STRIDE:
    llrt_text_add(text, "stride(t%d.%d)", arg->tensor, arg->index);
    if (arg->factor != 1) llrt_text_add(text, "*%lld", (long long)arg->factor);
    break;
  case PLAN_ARG_CEIL: print_quotient(arg, "ceil", text); break;
  case PLAN_ARG_FLOOR: print_quotient(arg, "floor", text); break;
  case PLAN_ARG_ROUND_UP:
    print_quotient(arg, "ceil", text);
    llrt_text_add(text, "*%lld", (long long)arg->factor);
    break;
  default: llrt_text_add(text, "arg%d", number->arg); break;
  }
}

void plan_print_tensor(int tensor, llrt_text *text) {
  if (tensor > 1) llrt_text_add(text, "tensor %d", tensor);
  else llrt_text_add(text, tensor == 0 ? "source" : "destination");
}

static void print_dim(const plan_value *value, plan_dim dim, llrt_text *text) {
  int n = plan_value_bits(value, dim);
  if (n == 0) return;
  llrt_text_add(text, " %s=[", value->layout.in[dim].name);
  for (int i = 0; i < n; i++)
    llrt_text_add(text, "%s%llu", i ? "," : "",
                  (unsigned long long)plan_value_columns(value, dim)[i]);
  llrt_text_add(text, "]");
}

void plan_print_value(const plan_kernel *kernel, int i, llrt_text *text) {
  const plan_value *value = &kernel->value[i];
  llrt_text_add(text, "v%d:", i);
  print_dim(value, PLAN_REGISTER, text);
  print_dim(value, PLAN_LANE, text);
  print_dim(value, PLAN_WARP, text);
  print_dim(value, PLAN_ITERATION, text);
  if (value->word) llrt_text_add(text, " (%d elements a word)", 1 << value->word);
}

void plan_print_kind(const plan_step *step, llrt_text *text) {
  const plan_step_row *row = plan_step_row_of(step->kind);
  llrt_text_add(text, "%s", row ? row->name : "no step");
}
