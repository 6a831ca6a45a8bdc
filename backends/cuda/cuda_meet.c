/* Ranks on GPUs wait for each other: backends/meet.h in PTX, by one warp. It is written by hand, so
 * that communicators need no compiler. */
#include "backends/cuda/cuda_device.h"
#include "backends/meet.h"

#include "base/status.h"

#include <string.h>

#define MEET_ENTRY "llrt_meet"

/* Word i of the list, by lane 0. */
#define PUT(i, parameter, offset) \
  "  setp.gt.u64 %p8, %rd25, " #i ";\n" \
  "  @%p8 ld.param.u64 %rd26, [" #parameter "];\n" \
  "  @%p8 st.global.u64 [%rd24+" #offset "], %rd26;\n"

/* The error into a word of the own slots on another pad. */
#define WARN(offset) \
  "  st.release.sys.global.u64 [%rd16+" #offset "], %rd22;\n" \
  "  st.release.sys.global.u64 [%rd17+" #offset "], %rd22;\n"

/* A slot has four words, of which each says by itself which meeting it is of, so that none waits
 * for another on its way: the count's lower 31 bits; bit 31, an error instead; above, 32 bits of
 * the hash, or of an error its kind, 8 bits, and 24 of the rank. Lane l writes, and waits for, word
 * l % 4 of the slots of ranks l / 4, l / 4 + 8, ... What others wait for is told first, before the
 * list and the count are written. */
