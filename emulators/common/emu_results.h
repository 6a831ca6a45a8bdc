/* Results of driver calls. CUresult and hipError_t have the same numbers for all of these (cuda.h
 * of CUDA 13, hip_runtime_api.h of ROCm 6); so one list serves both. */
#ifndef LLRT_EMULATORS_EMU_RESULTS_H
#define LLRT_EMULATORS_EMU_RESULTS_H

/* X(name here, number, CUDA's name, HIP's name, what it says) */
#define EMU_RESULTS(X) \
  X(INVALID_VALUE, 1, "INVALID_VALUE", "InvalidValue", "invalid argument") \
  X(OUT_OF_MEMORY, 2, "OUT_OF_MEMORY", "OutOfMemory", "out of memory") \
  X(INVALID_DEVICE, 101, "INVALID_DEVICE", "InvalidDevice", "invalid device ordinal") \
  X(INVALID_IMAGE, 200, "INVALID_IMAGE", "InvalidImage", "device kernel image is invalid") \
  X(INVALID_CONTEXT, 201, "INVALID_CONTEXT", "InvalidContext", "invalid device context") \
  X(INVALID_HANDLE, 400, "INVALID_HANDLE", "InvalidHandle", "invalid resource handle") \
  X(ILLEGAL_STATE, 401, "ILLEGAL_STATE", "IllegalState", \
    "the operation cannot be performed in the present state") \
  X(NOT_FOUND, 500, "NOT_FOUND", "NotFound", "named symbol not found") \
  X(NOT_READY, 600, "NOT_READY", "NotReady", "device not ready") \
  X(ILLEGAL_ADDRESS, 700, "ILLEGAL_ADDRESS", "IllegalAddress", NULL) \
  X(CONTEXT_IS_DESTROYED, 709, "CONTEXT_IS_DESTROYED", "ContextIsDestroyed", \
    "context is destroyed") \
  X(LAUNCH_FAILED, 719, "LAUNCH_FAILED", "LaunchFailure", NULL) \
  X(NOT_SUPPORTED, 801, "NOT_SUPPORTED", "NotSupported", "operation not supported") \
  X(CAPTURE_UNSUPPORTED, 900, "STREAM_CAPTURE_UNSUPPORTED", "StreamCaptureUnsupported", \
    "operation not permitted when stream is capturing") \
  X(CAPTURE_INVALIDATED, 901, "STREAM_CAPTURE_INVALIDATED", "StreamCaptureInvalidated", \
    "operation failed due to a previous error during capture") \
  X(CAPTURE_MERGE, 902, "STREAM_CAPTURE_MERGE", "StreamCaptureMerge", \
    "operation would result in a merge of separate capture sequences") \
  X(CAPTURE_UNMATCHED, 903, "STREAM_CAPTURE_UNMATCHED", "StreamCaptureUnmatched", \
    "capture was not ended in the same stream as it began") \
  X(CAPTURE_UNJOINED, 904, "STREAM_CAPTURE_UNJOINED", "StreamCaptureUnjoined", \
    "capturing stream has unjoined work") \
  X(CAPTURE_ISOLATION, 905, "STREAM_CAPTURE_ISOLATION", "StreamCaptureIsolation", \
    "dependency created on uncaptured work in another stream") \
  X(CAPTURE_IMPLICIT, 906, "STREAM_CAPTURE_IMPLICIT", "StreamCaptureImplicit", \
    "operation would make the legacy stream depend on a capturing blocking stream") \
  X(CAPTURED_EVENT, 907, "CAPTURED_EVENT", "CapturedEvent", \
    "operation not permitted on an event last recorded in a capturing stream") \
  X(CAPTURE_WRONG_THREAD, 908, "STREAM_CAPTURE_WRONG_THREAD", "StreamCaptureWrongThread", \
    "attempt to terminate a thread-local capture sequence from another thread")

#define EMU_RESULT_NUMBER(name, number, cuda, hip, text) EMU_##name = number,
typedef enum emu_result { EMU_SUCCESS = 0, EMU_RESULTS(EMU_RESULT_NUMBER) } emu_result;
#undef EMU_RESULT_NUMBER

#endif
