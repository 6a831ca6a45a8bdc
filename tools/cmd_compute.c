/* llrt compute: an expression on tensors in files. */
#include "tools/common/array_file.h"
#include "tools/common/best_device.h"
#include "tools/emit_form.h"
#include "tools/request_run.h"

#include <llrt/llrt.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUTPUT, DEVICE, EXPLAIN, EMIT, KERNEL };

static const option_spec table[] = {
    [OUTPUT] = {"output", 'o', "NAME=OUT", "file for an output: .npy; once for each of them"},
    [DEVICE] = {"device", 0, "NAME",
                "host, cuda:0, hip:0 (default: the first GPU that\nworks, else the host)"},
    [EXPLAIN] = {"explain", 0, "TARGET", "print the plan for a target instead, such as sm_90a"},
    [EMIT] = {"emit", 0, "FORM",
              "with --explain, in place of the plan: a form of\nllrt compile --emit, such as ptx"},
    [KERNEL] = {"kernel", 0, "FILE",
                "with --emit: where it goes (default for text: standard\n"
                "output)"},
    {0},
};

/* Bytes that divide the addresses of tensors in an explained plan, as allocators give them. */
#define EXPLAINED_ALIGNMENT 64

#define MOST_ARGS (LLRT_EXPR_MAX_TENSORS + LLRT_EXPR_MAX_SCALARS)

/* What names of the expression are bound to. */
typedef struct bindings {
  llrt_expr *expr;
  char text[8192];
  int n;
  llrt_arg arg[MOST_ARGS];
  llrt_tensor tensor[MOST_ARGS];
  array file[MOST_ARGS];
  char name[MOST_ARGS][64];
  bool output[MOST_ARGS];
  const char *path[MOST_ARGS]; /* of outputs */
  outfile written[MOST_ARGS];  /* likewise, begun */
} bindings;

/* ---- the expression ---- */

/* The text, or what the file of that name holds. */
static int read_expression(const char *word, bindings *b) {
  if (!strchr(word, '(')) {
    FILE *file = fopen(word, "rb");
    if (!file) return tool_refuse("%s: cannot be read, and is no expression", word);
    size_t n = fread(b->text, 1, sizeof b->text - 1, file);
    bool whole = feof(file) && !ferror(file);
    fclose(file);
    if (!whole) return tool_refuse("%s: more than %zu bytes", word, sizeof b->text - 1);
    b->text[n] = 0;
    word = b->text;
  }
  return llrt_expr_parse(word, &b->expr) == LLRT_OK ? TOOL_DONE : tool_refuse_library(NULL);
}

static bool is_output(const bindings *b, const char *name, bool *known) {
  bool output;
  *known = false;
  for (int i = 0; llrt_expr_name(b->expr, i, &output); i++)
    if (strcmp(llrt_expr_name(b->expr, i, NULL), name) == 0) {
      *known = true;
      return output;
    }
  return false;
}

/* ---- arguments ---- */

/* "NAME[:TYPE]=REST" taken apart; what stands behind "=", or NULL. */
static const char *split_word(const char *word, char name[64], char type[32]) {
  const char *equals = strchr(word, '='), *colon = strchr(word, ':');
  *type = 0;
  if (!equals) return NULL;
  if (colon > equals) colon = NULL;
  const char *end = colon ? colon : equals;
  if (end - word >= 64 || (colon && equals - colon > 31)) return NULL;
  memcpy(name, word, (size_t)(end - word));
  name[end - word] = 0;
  if (colon) {
    memcpy(type, colon + 1, (size_t)(equals - colon - 1));
    type[equals - colon - 1] = 0;
  }
  return equals + 1;
}

static int bind_number(const char *text, llrt_arg *arg) {
  char *end;
  arg->number = strtod(text, &end);
  if (end == text || *end) return TOOL_WRONG;
  arg->integer = strtoll(text, &end, 0);
  if (*end) arg->integer = 0; /* no whole number, or too large for one */
  return TOOL_DONE;
}

