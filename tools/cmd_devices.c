#include "tools/tool.h"

#include <llrt/llrt.h>

#include <stdio.h>

/* One line a device: what it is, or why it cannot be used. */
static void print_device(void *user, const char *name, const char *why) {
  llrt_device *device = NULL;
  llrt_device_info info = {0};
  if (!why && (llrt_device_open(user, name, NULL, &device) != LLRT_OK ||
               llrt_device_get_info(device, &info) != LLRT_OK))
    why = tool_library_says();
  if (why) printf("%-8s not usable: %s\n", name, why);
  else
    printf("%-8s %-10s %s, %d units, memory %.1f GiB, L2 %.1f MiB\n", name, info.target,
           info.description, info.compute_units, (double)info.memory_bytes / (1 << 30),
           (double)info.l2_bytes / (1 << 20));
  llrt_device_close(&device);
}

static int run(const options *given) {
  (void)given;
  llrt_context *context;
  if (llrt_context_create(NULL, &context) != LLRT_OK) return tool_refuse_library(NULL);
  int code = TOOL_DONE;
  if (llrt_device_enumerate(context, context, print_device) != LLRT_OK)
    code = tool_refuse_library(NULL);
  llrt_context_destroy(&context);
  return code;
}

static const option_spec table[] = {{0}};

const command cmd_devices = {
    .name = "devices",
    .summary = "list the devices of this machine",
    .synopsis = "",
    .text =
        "Lists every device that llrt can open here, the host last: its name for --device, the\n"
        "target that kernels are compiled for, the vendor's description, compute units (SMs, CUs\n"
        "or threads), memory and L2 cache. A vendor without an installed driver has no line.",
    .example = "  llrt devices",
    .option = table,
    .run = run,
};
