/* Operations with a measured choice, and which kernels a run takes. */
#include "base/params.h"
#include "base/status.h"
#include "runtime/context.h"
#include "runtime/tune.h"
#include "runtime/tuned.h"

#include <string.h>

static llrt_status check_params(const llrt_prepare_params *params) {
  LLRT_REQUIRE(params->tune >= LLRT_TUNE_OFF && params->tune <= LLRT_TUNE_ANY_ORDER,
               "tune is %d, none of llrt_tune", params->tune);
  LLRT_REQUIRE(params->retune == 0 || params->retune == 1, "retune is %d, not 0 or 1",
               params->retune);
  LLRT_REQUIRE(params->most >= 0, "most is %d, not at least 0", params->most);
  LLRT_REQUIRE(params->seconds >= 0, "seconds is %g, not at least 0", params->seconds);
  LLRT_REQUIRE(params->lazy == 0 || params->lazy == 1, "lazy is %d, not 0 or 1", params->lazy);
  LLRT_REQUIRE(!params->lazy || params->tune == LLRT_TUNE_OFF,
               "an operation is tuned, which compiles its candidates, or lazy");
  return LLRT_OK;
}

llrt_status llrt_op_prepare_with(llrt_device *device, const llrt_op_desc *desc,
                                 const llrt_prepare_params *params, llrt_op **op) {
  LLRT_ENTRY();
  LLRT_REQUIRE(op, "op is NULL");
  *op = NULL;
  llrt_prepare_params own;
  LLRT_TRY(LLRT_PARAMS_READ(llrt_prepare_params, params, &own));
  LLRT_TRY(check_params(&own));
  const op_wishes wishes = {.any_order = own.tune == LLRT_TUNE_ANY_ORDER, .lazy = own.lazy};
  LLRT_TRY(llrt_op_prepare_as(device, desc, wishes, op));
  if (own.tune == LLRT_TUNE_OFF) return LLRT_OK;
  llrt_status status = llrt_tune_op(*op, desc, &own);
  if (status != LLRT_OK) llrt_op_destroy(op);
  return status;
}

static void describe_planned(const llrt_op *op, int variant, llrt_text *out) {
  int number = 0;
  for (int i = 0; i < variant; i += 1 + op->variant[i].launch.later) number++;
  llrt_text_add(out, "planned: variant %d", number);
}

static void describe(const llrt_op *op, const op_call *call, int variant, llrt_text *out) {
  const tuned_choice *choice = llrt_tuned_find(op, &call->tensor[0]);
  const char *device = op->device->info.description;
  if (!choice || !choice->op) describe_planned(op, variant, out);
  if (choice && !choice->op)
    llrt_text_add(out, "; tuned on %s: nothing is faster, measured %.4g us", device,
                  choice->measured_us);
  if (choice && choice->op)
    llrt_text_add(out, "tuned on %s: %s, measured %.4g us, predicted %.4g us, planned %.4g us",
                  device, choice->text, choice->measured_us, choice->predicted_us,
                  choice->planned_us);
}

llrt_status llrt_op_choice_print(const llrt_op *op, const llrt_tensor *tensors, int n, char *buffer,
                                 size_t size, size_t *length) {
  LLRT_ENTRY();
  LLRT_REQUIRE(buffer || (size == 0 && length), "buffer is NULL, size %zu", size);
  if (length) *length = 0;
  if (buffer && size > 0) *buffer = 0;
  op_call call;
  LLRT_TRY(llrt_op_bind(op, tensors, n, NULL, &call));
  int variant = call.empty ? 0 : llrt_op_pick(op, &call.tensor[0]);
  if (variant < 0)
    return llrt_error(LLRT_NOT_PREPARED, "the operation holds no kernel for this shape");
  llrt_text text;
  llrt_text_init(&text);
  if (call.empty) llrt_text_add(&text, "nothing: there are no elements");
  else describe(op, &call, variant, &text);
  llrt_status status = llrt_text_status(&text);
  if (status == LLRT_OK) status = llrt_text_copy(&text, buffer, size, length);
  llrt_text_fini(&text);
  return status;
}