/* An input's file, or a number. */
static int bind_word(const char *word, bindings *b) {
  char type[32];
  array_error error;
  bool known;
  int i = b->n;
  if (i == MOST_ARGS) return tool_wrong("compute", "more arguments than an expression has");
  const char *rest = split_word(word, b->name[i], type);
  if (!rest) return tool_wrong("compute", "'%s' is no NAME=FILE and no NAME=NUMBER", word);
  if (is_output(b, b->name[i], &known))
    return tool_wrong("compute", "%s is an output: -o %s", b->name[i], word);
  if (!known) return tool_refuse("the expression has no %s", b->name[i]);
  b->arg[i] = (llrt_arg){.name = b->name[i]};
  b->n++;
  if (bind_number(rest, &b->arg[i]) == TOOL_DONE) return TOOL_DONE;
  if (!array_read(rest, &b->file[i], &error)) return tool_refuse("%s", error.text);
  int stored = request_refuse_stored("compute", rest, &b->file[i]);
  if (stored != TOOL_DONE) return stored;
  if (*type) {
    llrt_dtype dtype;
    int code = tool_parse_dtype("compute", word, type, &dtype);
    if (code != TOOL_DONE) return code;
    if (!request_reinterpret(&b->file[i], dtype))
      return tool_refuse("%s: the elements of the fastest axis do not fit together", word);
  }
  const array *a = &b->file[i];
  b->tensor[i] = (llrt_tensor){.dtype = a->dtype, .rank = a->rank};
  memcpy(b->tensor[i].shape, a->shape, sizeof b->tensor[i].shape);
  if (a->col_major) return tool_refuse("%s: axes in the order of Fortran", rest);
  b->arg[i].tensor = &b->tensor[i];
  return TOOL_DONE;
}

/* An output, of the shape that the inputs give it. */
static int bind_output(const char *word, int inputs, bindings *b) {
  char type[32];
  int i = b->n;
  if (i == MOST_ARGS) return tool_wrong("compute", "more outputs than an expression has");
  b->path[i] = split_word(word, b->name[i], type);
  if (!b->path[i]) return tool_wrong("compute", "-o '%s' is no NAME=OUT", word);
  for (int k = inputs; k < i; k++)
    if (strcmp(b->path[k], b->path[i]) == 0)
      return tool_refuse("%s: the file of two outputs, %s and %s", b->path[i], b->name[k],
                         b->name[i]);
  if (llrt_compute_result(b->expr, b->arg, inputs, b->name[i], &b->tensor[i]) != LLRT_OK)
    return tool_refuse_library(NULL);
  if (*type) {
    int code = tool_parse_dtype("compute", word, type, &b->tensor[i].dtype);
    if (code != TOOL_DONE) return code;
  }
  b->output[i] = true;
  b->arg[i] = (llrt_arg){.name = b->name[i], .tensor = &b->tensor[i]};
  b->n++;
  return TOOL_DONE;
}

/* Begins the outputs' files, in which their bytes lie where they may. */
static int begin_outputs(bindings *b) {
  array_error error;
  for (int i = 0; i < b->n; i++) {
    const llrt_tensor *tensor = &b->tensor[i];
    if (!b->output[i]) continue;
    if (!array_describe(tensor->dtype, tensor->rank, tensor->shape, &b->file[i], &error))
      return tool_refuse("%s: %s", b->name[i], error.text);
    if (!array_begin(b->path[i], &b->file[i], &b->written[i], &error))
      return tool_refuse("%s", error.text);
  }
  return TOOL_DONE;
}

/* ---- doing it ---- */

static llrt_status compute_on(llrt_device *device, bindings *b) {
  llrt_status status = LLRT_OK;
  for (int i = 0; i < b->n && status == LLRT_OK; i++) {
    if (!b->arg[i].tensor) continue;
    b->tensor[i].device = device;
    status = request_lend(&b->tensor[i], &b->file[i], !b->output[i]);
  }
  if (status == LLRT_OK) status = llrt_compute_into(b->expr, b->arg, b->n, NULL, NULL);
  for (int i = 0; i < b->n && status == LLRT_OK; i++)
    if (b->output[i]) status = request_fetch(&b->tensor[i], &b->file[i]);
  if (status == LLRT_OK) status = llrt_stream_synchronize(device, NULL);
  for (int i = 0; i < b->n; i++) request_give_back(&b->tensor[i], &b->file[i]);
  return status;
}

/* The operation for the target in the form, as one-line calls promise it. */
static llrt_status explain(llrt_context *context, const char *target, llrt_emit form, bindings *b,
                           char **bytes, size_t *size) {
  llrt_op_desc *desc;
  llrt_status status = llrt_compute_describe(b->expr, b->arg, b->n, NULL, &desc);
  if (status != LLRT_OK) return status;
  status = llrt_op_promise_coarse(desc);
  for (int i = 0; i < desc->n_tensors && status == LLRT_OK; i++)
    desc->promises[i].address.multiple = EXPLAINED_ALIGNMENT;
  if (status == LLRT_OK) status = llrt_op_compile(context, target, desc, form, bytes, size);
  llrt_op_desc_destroy(&desc);
  return status;
}