/* clang-format off */
#define MEET(head, wait, met) \
    head ".address_size 64\n" \
    ".visible .entry " MEET_ENTRY "(\n" \
    "  .param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3,\n" \
    "  .param .u64 p4, .param .u64 p5, .param .u64 p6, .param .u64 p7,\n" \
    "  .param .u64 p8, .param .u64 p9, .param .u64 p10,\n" \
    "  .param .u64 w0, .param .u64 w1, .param .u64 w2, .param .u64 w3,\n" \
    "  .param .u64 w4, .param .u64 w5, .param .u64 w6, .param .u64 w7,\n" \
    "  .param .u64 w8, .param .u64 w9, .param .u64 w10, .param .u64 w11,\n" \
    "  .param .u64 w12, .param .u64 w13, .param .u64 w14, .param .u64 w15)\n" \
    "{\n" \
    "  .reg .pred %p<10>;\n" \
    "  .reg .b32 %r<4>;\n" \
    "  .reg .b64 %rd<40>;\n" \
    "  ld.param.u64 %rd1, [p0];\n" /* the pad */ \
    "  ld.param.u64 %rd2, [p1];\n" /* the table */ \
    "  ld.param.u64 %rd3, [p2];\n" /* rank */ \
    "  ld.param.u64 %rd4, [p3];\n" /* ranks */ \
    "  ld.param.u64 %rd5, [p4];\n" /* the hash */ \
    "  ld.param.u64 %rd6, [p5];\n" \
    "  ld.param.u64 %rd7, [p6];\n"  /* ns */ \
    "  ld.param.u64 %rd9, [p7];\n"  /* a refusal */ \
    "  ld.param.u64 %rd27, [p8];\n" /* the note */ \
    wait "  mov.u32 %r1, %tid.x;\n" \
    "  cvt.u64.u32 %rd8, %r1;\n" \
    "  mov.u64 %rd11, 0;\n" \
    "  setp.eq.u64 %p1, %rd1, 0;\n" \
    "  @%p1 bra TOLD;\n" \
    "  ld.global.u64 %rd10, [%rd1];\n"   /* this meeting's number */ \
    "  ld.global.u64 %rd11, [%rd1+8];\n" /* an error of before */ \
    "  add.s64 %rd10, %rd10, 1;\n" \
    "  setp.eq.s64 %p9, %rd11, 0;\n" \
    "  @%p9 mov.u64 %rd11, %rd9;\n" \
    "  setp.ne.s64 %p2, %rd11, 0;\n" \
    "  @%p2 bra TOLD;\n" \
    /* %rd12: the word */ \
    "  and.b32 %r2, %r1, 2;\n" \
    "  setp.ne.u32 %p3, %r2, 0;\n" \
    "  selp.b64 %rd12, %rd6, %rd5, %p3;\n" \
    "  and.b32 %r2, %r1, 1;\n" \
    "  setp.ne.u32 %p3, %r2, 0;\n" \
    "  @%p3 shr.u64 %rd12, %rd12, 32;\n" \
    "  shl.b64 %rd12, %rd12, 32;\n" \
    "  and.b64 %rd13, %rd10, 2147483647;\n" \
    "  or.b64 %rd12, %rd12, %rd13;\n" \
    /* %rd13: bytes of a pad before it in this meeting's first slot; %rd14: in the own one */ \
    "  and.b64 %rd13, %rd10, 1;\n" \
    "  mul.lo.s64 %rd13, %rd13, %rd4;\n" \
    "  shl.b64 %rd13, %rd13, 5;\n" \
    "  and.b64 %rd14, %rd8, 3;\n" \
    "  shl.b64 %rd14, %rd14, 3;\n" \
    "  add.s64 %rd13, %rd13, %rd14;\n" \
    "  add.s64 %rd13, %rd13, 64;\n" \
    "  shl.b64 %rd14, %rd3, 5;\n" \
    "  add.s64 %rd14, %rd14, %rd13;\n" \
    "  shr.u64 %rd15, %rd8, 2;\n" \
    "TELL:\n" /* ranks %rd15, + 8, ... */ \
    "  setp.ge.u64 %p3, %rd15, %rd4;\n" \
    "  @%p3 bra TOLD;\n" \
    "  shl.b64 %rd16, %rd15, 3;\n" \
    "  add.s64 %rd16, %rd2, %rd16;\n" \
    "  ld.global.u64 %rd17, [%rd16];\n" \
    "  add.s64 %rd17, %rd17, %rd14;\n" \
    "  fence.acq_rel.sys;\n" \
    "  st.relaxed.sys.global.u64 [%rd17], %rd12;\n" \
    "  add.s64 %rd15, %rd15, 8;\n" \
    "  bra TELL;\n" \
    "TOLD:\n" \
    "  bar.warp.sync 0xffffffff;\n" \
    "  setp.ne.u32 %p1, %r1, 0;\n" \
    "  @%p1 bra LISTED;\n" \
    "  ld.param.u64 %rd24, [p9];\n" \
    "  ld.param.u64 %rd25, [p10];\n" \
    PUT(0, w0, 0) PUT(1, w1, 8) PUT(2, w2, 16) PUT(3, w3, 24) \
    PUT(4, w4, 32) PUT(5, w5, 40) PUT(6, w6, 48) PUT(7, w7, 56) \
    PUT(8, w8, 64) PUT(9, w9, 72) PUT(10, w10, 80) PUT(11, w11, 88) \
    PUT(12, w12, 96) PUT(13, w13, 104) PUT(14, w14, 112) PUT(15, w15, 120) \
    "  setp.eq.u64 %p1, %rd1, 0;\n" \
    "  @%p1 bra LISTED;\n" \
    "  st.global.u64 [%rd1], %rd10;\n" \
    "LISTED:\n" \
    "  setp.eq.u64 %p1, %rd1, 0;\n" \
    "  @%p1 bra DONE;\n" \
    "  setp.ne.s64 %p2, %rd11, 0;\n" \
    "  @%p2 bra WAITED;\n" \
    "  mov.u64 %rd20, 0;\n" /* when it began to wait; 0: not long ago */ \
    "  mov.u32 %r3, 0;\n"   /* looks */ \
    "  shr.u64 %rd15, %rd8, 2;\n" \
    "NEXT:\n" \
    "  setp.ge.u64 %p3, %rd15, %rd4;\n" \
    "  @%p3 bra WAITED;\n" \
    "  shl.b64 %rd16, %rd15, 5;\n" \
    "  add.s64 %rd16, %rd16, %rd13;\n" \
    "  add.s64 %rd16, %rd16, %rd1;\n" \
    "POLL:\n" \
    "  ld.acquire.sys.global.u64 %rd17, [%rd16];\n" \
    "  xor.b64 %rd18, %rd17, %rd12;\n" \
    "  cvt.u32.u64 %r2, %rd18;\n" \
    "  setp.eq.u32 %p4, %r2, 0;\n" \
    "  @%p4 bra CAME;\n" \
    "  and.b64 %rd19, %rd17, 2147483648;\n" \
    "  setp.ne.s64 %p5, %rd19, 0;\n" \
    "  @%p5 bra HEARD;\n" \
    "  add.u32 %r3, %r3, 1;\n" /* the timer is slow: it is read now and then */ \
    "  and.b32 %r2, %r3, 15;\n" \
    "  setp.ne.u32 %p6, %r2, 0;\n" \
    "  @%p6 bra POLL;\n" \
    "  mov.u64 %rd21, %globaltimer;\n" \
    "  setp.eq.s64 %p6, %rd20, 0;\n" \
    "  @%p6 mov.u64 %rd20, %rd21;\n" \
    "  sub.s64 %rd21, %rd21, %rd20;\n" \
    "  setp.le.u64 %p6, %rd21, %rd7;\n" \
    "  @%p6 bra POLL;\n" \
    "  or.b64 %rd11, %rd15, 4294967296;\n" /* MEET_LATE */ \
    "  bra WAITED;\n" \
    "HEARD:\n" \
    "  shr.u64 %rd17, %rd17, 32;\n" \
    "  shr.u64 %rd11, %rd17, 24;\n" \
    "  shl.b64 %rd11, %rd11, 32;\n" \
    "  and.b64 %rd17, %rd17, 16777215;\n" \
    "  or.b64 %rd11, %rd11, %rd17;\n" \
    "  bra WAITED;\n" \
    "CAME:\n" \
    "  setp.ne.s64 %p7, %rd18, 0;\n" \
    "  @%p7 bra DIFFERS;\n" \
    "  add.s64 %rd15, %rd15, 8;\n" \
    "  bra NEXT;\n" \
    "DIFFERS:\n" \
    "  or.b64 %rd11, %rd15, 8589934592;\n" /* MEET_DIFFERS */ \
    "WAITED:\n"                            /* each lane with its error in %rd11 */ \
    met "  setp.eq.s64 %p2, %rd11, 0;\n" \
    "  @%p2 bra DONE;\n" \
    "  st.global.u64 [%rd1+8], %rd11;\n" \
    "  setp.eq.u64 %p1, %rd27, 0;\n" \
    "  @%p1 bra NOTED;\n" \
    "  st.release.sys.global.u64 [%rd27], %rd11;\n" \
    "NOTED:\n" \
    "  shr.u64 %rd22, %rd11, 32;\n" \
    "  shl.b64 %rd22, %rd22, 24;\n" \
    "  and.b64 %rd23, %rd11, 16777215;\n" \
    "  or.b64 %rd22, %rd22, %rd23;\n" \
    "  shl.b64 %rd22, %rd22, 32;\n" \
    "  or.b64 %rd22, %rd22, 2147483648;\n" \
    "  shl.b64 %rd23, %rd3, 5;\n" /* the own slots: 64 + rank * 32, and ranks * 32 behind */ \
    "  add.s64 %rd23, %rd23, 64;\n" \
    "  shl.b64 %rd24, %rd4, 5;\n" \
    "  mov.u64 %rd14, 0;\n" \
    "WARN:\n" \
    "  setp.ge.u64 %p3, %rd14, %rd4;\n" \
    "  @%p3 bra DONE;\n" \
    "  shl.b64 %rd15, %rd14, 3;\n" \
    "  add.s64 %rd15, %rd2, %rd15;\n" \
    "  ld.global.u64 %rd16, [%rd15];\n" \
    "  add.s64 %rd16, %rd16, %rd23;\n" \
    "  add.s64 %rd17, %rd16, %rd24;\n" \
    WARN(0) WARN(8) WARN(16) WARN(24) \
    "  add.s64 %rd14, %rd14, 1;\n" \
    "  bra WARN;\n" \
    "DONE:\n" \
    "  ret;\n" \
    "}\n"
