/* `llrt explain reshard`: what a re-shard moves between devices. */
#ifndef LLRT_TOOLS_EXPLAIN_RESHARD_H
#define LLRT_TOOLS_EXPLAIN_RESHARD_H

#include "tools/request_described.h"

/* Prints it for the options of REQUEST_DESCRIBED_OPTIONS that have a meaning there, and the speeds
 * of links and memory in GB/s, as text (NULL: the library's presets). Returns an exit code of
 * tool.h. */
int explain_reshard(const options *given, const char *link, const char *memory);

#endif