static int explain_as_asked(llrt_context *context, const options *given, bindings *b) {
  const char *target = given->value[EXPLAIN], *file = given->value[KERNEL];
  const emit_form *form;
  char *bytes = NULL;
  size_t size;
  int code = emit_form_find("compute", given->value[EMIT] ? given->value[EMIT] : "plan", target,
                            file != NULL, &form);
  if (code != TOOL_DONE) return code;
  llrt_status status = explain(context, target, form->emit, b, &bytes, &size);
  code = status == LLRT_OK ? emit_form_write(file, bytes, size) : tool_refuse_library(NULL);
  llrt_buffer_free(&bytes);
  return code;
}

static int work(const options *given, bindings *b) {
  llrt_context *context;
  llrt_device *device = NULL;
  int code;
  if (tool_context_create(&context) != LLRT_OK) return tool_refuse_library(NULL);
  if (given->value[EXPLAIN]) {
    code = explain_as_asked(context, given, b);
  } else {
    llrt_status status = best_device_open(context, given->value[DEVICE], NULL, &device);
    if (status == LLRT_OK) status = compute_on(device, b);
    code = status == LLRT_OK ? TOOL_DONE : tool_refuse_library(NULL);
  }
  llrt_device_close(&device);
  llrt_context_destroy(&context);
  return code;
}

static int end_outputs(bindings *b) {
  outfile *files[MOST_ARGS];
  const array *arrays[MOST_ARGS];
  array_error error;
  int n = 0;
  for (int i = 0; i < b->n; i++) {
    if (!b->output[i]) continue;
    files[n] = &b->written[i];
    arrays[n++] = &b->file[i];
  }
  return array_end_all(files, arrays, n, &error) ? TOOL_DONE : tool_refuse("%s", error.text);
}

static int run(const options *given) {
  bindings *b = calloc(1, sizeof *b);
  if (!b) return tool_refuse("no memory");
  bool alone = !given->value[EXPLAIN] && (given->value[EMIT] || given->value[KERNEL]);
  int code = given->n_repeated == 0 ? tool_wrong("compute", "-o NAME=OUT is missing")
             : alone ? tool_wrong("compute", "--emit and --kernel go with --explain TARGET")
                     : read_expression(given->word[0], b);
  for (int i = 1; i < given->n_words && code == TOOL_DONE; i++) code = bind_word(given->word[i], b);
  int inputs = b->n;
  for (int i = 0; i < given->n_repeated && code == TOOL_DONE; i++)
    code = bind_output(given->repeated[i], inputs, b);
  bool computes = !given->value[EXPLAIN];
  if (code == TOOL_DONE && computes) code = begin_outputs(b);
  if (code == TOOL_DONE) code = work(given, b);
  if (code == TOOL_DONE && computes) code = end_outputs(b);
  for (int i = 0; i < b->n; i++) outfile_discard(&b->written[i]);
  for (int i = 0; i < b->n; i++) array_destroy(&b->file[i]);
  llrt_expr_destroy(&b->expr);
  free(b);
  return code;
}

const command cmd_compute = {
    .name = "compute",
    .summary = "compute an expression: softmax, norms, quantisers, in one pass",
    .synopsis = "EXPRESSION NAME=IN.. -o NAME=OUT.. [options]",
    .text =
        "EXPRESSION is a text, or a file that holds one (docs/expressions.md). Each of its\n"
        "inputs is given as NAME=FILE, or NAME:TYPE=FILE to read the file's bytes as that type,\n"
        "numbers as NAME=NUMBER, and each output with -o; -o NAME:TYPE=OUT chooses its type\n"
        "where the expression has none (default: that of the first input).",
    .example = "  llrt compute '(x[t n]) -> (y[t n]) { y = x / sum(x, n) }' x=x.npy -o y=y.npy\n"
               "  llrt compute fp8_row.llrt x:bf16=x.npy -o q=q.npy -o s=s.npy",
    .option = table,
    .repeated = "output",
    .most_repeats = OPTIONS_MAX_REPEATS,
    .min_words = 1,
    .max_words = OPTIONS_MAX_WORDS,
    .run = run,
};