/* clang-format on */

static const char meet_ptx[] = MEET(".version 7.0\n.target sm_80\n", "", "");

/* Launched early (backend_launch.early): what is before it on the stream is waited for here, and
 * its writes to other devices' memory are performed then. Blocks behind it may start once all ranks
 * have come, not sooner: they would keep those from starting for which another rank waits. */
static const char early_ptx[] =
    MEET(".version 7.8\n.target sm_90\n", "  griddepcontrol.wait;\n",
         "  bar.warp.sync 0xffffffff;\n  griddepcontrol.launch_dependents;\n");

llrt_status llrt_cuda_meet_load(llrt_device *device, backend_module **module) {
  backend_code code = {.data = meet_ptx, .size = sizeof meet_ptx - 1, .entry = MEET_ENTRY};
  if (cuda_device_of(device)->launches_early) {
    code.data = early_ptx;
    code.size = sizeof early_ptx - 1;
  }
  return llrt_cuda_load(device, &code, module);
}

llrt_status llrt_cuda_meet(llrt_device *device, const backend_module *module,
                           const backend_meet *meet, void *stream) {
  uint64_t args[sizeof *meet / sizeof(uint64_t)];
  memcpy(args, meet, sizeof args);
  const backend_launch launch = {.blocks = 1,
                                 .threads = 32,
                                 .n_args = sizeof args / sizeof *args,
                                 .args = args,
                                 .early = true};
  return llrt_cuda_launch(device, module, &launch, stream);
}

