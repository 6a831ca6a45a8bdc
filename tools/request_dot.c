#include "tools/request_dot.h"

#include "tools/common/array_file.h"
#include "tools/request.h"

#include <llrt/llrt.h>

#include <stdlib.h>
#include <string.h>

/* ---- one tensor ---- */

/* Takes bytes that NumPy has no name for as what they are here. */
static int take_type(const char *command_name, array *a, const char *option, const char *asked,
                     llrt_dtype of_bytes, llrt_dtype of_halves) {
  llrt_dtype dtype = a->dtype == LLRT_U8 ? of_bytes : a->dtype == LLRT_U16 ? of_halves : a->dtype;
  int code = tool_parse_dtype(command_name, option, asked, &dtype);
  if (code != TOOL_DONE) return code;
  if (request_reinterpret(a, dtype)) return TOOL_DONE;
  if (a->stored_as)
    return tool_refuse("%s: the file's elements have another width, and lie in %.200s",
                       llrt_dtype_name(dtype), a->stored_as);
  return tool_refuse("%s: the elements of the fastest axis do not fit together",
                     llrt_dtype_name(dtype));
}

static int read_array(const request_dot_options *given, const char *name, array *a) {
  array_error error;
  if (given->described && request_parse_described(name, a)) return TOOL_DONE;
  return array_read(name, a, &error) ? TOOL_DONE : tool_refuse("%s", error.text);
}

static int check_bytes(const char *name, const array *a, const llrt_tensor *tensor) {
  size_t bytes;
  if (llrt_tensor_bytes(tensor, &bytes) != LLRT_OK) return tool_refuse_library(name);
  if (!a->data || bytes == a->bytes) return TOOL_DONE;
  return tool_refuse("%s holds %zu bytes, a tensor of this shape and storage takes %zu", name,
                     a->bytes, bytes);
}

/* The tensor of a role: the array's own shape, or the one that is given; in the storage of an
 * expression, or as the array says. */
static int describe(request_dot *r, llrt_dot_role role, const char *name, const char *layout,
                    int rank, const int64_t *shape) {
  const array *a = &r->file[role];
  llrt_tensor *tensor = &r->tensor[role];
  if (!layout && a->stored_as) {
    layout = a->stored_as;
    if (!shape) rank = a->logical_rank, shape = a->logical_shape;
  }
  *tensor = (llrt_tensor){
      .dtype = a->dtype, .rank = shape ? rank : a->rank, .storage = &r->storage[role]};
  memcpy(tensor->shape, shape ? shape : a->shape, sizeof(int64_t) * (size_t)tensor->rank);
  if (!layout) layout = a->col_major ? "col_major" : "row_major";
  if (llrt_storage_parse(layout, tensor->rank, tensor->shape, &r->storage[role]) != LLRT_OK)
    return tool_refuse_library(name);
  return check_bytes(name, a, tensor);
}

/* ---- all of them ---- */

static int read_operands(const request_dot_options *given, request_dot *r) {
  const char *names[] = {given->a, given->b};
  static const llrt_dot_role roles[] = {LLRT_DOT_A, LLRT_DOT_B};
  int64_t asked[3], shape[2][2];
  int n = 0;
  if (given->shape && (!options_parse_numbers(given->shape, 'x', 3, asked, &n) || n != 3))
    return tool_wrong(given->command_name, "--shape %s is no shape like MxNxK", given->shape);
  for (int i = 0; i < 2; i++) {
    array *a = &r->file[roles[i]];
    const char *dtype = given->values[REQUEST_DTYPE_A + i];
    if (n)
      memcpy(shape[i], i ? (int64_t[]){asked[2], asked[1]} : (int64_t[]){asked[0], asked[2]},
             sizeof shape[i]);
    int code = TOOL_DONE;
    if (!names[i]) *a = (array){.dtype = LLRT_F32, .rank = 2, .shape = {shape[i][0], shape[i][1]}};
    else code = read_array(given, names[i], a);
    const char *option = i ? "--dtype-b" : "--dtype-a";
    if (code == TOOL_DONE && !names[i])
      code = tool_parse_dtype(given->command_name, option, dtype, &a->dtype);
    if (code == TOOL_DONE && names[i])
      code = take_type(given->command_name, a, option, dtype, LLRT_U8, LLRT_U16);
    const char *layout = given->values[REQUEST_LAYOUT_A + i];
    request brought; /* the shape that a literal has */
    bool literal = !n && layout && request_take_shape_of(layout, &brought);
    if (code == TOOL_DONE)
      code = describe(r, roles[i], i ? "B" : "A", layout, literal ? brought.rank : 2,
                      n         ? shape[i]
                      : literal ? brought.shape
                                : NULL);
    if (code != TOOL_DONE) return code;
  }
  return TOOL_DONE;
}

