/* What saved bytes are for, told without loading them. */
#include "base/memory.h"
#include "base/params.h"
#include "base/status.h"
#include "runtime/context.h"
#include "runtime/kernel_bytes.h"

#include <llrt/llrt.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(((llrt_kernel_info *)0)->target) == sizeof(((kernel_image *)0)->target),
               "llrt_kernel_info changed");

static void count_kernels(const kernel_image *image, llrt_kernel_info *info) {
  info->n_kernels = image->n_variants;
  for (int i = 0; i < image->n_variants; i++) {
    const kernel_variant *variant = &image->variant[i];
    if (!variant->code) continue;
    info->n_compiled++;
    if (variant->linked) info->capability = variant->capability;
    if (variant->launch.shared_bytes > info->shared_bytes)
      info->shared_bytes = variant->launch.shared_bytes;
  }
}

/* Fills `why` where the device cannot run what info tells of. */
static void compare(const llrt_device *device, llrt_kernel_info *info) {
  const plan_target *own = &device->target;
  if (strcmp(info->target, own->name) != 0)
    snprintf(info->why, sizeof info->why, "the kernel is for %s, %s runs %s", info->target,
             device->info.name, own->name);
  else if (info->shared_bytes > own->facts.shared_bytes)
    snprintf(info->why, sizeof info->why,
             "the kernel's blocks take %d bytes of shared memory, and those of %s have %d",
             info->shared_bytes, device->info.name, own->facts.shared_bytes);
}

static llrt_status read_info(const void *buffer, size_t size, const llrt_device *device,
                             llrt_kernel_info *info) {
  kernel_head head;
  LLRT_TRY(llrt_kernel_head_read(buffer, size, &head));
  info->format = head.format;
  memcpy(info->version, head.version, sizeof info->version);
  if (!llrt_kernel_format_is_own(&head)) {
    snprintf(info->why, sizeof info->why,
             "the kernel has format %lld (llrt %s), which llrt %s does not read",
             (long long)head.format, head.version, llrt_version());
    return LLRT_OK;
  }
  kernel_image *image = memory_new(sizeof *image);
  if (!image) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a kernel's description");
  llrt_status status = llrt_kernel_bytes_read(buffer, size, image);
  if (status == LLRT_OK) {
    memcpy(info->target, image->target, sizeof info->target);
    info->kind = image->desc.kind;
    info->n_tensors = image->set.n;
    count_kernels(image, info);
    if (device) compare(device, info);
    info->fits = info->why[0] == 0;
    llrt_kernel_image_fini(image);
  }
  free(image);
  return status;
}

llrt_status llrt_kernel_inspect(const void *buffer, size_t size, const llrt_device *device,
                                llrt_kernel_info *info) {
  LLRT_ENTRY();
  LLRT_REQUIRE(info, "info is NULL");
  static const llrt_kernel_info none;
  llrt_kernel_info read = {0};
  LLRT_TRY(LLRT_PARAMS_WRITE(llrt_kernel_info, info, &none));
  LLRT_REQUIRE(buffer, "buffer is NULL");
  LLRT_TRY(read_info(buffer, size, device, &read));
  return LLRT_PARAMS_WRITE(llrt_kernel_info, info, &read);
}