/* Addresses of host memory are the same on the device (unified addressing, on every 64-bit Linux).
 */
llrt_status llrt_cuda_note_create(llrt_device *base, uint64_t **note) {
  const cuda_device *device = cuda_device_of(base);
  void *memory = NULL;
  int mode;
  *note = NULL;
  if (!device->driver.cuMemHostAlloc || !device->driver.cuMemFreeHost) return LLRT_OK;
  LLRT_TRY(llrt_cuda_enter_relaxed(device, &mode));
  llrt_status status =
      CUDA_CALL(&device->driver, cuMemHostAlloc, &memory, sizeof **note, CUDA_HOST_FOR_KERNELS);
  status = llrt_cuda_leave_relaxed(device, mode, status);
  if (status != LLRT_OK && memory) device->driver.cuMemFreeHost(memory);
  if (status != LLRT_OK) return status;
  *note = memory;
  **note = 0;
  return LLRT_OK;
}

void llrt_cuda_note_destroy(llrt_device *base, uint64_t *note) {
  const cuda_device *device = cuda_device_of(base);
  int mode;
  if (llrt_cuda_enter_relaxed(device, &mode) != LLRT_OK) return;
  device->driver.cuMemFreeHost(note);
  llrt_cuda_leave_relaxed(device, mode, LLRT_OK);
}

llrt_status llrt_cuda_reach_peer(llrt_device *base, llrt_device *other) {
  const cuda_device *device = cuda_device_of(base), *peer = cuda_device_of(other);
  const cuda_driver *driver = &device->driver;
  if (device->ordinal == peer->ordinal) return LLRT_OK;
  int can = 0;
  if (!driver->cuDeviceCanAccessPeer || !driver->cuCtxEnablePeerAccess)
    return llrt_error(LLRT_UNSUPPORTED, "this driver knows of no peers");
  LLRT_TRY(CUDA_CALL(driver, cuDeviceCanAccessPeer, &can, device->ordinal, peer->ordinal));
  if (!can)
    return llrt_error(LLRT_UNSUPPORTED, "%s cannot reach the memory of %s", base->info.name,
                      other->info.name);
  LLRT_TRY(llrt_cuda_enter(device));
  cuda_result result = driver->cuCtxEnablePeerAccess(peer->context, 0);
  if (result == CUDA_RESULT_PEER_ENABLED) result = 0;
  return llrt_cuda_leave(device, llrt_cuda_check(driver, result, "cuCtxEnablePeerAccess"));
}
