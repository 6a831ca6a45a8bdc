/* A plan for people: what every tensor becomes. */
#include "base/status.h"
#include "recipe/plan.h"

static void add_tensor(llrt_text *text, const llrt_repack_tensor *tensor) {
  llrt_text_add(text, "%s %s[", tensor->name, llrt_dtype_name(tensor->dtype));
  for (int i = 0; i < tensor->rank; i++)
    llrt_text_add(text, "%s%lld", i ? "," : "", (long long)tensor->shape[i]);
  llrt_text_add(text, "]");
}

static void add_list(llrt_text *text, const plan_array *tensors, const int32_t *numbers, int n) {
  enum { MOST = 4 }; /* of many tensors the first and the last are told */
  for (int i = 0; i < n; i++) {
    if (n > MOST && i == 2) {
      llrt_text_add(text, ", … %d more", n - 3);
      i = n - 1;
    }
    llrt_text_add(text, i ? ", " : "");
    add_tensor(text, PLAN_AT(*tensors, llrt_repack_tensor, numbers[i]));
  }
  if (n == 0) llrt_text_add(text, "nothing");
}

static void add_step(llrt_text *text, const llrt_repack *plan, int s) {
  const llrt_repack_step *step = PLAN_AT(plan->steps, llrt_repack_step, s);
  if (step->row < 0) llrt_text_add(text, "kept: ");
  else llrt_text_add(text, "row %d: ", step->row);
  add_list(text, &plan->inputs, step->inputs, step->n_inputs);
  if (step->row >= 0) {
    llrt_text_add(text, " -> ");
    add_list(text, &plan->outputs, step->outputs, step->n_outputs);
  }
  bool placed = step->n_outputs > 0;
  for (int i = 0; i < step->n_outputs; i++)
    placed &= PLAN_AT(plan->outputs, llrt_repack_tensor, step->outputs[i])->place >= 0;
  llrt_text_add(text, "; %d launch%s", step->launches, step->launches == 1 ? "" : "es");
  if (placed) llrt_text_add(text, ", in place");
  if (step->workspace) llrt_text_add(text, ", %zu bytes of workspace", step->workspace);
  llrt_text_add(text, "\n");
}

static void add_plan(llrt_text *text, const llrt_repack *plan) {
  const llrt_repack_info *info = &plan->info;
  for (int s = 0; s < plan->steps.n; s++) add_step(text, plan, s);
  for (int i = 0; i < plan->inputs.n; i++) {
    const llrt_repack_tensor *tensor = PLAN_AT(plan->inputs, llrt_repack_tensor, i);
    if (tensor->step >= 0) continue;
    llrt_text_add(text, "dropped: ");
    add_tensor(text, tensor);
    llrt_text_add(text, "\n");
  }
  llrt_text_add(text,
                "%d tensors -> %d, %d launch%s, %llu bytes read, %llu written, %zu bytes of "
                "workspace\n",
                info->n_inputs, info->n_outputs, info->launches, info->launches == 1 ? "" : "es",
                (unsigned long long)info->bytes_read, (unsigned long long)info->bytes_written,
                info->workspace);
}

llrt_status llrt_repack_print(const llrt_repack *plan, char *buffer, size_t size, size_t *length) {
  LLRT_ENTRY();
  if (length) *length = 0;
  if (buffer && size) buffer[0] = 0;
  LLRT_REQUIRE(plan, "plan is NULL");
  LLRT_REQUIRE(buffer || size == 0, "buffer is NULL, and size is %zu", size);
  llrt_text text;
  llrt_text_init(&text);
  add_plan(&text, plan);
  llrt_status status = llrt_text_status(&text);
  if (!status) recipe_copy_text(&text, buffer, size, length);
  llrt_text_fini(&text);
  return status;
}