/* Options that say something of others, which must be there. */
static int check_companions(const request_dot_options *given) {
  const char *const *values = given->values;
  bool scaled = values[REQUEST_SCALE_A] || values[REQUEST_SCALE_B];
  const struct {
    int option;
    bool there;
    const char *what;
  } rows[] = {
      {REQUEST_LAYOUT_SCALE_B, values[REQUEST_SCALE_B], "--layout-scale-b without --scale-b"},
      {REQUEST_LAYOUT_ZERO_B, values[REQUEST_ZERO_B], "--layout-zero-b without --zero-b"},
      {REQUEST_SCALE_DTYPE, scaled, "--scale-dtype without --scale-a and --scale-b"},
      {REQUEST_SCALE_RANGE, scaled, "--scale-range without --scale-a and --scale-b"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (values[rows[i].option] && !rows[i].there)
      return tool_wrong(given->command_name, "%s", rows[i].what);
  return TOOL_DONE;
}

static int read_others(const request_dot_options *given, request_dot *r) {
  const char *scale_type = given->values[REQUEST_SCALE_DTYPE];
  static const struct {
    llrt_dot_role role;
    int option;
    llrt_dtype of_bytes;
    const char *name;
  } others[] = {{LLRT_DOT_SCALE_A, REQUEST_SCALE_A, LLRT_E8M0, "--scale-a"},
                {LLRT_DOT_SCALE_B, REQUEST_SCALE_B, LLRT_E8M0, "--scale-b"},
                {LLRT_DOT_ZERO_B, REQUEST_ZERO_B, LLRT_U8, "--zero-b"},
                {LLRT_DOT_GLOBAL_B, REQUEST_GLOBAL_B, LLRT_U8, "--global-b"},
                {LLRT_DOT_BIAS, REQUEST_BIAS, LLRT_U8, "--bias"}};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    const char *name = given->values[others[i].option];
    bool scales = others[i].of_bytes == LLRT_E8M0;
    if (!name) continue;
    array *a = &r->file[others[i].role];
    int code = read_array(given, name, a);
    if (code == TOOL_DONE)
      code = take_type(given->command_name, a, "--scale-dtype", scales ? scale_type : NULL,
                       others[i].of_bytes, LLRT_BF16);
    if (code == TOOL_DONE && others[i].role == LLRT_DOT_GLOBAL_B && a->rank == 1 &&
        a->shape[0] == 1)
      a->rank = 0;
    llrt_dot_role role = others[i].role;
    const char *layout = role == LLRT_DOT_SCALE_B  ? given->values[REQUEST_LAYOUT_SCALE_B]
                         : role == LLRT_DOT_ZERO_B ? given->values[REQUEST_LAYOUT_ZERO_B]
                                                   : NULL;
    if (code == TOOL_DONE) code = describe(r, role, others[i].name, layout, 0, NULL);
    if (code != TOOL_DONE) return code;
  }
  return TOOL_DONE;
}

/* ---- the call ---- */

static const llrt_tensor *tensor_of(const request_dot *r, llrt_dot_role role) {
  return r->tensor[role].dtype ? &r->tensor[role] : NULL;
}

/* What is promised of the scales of both operands. */
static int take_range(const request_dot_options *given, request_dot *r) {
  const char *range = given->values[REQUEST_SCALE_RANGE];
  int64_t bytes[2];
  int n = 0;
  if (!range) return TOOL_DONE;
  r->find_range = strcmp(range, "auto") == 0;
  if (r->find_range && given->described)
    return tool_wrong(given->command_name, "--scale-range auto: there are no scales to look at");
  if (r->find_range) return TOOL_DONE;
  if (!options_parse_numbers(range, ',', 2, bytes, &n) || n != 2 || bytes[0] > 254 ||
      bytes[1] > 254)
    return tool_wrong(given->command_name, "--scale-range %s is no range like 110,140", range);
  llrt_dot_scaling *scaled[2] = {&r->params.a, &r->params.b};
  for (int i = 0; i < 2; i++) {
    if (!scaled[i]->scale) continue;
    scaled[i]->range_low = (uint8_t)bytes[0];
    scaled[i]->range_high = (uint8_t)bytes[1];
  }
  return TOOL_DONE;
}

static int fill_params(const request_dot_options *given, request_dot *r) {
  static const struct {
    const char *name;
    llrt_map_kind kind;
  } activations[] = {{"relu", LLRT_MAP_RELU}, {"gelu", LLRT_MAP_GELU}, {"silu", LLRT_MAP_SILU}};
  const char *activation = given->values[REQUEST_ACTIVATION], *alpha = given->values[REQUEST_ALPHA];
  llrt_dot_params *params = &r->params;
  params->a.scale = tensor_of(r, LLRT_DOT_SCALE_A);
  params->b.scale = tensor_of(r, LLRT_DOT_SCALE_B);
  params->b.zero = tensor_of(r, LLRT_DOT_ZERO_B);
  params->b.global = tensor_of(r, LLRT_DOT_GLOBAL_B);
  params->bias = tensor_of(r, LLRT_DOT_BIAS);
  params->tf32 = given->values[REQUEST_TF32] != NULL;
  for (int i = 0; activation && i < 3; i++)
    if (strcmp(activations[i].name, activation) == 0)
      r->maps[params->n_maps++].kind = activations[i].kind;
  params->maps = r->maps;
  if (activation && params->n_maps == 0)
    return tool_wrong(given->command_name,
                      "--activation %s: there is no such, but relu, gelu, silu", activation);
  if (alpha) {
    char *end;
    r->alpha = strtod(alpha, &end);
    if (end == alpha || *end || r->alpha != r->alpha)
      return tool_wrong(given->command_name, "--alpha %s is no number", alpha);
    params->alpha = &r->alpha;
  }
  int code =
      tool_parse_dtype(given->command_name, "--accumulate", given->accumulate, &params->accumulate);
  if (code != TOOL_DONE) return code;
  return take_range(given, r);
}

/* The result's batch axes are the operands', one of which may have a single position or none. */
static int describe_result(const request_dot_options *given, request_dot *r) {
  const llrt_tensor *a = &r->tensor[LLRT_DOT_A], *b = &r->tensor[LLRT_DOT_B];
  llrt_tensor *d = &r->tensor[LLRT_DOT_D];
  if (llrt_dot_result(a, b, &r->params, d) != LLRT_OK) return tool_refuse_library(NULL);
  int code = tool_parse_dtype(given->command_name, "--out-dtype", given->out_dtype, &d->dtype);
  if (code != TOOL_DONE) return code;
  d->storage = &r->storage[LLRT_DOT_D];
  if (llrt_storage_parse(given->to ? given->to : "row_major", d->rank, d->shape,
                         &r->storage[LLRT_DOT_D]) != LLRT_OK)
    return tool_refuse_library("--to");
  if (llrt_dot_describe(a, b, d, &r->params, &r->desc) != LLRT_OK) return tool_refuse_library(NULL);
  return TOOL_DONE;
}

int request_dot_read(const request_dot_options *given, request_dot *r) {
  memset(r, 0, sizeof *r);
  if ((!given->a || !given->b) && !(given->shape && !given->a && !given->b))
    return tool_wrong(given->command_name, "a dot takes A and B%s",
                      given->described ? ", or --shape MxNxK" : "");
  int code = check_companions(given);
  if (code == TOOL_DONE) code = read_operands(given, r);
  if (code == TOOL_DONE) code = read_others(given, r);
  if (code == TOOL_DONE) code = fill_params(given, r);
  return code == TOOL_DONE ? describe_result(given, r) : code;
}

void request_dot_destroy(request_dot *r) {
  for (int i = 0; i < LLRT_DOT_ROLES; i++) array_destroy(&r->file[i]);
  llrt_op_desc_destroy(&r->desc);
}

int request_dot_describe_op(const request_dot *r, llrt_device *device, request_use *use,
                            void *user) {
  llrt_op_desc desc = *r->desc;
  llrt_tensor tensors[LLRT_DOT_ROLES];
  /* Only the alignment of a promised address counts, not what lies there. */
  for (int i = 0; i < desc.n_tensors; i++) {
    tensors[i] = desc.tensors[i];
    tensors[i].data = (void *)256;
    tensors[i].device = device;
  }
  desc.tensors = tensors;
  if (llrt_op_promise_coarse(&desc) != LLRT_OK) return tool_refuse_library(NULL);
  return use(user, &desc);
}
