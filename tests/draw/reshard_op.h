/* Re-shards drawn at random, as tests/reshard draws and runs them: meshes, splits, storages of any
 * kind, on the host and on emulated CUDA devices, which reach each other. */
#ifndef LLRT_TESTS_DRAW_RESHARD_H
#define LLRT_TESTS_DRAW_RESHARD_H

#include "memory.h"
#include "tests/reshard/reshard_case.h"
#include "weights.h"

#define RESHARD_OP_BYTES sizeof(reshard_case)

void reshard_op_make(uint64_t seed, draw_speed speed, void *made);
int reshard_op_edit(void *of, int way); /* see convert_case_edit */
void reshard_op_print(const void *of, char *text, size_t size);
verdict reshard_op_run(bench *at, const void *of, int words);

/* Whether ranks can be on such a device: several emulated ones are of one process. */
bool reshard_op_serves(const char *device);

#endif
