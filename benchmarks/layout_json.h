/* Layouts of matrices as JSON, from which peers make the same ones. */
#ifndef LLRT_BENCHMARKS_LAYOUT_JSON_H
#define LLRT_BENCHMARKS_LAYOUT_JSON_H

#include <llrt/layout.h>

#include <stddef.h>

/* {"register":[[row,column],...],"lane":[...],"warp":[...]}, into text[size]. */
void layout_json(const llrt_layout *layout, char *text, size_t size);

#endif
