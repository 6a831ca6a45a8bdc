/* llrt dot: the product of two matrices in files. */
#include "tools/common/best_device.h"
#include "tools/request_dot.h"
#include "tools/request_run.h"

#include <llrt/llrt.h>

enum { TO, SHAPE, OUT_DTYPE, ACCUMULATE, DEVICE, OUTPUT, DOT };

static const option_spec table[] = {
    [TO] = {"to", 0, "EXPR", "storage of the result (default row_major)"},
    [SHAPE] = {"shape", 0, "MxNxK", "A is [M,K], B [K,N] (default: the files' shapes)"},
    [OUT_DTYPE] = {"out-dtype", 0, "TYPE",
                   "element type of the result (default: the wider of the\n"
                   "operands' floating types, f32 where they are narrow)"},
    [ACCUMULATE] = {"accumulate", 0, "TYPE", "f64 or i64: sums in this type"},
    [DEVICE] = {"device", 0, "NAME",
                "host, cuda:0, hip:0 (default: the first GPU that\nworks, else the host)"},
    [OUTPUT] = {"output", 'o', "OUT", "file to write: .npy, or new.safetensors:NAME"},
    REQUEST_DOT_OPTIONS(""),
    {0},
};

/* The tensors on the device, with what they point to; what is there is to be freed in any event. */
static llrt_status place_all(llrt_device *device, request_dot *r) {
  llrt_status status = LLRT_OK;
  for (int i = 0; i < LLRT_DOT_ROLES && status == LLRT_OK; i++) {
    const array *a = &r->file[i];
    r->tensor[i].device = device;
    status = request_lend(&r->tensor[i], a, i != LLRT_DOT_D);
  }
  return status;
}

static llrt_status find_ranges(request_dot *r) {
  llrt_dot_scaling *scaled[2] = {&r->params.a, &r->params.b};
  for (int i = 0; i < 2 && r->find_range; i++) {
    llrt_dot_scaling *s = scaled[i];
    if (!s->scale || s->scale->dtype != LLRT_E8M0) continue;
    llrt_status status = llrt_dot_scale_range(s->scale, NULL, &s->range_low, &s->range_high);
    if (status != LLRT_OK) return status;
  }
  return LLRT_OK;
}

static llrt_status multiply(llrt_device *device, request_dot *r) {
  llrt_tensor *d = &r->tensor[LLRT_DOT_D];
  llrt_status status = place_all(device, r);
  if (status == LLRT_OK) status = find_ranges(r);
  if (status == LLRT_OK)
    status = llrt_dot_into(&r->tensor[LLRT_DOT_A], &r->tensor[LLRT_DOT_B], d, &r->params, NULL);
  if (status == LLRT_OK) status = request_fetch(d, &r->file[LLRT_DOT_D]);
  if (status == LLRT_OK) status = llrt_stream_synchronize(device, NULL);
  for (int i = 0; i < LLRT_DOT_ROLES; i++) request_give_back(&r->tensor[i], &r->file[i]);
  return status;
}

static int work(const char *device_name, request_dot *r) {
  llrt_context *context;
  llrt_device *device = NULL;
  if (tool_context_create(&context) != LLRT_OK) return tool_refuse_library(NULL);
  llrt_status status = best_device_open(context, device_name, NULL, &device);
  if (status == LLRT_OK) status = multiply(device, r);
  int code = status == LLRT_OK ? TOOL_DONE : tool_refuse_library(NULL);
  llrt_device_close(&device);
  llrt_context_destroy(&context);
  return code;
}

static int run(const options *given) {
  const char *const *value = given->value;
  request_dot_options asked = {.command_name = "dot",
                               .a = given->word[0],
                               .b = given->word[1],
                               .values = &value[DOT],
                               .shape = value[SHAPE],
                               .to = value[TO],
                               .out_dtype = value[OUT_DTYPE],
                               .accumulate = value[ACCUMULATE]};
  outfile file = {0};
  request_dot r;
  if (!value[OUTPUT]) return tool_wrong("dot", "-o OUT is missing");
  int code = request_dot_read(&asked, &r);
  array *result = &r.file[LLRT_DOT_D];
  if (code == TOOL_DONE)
    code = request_begin_result(&r.tensor[LLRT_DOT_D], value[OUTPUT], result, &file);
  if (code == TOOL_DONE) code = work(value[DEVICE], &r);
  if (code == TOOL_DONE) code = request_end_result(&file, result);
  outfile_discard(&file);
  request_dot_destroy(&r);
  return code;
}

const command cmd_dot = {
    .name = "dot",
    .summary = "multiply matrices of any two types, with scales",
    .synopsis = "A B -o OUT [options]",
    .text =
        "Reads A [.., M, K] and B [.., K, N] and writes their product [.., M, N]. The operands "
        "may\n"
        "have different types, which are brought together exactly: f16 with f32 is computed in\n"
        "f32, bf16 with e2m1 in bf16. B may have scales for groups along K (mxfp4, nvfp4, int4\n"
        "with zero points). Operands and result may lie in any storage.",
    .example = "  llrt dot x.npy w.npy --dtype-a bf16 --dtype-b e2m1 --scale-b s.npy -o y.npy\n"
               "  llrt dot x.npy w.npy --layout-b col_major --shape 16x4096x4096 -o y.npy",
    .option = table,
    .min_words = 2,
    .max_words = 2,
    .run = run,
};
