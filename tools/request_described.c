#include "tools/request_described.h"

#include <string.h>

static int compile_dot(const char *command_name, const options *given, const char *target, llrt_emit emit,
                       char **bytes, size_t *size) {
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
  if (maps[REQUEST_XOR] || maps[REQUEST_WORD_BITS] || maps[REQUEST_SCALE] || maps[REQUEST_IN_PLACE])
    return tool_wrong(command_name, "--xor, --scale, --word-bits and --in-place are not for a dot");
  request_dot r;
  int code = request_dot_read(&asked, &r);
  if (code == TOOL_DONE) code = request_dot_compile(&r, target, emit, bytes, size);
  request_dot_destroy(&r);
  return code;
}

int request_described_compile(const char *command_name, const options *given, const char *target, llrt_emit emit,
                              char **bytes, size_t *size) {
  const char *const *value = given->value;
  request r;
  if (strcmp(given->word[0], "dot") == 0) return compile_dot(command_name, given, target, emit, bytes, size);
  if (given->n_words > 1) return tool_wrong(command_name, "'%s': only a dot names tensors", given->word[1]);
  int code = request_parse(
      &(request_options){.command_name = command_name,
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
  if (code == TOOL_DONE) code = request_compile(&r, target, emit, bytes, size);
  request_destroy(&r);
  return code;
}
