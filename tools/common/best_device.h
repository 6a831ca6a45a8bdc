/* Choosing a device for a program that was given none. */
#ifndef LLRT_TOOLS_COMMON_BEST_DEVICE_H
#define LLRT_TOOLS_COMMON_BEST_DEVICE_H

#include <llrt/device.h>

/* Opens the device `name`, or, where it is NULL, the first GPU that works, else the host. `target`:
 * what kernels are compiled for, as in llrt_device_params; NULL: the device's own. Ownership:
 * llrt_device_close. Errors: those of llrt_device_open. */
llrt_status best_device_open(llrt_context *context, const char *name, const char *target,
                             llrt_device **device);

#endif
