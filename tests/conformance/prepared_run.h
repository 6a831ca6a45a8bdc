/* Operations with a workspace, run as a prepared object. */
#ifndef LLRT_TESTS_CONFORMANCE_PREPARED_RUN_H
#define LLRT_TESTS_CONFORMANCE_PREPARED_RUN_H

#include "area.h"

#include "runtime/described.h"

/* Prepares the description with coarse promises of its tensors, saves and loads it in between where
 * `reload`, and runs it twice with one workspace, made here, that both must leave zero.
 * desc->promises are filled. */
bool prepared_run_twice(const area_owner *owner, op_description *desc, bool reload,
                        area *workspace);

#endif
