#include "tools/explain_reshard.h"

#include <llrt/reshard.h>

#include <stdio.h>
#include <stdlib.h>

/* Bit i: option i has a meaning here. */
static const uint64_t options_taken = 1ull << DESCRIBED_FROM | 1ull << DESCRIBED_TO |
                                      1ull << DESCRIBED_SHAPE | 1ull << DESCRIBED_DTYPE |
                                      1ull << (DESCRIBED_MAPS + REQUEST_OUT_DTYPE);

static int refuse_others(const options *given) {
  static const option_spec table[] = {REQUEST_DESCRIBED_OPTIONS};
  for (int i = 0; i < REQUEST_N_DESCRIBED_OPTIONS; i++)
    if (given->value[i] && !(options_taken >> i & 1))
      return tool_wrong("explain", "--%s is not for reshard", table[i].name);
  return TOOL_DONE;
}

static bool parse_speed(const char *text, double *speed) {
  char *end;
  *speed = text ? strtod(text, &end) : 0;
  return !text || (*text && *end == 0 && *speed > 0);
}

static int print(const llrt_reshard_desc *desc, double link, double memory) {
  size_t length;
  if (llrt_reshard_explain(desc, link, memory, NULL, 0, &length) != LLRT_OK)
    return tool_refuse_library(NULL);
  char *text = malloc(length + 1);
  if (!text) return tool_refuse("no memory for %zu bytes of text", length);
  llrt_status status = llrt_reshard_explain(desc, link, memory, text, length + 1, &length);
  if (status == LLRT_OK) fputs(text, stdout);
  free(text);
  return status == LLRT_OK ? TOOL_DONE : tool_refuse_library(NULL);
}

int explain_reshard(const options *given, const char *link_text, const char *memory_text) {
  const char *const *value = given->value;
  const char *out = value[DESCRIBED_MAPS + REQUEST_OUT_DTYPE];
  llrt_sharding from, to;
  double link, memory;
  request r = {.rank = 0};
  llrt_reshard_desc desc = {.source = &from, .destination = &to, .shape = r.shape};
  int code = refuse_others(given);
  if (code != TOOL_DONE) return code;
  if (given->n_words != 1) return tool_wrong("explain", "reshard takes no further words");
  if (!value[DESCRIBED_FROM] || !value[DESCRIBED_TO] || !value[DESCRIBED_SHAPE])
    return tool_wrong("explain", "reshard: --from, --to and --shape are needed");
  if (!parse_speed(link_text, &link) || !parse_speed(memory_text, &memory))
    return tool_wrong("explain", "--link-speed and --memory-speed are numbers above 0, in GB/s");
  code = request_parse_shape("explain", value[DESCRIBED_SHAPE], &r);
  if (code != TOOL_DONE) return code;
  if (llrt_dtype_parse(value[DESCRIBED_DTYPE] ? value[DESCRIBED_DTYPE] : "f32",
                       &desc.source_dtype) != LLRT_OK)
    return tool_refuse_library("--dtype");
  desc.destination_dtype = desc.source_dtype;
  if (out && llrt_dtype_parse(out, &desc.destination_dtype) != LLRT_OK)
    return tool_refuse_library("--out-dtype");
  if (llrt_sharding_parse(value[DESCRIBED_FROM], NULL, r.rank, r.shape, &from) != LLRT_OK)
    return tool_refuse_library("--from");
  if (llrt_sharding_parse(value[DESCRIBED_TO], NULL, r.rank, r.shape, &to) != LLRT_OK)
    return tool_refuse_library("--to");
  return print(&desc, link, memory);
}
