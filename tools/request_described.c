#include "tools/request_described.h"

#include <string.h>

/* ---- which options an operation has ---- */

static const char *const operations[] = {"convert", "gather", "scatter", "reduce", "scan", "dot"};
enum { N_OPERATIONS = sizeof operations / sizeof *operations };
enum { CONVERT = 1, GATHER = 2, SCATTER = 4, REDUCE = 8, SCAN = 16, DOT = 32 };
#define MOVES (CONVERT | GATHER | SCATTER)
#define ALL (MOVES | REDUCE | SCAN | DOT)

static const option_spec described[] = {REQUEST_DESCRIBED_OPTIONS};

/* The operations that an option is for; DOT alone for those behind the last. */
static const uint8_t option_is_for[DESCRIBED_DOT] = {
    [DESCRIBED_FROM] = ALL & ~DOT,
    [DESCRIBED_TO] = ALL,
    [DESCRIBED_SHAPE] = ALL,
    [DESCRIBED_DTYPE] = ALL & ~DOT,
    [DESCRIBED_TARGET] = ALL,
    [DESCRIBED_INDEX] = MOVES,
    [DESCRIBED_OUT_OF_RANGE] = MOVES,
    [DESCRIBED_AXIS] = GATHER | SCATTER | REDUCE | SCAN,
    [DESCRIBED_FORM] = GATHER | SCATTER,
    [DESCRIBED_OP] = REDUCE | SCAN,
    [DESCRIBED_ACCUMULATE] = REDUCE | SCAN | DOT,
    [DESCRIBED_EXCLUSIVE] = SCAN,
    [DESCRIBED_REVERSE] = SCAN,
    [DESCRIBED_MAPS + REQUEST_OUT_DTYPE] = ALL,
    [DESCRIBED_MAPS + REQUEST_XOR] = MOVES,
    [DESCRIBED_MAPS + REQUEST_SCALE] = MOVES,
    [DESCRIBED_MAPS + REQUEST_WORD_BITS] = MOVES,
    [DESCRIBED_MAPS + REQUEST_IN_PLACE] = CONVERT,
};

static int check_options(const char *command_name, const options *given) {
  int operation = 0;
  while (operation < N_OPERATIONS && strcmp(operations[operation], given->word[0]) != 0)
    operation++;
  if (operation == N_OPERATIONS)
    return tool_wrong(command_name, "there is no operation '%s'", given->word[0]);
  for (int i = 0; i < REQUEST_N_DESCRIBED_OPTIONS; i++) {
    int of = i < DESCRIBED_DOT ? option_is_for[i] : DOT;
    if (given->value[i] && !(of >> operation & 1))
      return tool_wrong(command_name, "--%s is not for a %s", described[i].name,
                        operations[operation]);
  }
  return TOOL_DONE;
}

/* ---- the operation ---- */

static int use_dot(const char *command_name, const options *given, llrt_device *device,
                   request_use *use, void *user) {
  const char *const *value = given->value;
  const char *const *maps = &value[DESCRIBED_MAPS];
  request_dot_options asked = {.command_name = command_name,
                               .described = true,
                               .a = given->word[1],
                               .b = given->word[2],
                               .values = &value[DESCRIBED_DOT],
                               .shape = value[DESCRIBED_SHAPE],
                               .to = value[DESCRIBED_TO],
                               .out_dtype = maps[REQUEST_OUT_DTYPE],
                               .accumulate = value[DESCRIBED_ACCUMULATE]};
  request_dot r;
  int code = request_dot_read(&asked, &r);
  if (code == TOOL_DONE) code = request_dot_describe_op(&r, device, use, user);
  request_dot_destroy(&r);
  return code;
}

int request_described_use(const char *command_name, const options *given, llrt_device *device,
                          request_use *use, void *user) {
  const char *const *value = given->value;
  request r;
  int code = check_options(command_name, given);
  if (code != TOOL_DONE) return code;
  if (strcmp(given->word[0], "dot") == 0) return use_dot(command_name, given, device, use, user);
  if (given->n_words > 1)
    return tool_wrong(command_name, "'%s': only a dot names tensors", given->word[1]);
  code = request_parse(&(request_options){.command_name = command_name,
                                          .operation = given->word[0],
                                          .from = value[DESCRIBED_FROM],
                                          .to = value[DESCRIBED_TO],
                                          .shape = value[DESCRIBED_SHAPE],
                                          .dtype = value[DESCRIBED_DTYPE],
                                          .maps = &value[DESCRIBED_MAPS],
                                          .index = {.command_name = command_name,
                                                    .texts = given->repeated,
                                                    .n = given->n_repeated,
                                                    .axis = value[DESCRIBED_AXIS],
                                                    .form = value[DESCRIBED_FORM],
                                                    .out_of_range = value[DESCRIBED_OUT_OF_RANGE],
                                                    .described = true},
                                          .reduce = {.command_name = command_name,
                                                     .op = value[DESCRIBED_OP],
                                                     .axes = value[DESCRIBED_AXIS],
                                                     .accumulate = value[DESCRIBED_ACCUMULATE]},
                                          .scan = {.command_name = command_name,
                                                   .op = value[DESCRIBED_OP],
                                                   .axis = value[DESCRIBED_AXIS],
                                                   .exclusive = value[DESCRIBED_EXCLUSIVE] != NULL,
                                                   .reverse = value[DESCRIBED_REVERSE] != NULL,
                                                   .accumulate = value[DESCRIBED_ACCUMULATE]}},
                       &r);
  if (code == TOOL_DONE) code = request_describe_op(&r, device, use, user);
  request_destroy(&r);
  return code;
}

/* ---- compiled ---- */

typedef struct compilation {
  const char *target;
  llrt_emit emit;
  char **bytes;
  size_t *size;
} compilation;

static int compile(void *user, const llrt_op_desc *desc) {
  const compilation *c = user;
  llrt_context *context;
  if (llrt_context_create(NULL, &context) != LLRT_OK) return tool_refuse_library(NULL);
  llrt_status status = llrt_op_compile(context, c->target, desc, c->emit, c->bytes, c->size);
  llrt_context_destroy(&context);
  return status == LLRT_OK ? TOOL_DONE : tool_refuse_library(NULL);
}

int request_described_compile(const char *command_name, const options *given, const char *target,
                              llrt_emit emit, char **bytes, size_t *size) {
  compilation c = {target, emit, bytes, size};
  *bytes = NULL;
  *size = 0;
  return request_described_use(command_name, given, NULL, compile, &c);
}
