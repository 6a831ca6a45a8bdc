#include "layout_json.h"

#include <stdio.h>

static void print_bases(const llrt_layout *layout, const char *name, char *text, size_t size) {
  int index = llrt_layout_in_index(layout, name), rows = layout->out[0].bits;
  size_t at = (size_t)snprintf(text, size, "[");
  for (int i = 0; index >= 0 && i < layout->in[index].bits && at < size; i++) {
    uint64_t x = layout->column[llrt_layout_in_shift(layout, index) + i];
    at += (size_t)snprintf(text + at, size - at, "%s[%llu,%llu]", i ? "," : "",
                           (unsigned long long)(x & ((1u << rows) - 1)),
                           (unsigned long long)(x >> rows));
  }
  if (at < size) snprintf(text + at, size - at, "]");
}

void layout_json(const llrt_layout *layout, char *text, size_t size) {
  char registers[256], lanes[128], warps[128], blocks[64];
  print_bases(layout, "register", registers, sizeof registers);
  print_bases(layout, "lane", lanes, sizeof lanes);
  print_bases(layout, "warp", warps, sizeof warps);
  print_bases(layout, "block", blocks, sizeof blocks);
  snprintf(text, size, "{\"register\":%s,\"lane\":%s,\"warp\":%s,\"block\":%s}", registers, lanes,
           warps, blocks);
}
