/* Every named family and storage, for `llrt layout --list`. */
#ifndef LLRT_TOOLS_LAYOUT_LIST_H
#define LLRT_TOOLS_LAYOUT_LIST_H

#include <stdbool.h>
#include <stdio.h>

/* As a JSON list of objects {name, kind, dims, params, widths, source}, or as a readable table.
 * dims is empty where any number of axes will do; widths are in bits. */
void layout_list_print(FILE *stream, bool json);

#endif
