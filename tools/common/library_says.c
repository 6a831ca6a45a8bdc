#include "tools/common/library_says.h"

#include <llrt/status.h>

#include <stdbool.h>
#include <string.h>

const char *library_says(void) {
  const char *said = llrt_last_error();
  size_t name = strspn(said, "abcdefghijklmnopqrstuvwxyz0123456789_");
  bool names = strncmp(said, "llrt_", 5) == 0 && strncmp(said + name, ": ", 2) == 0;
  return names ? said + name + 2 : said;
}
