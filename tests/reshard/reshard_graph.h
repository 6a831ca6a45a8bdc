/* Graphs on emulated CUDA devices: the driver's functions, found in the library that llrt has
 * loaded. */
#ifndef LLRT_TESTS_RESHARD_GRAPH_H
#define LLRT_TESTS_RESHARD_GRAPH_H

#include <stdbool.h>

/* The device's primary context is the calling thread's from here on, and the stream captures. */
bool reshard_graph_begin(int ordinal, void *stream);

/* Ends the capture and launches what it has so many times; waits for it, and frees it. */
bool reshard_graph_replay(void *stream, int times);

#endif
