#include "observer.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/status.h"
#include "jit/compile/compile.h"
#include "jit/emit/emit.h"
#include "jit/jit.h"
#include "plan_dump.h"

#include <llvm-c/Core.h>
#include <llvm/Config/llvm-config.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
  pthread_mutex_t mutex;
  digest_sums sums;
} seen = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* How far a compile goes: LLRT_DIGEST_UNTIL=plan or ir, else to the object. What is made then is no
 * kernel. */
typedef enum extent { UNTIL_PLAN, UNTIL_IR, UNTIL_OBJECT } extent;

static extent asked_extent(void) {
  const char *until = getenv("LLRT_DIGEST_UNTIL");
  if (until && strcmp(until, "plan") == 0) return UNTIL_PLAN;
  return until && strcmp(until, "ir") == 0 ? UNTIL_IR : UNTIL_OBJECT;
}

/* The sum with what comes behind it. */
static uint64_t with(uint64_t sum, const void *bytes, size_t size) {
  uint64_t pair[2] = {sum, llrt_hash_bytes(bytes, size).low};
  return llrt_hash_bytes(pair, sizeof pair).low;
}

static llrt_status note_plan(const plan_kernel *kernel) {
  llrt_text text;
  llrt_text_init(&text);
  plan_dump(kernel, &text);
  llrt_status status = llrt_text_status(&text);
  if (status == LLRT_OK) {
    const char *file = getenv("LLRT_DIGEST_DUMP");
    FILE *dump = file ? fopen(file, "a") : NULL;
    if (dump) fprintf(dump, "%s\n", text.data);
    if (dump) fclose(dump);
    seen.sums.kernels++;
    seen.sums.plan = with(seen.sums.plan, text.data, text.length);
  }
  llrt_text_fini(&text);
  return status;
}

static void note_ir(LLVMModuleRef module) {
  char *text = LLVMPrintModuleToString(module);
  seen.sums.ir = with(seen.sums.ir, text, strlen(text));
  LLVMDisposeMessage(text);
}

static llrt_status nothing(llrt_jit_result *result) {
  result->data = calloc(1, 2);
  result->size = 1;
  return result->data ? LLRT_OK : LLRT_OUT_OF_MEMORY;
}

static llrt_status compile_emitted(LLVMContextRef context, const plan_kernel *kernel,
                                   llrt_emit emit, llrt_jit_result *result) {
  LLVMModuleRef module = NULL;
  llrt_status status =
      jit_emit_kernel(kernel, context, &module, result->message, sizeof result->message);
  if (status == LLRT_OK) note_ir(module);
  if (status == LLRT_OK && asked_extent() == UNTIL_IR) status = nothing(result);
  else if (status == LLRT_OK) status = jit_compile_module(module, &kernel->target, emit, result);
  if (status == LLRT_OK && asked_extent() == UNTIL_OBJECT)
    seen.sums.object = with(seen.sums.object, result->data, result->size);
  if (module) LLVMDisposeModule(module);
  return status;
}

static llrt_status observed_compile(const plan_kernel *kernel, llrt_emit emit,
                                    llrt_jit_result *result) {
  memset(result, 0, sizeof *result);
  LLVMContextRef context = LLVMContextCreate();
  pthread_mutex_lock(&seen.mutex);
  llrt_status status = note_plan(kernel);
  if (status == LLRT_OK)
    status = asked_extent() == UNTIL_PLAN ? nothing(result)
                                          : compile_emitted(context, kernel, emit, result);
  pthread_mutex_unlock(&seen.mutex);
  LLVMContextDispose(context);
  return status;
}

static void release(llrt_jit_result *result) {
  free(result->data);
  memset(result, 0, sizeof *result);
}

static const llrt_jit_interface interface = {
    .version = LLRT_JIT_VERSION,
    .llvm_version = LLVM_VERSION_STRING,
    .compile = observed_compile,
    .release = release,
};

LLRT_API const llrt_jit_interface *llrt_jit_get_interface(void) { return &interface; }

LLRT_API llrt_digest_take_fn llrt_digest_take;
LLRT_API llrt_digest_llvm_fn llrt_digest_llvm;

void llrt_digest_take(digest_sums *sums) {
  pthread_mutex_lock(&seen.mutex);
  *sums = seen.sums;
  seen.sums = (digest_sums){0};
  pthread_mutex_unlock(&seen.mutex);
}

const char *llrt_digest_llvm(void) {
  return getenv("LLRT_EMIT_LOCATIONS") ? LLVM_VERSION_STRING "+lines" : LLVM_VERSION_STRING;
}

LLRT_API void llrt_digest_fail(int kinds, int64_t n, int later);
LLRT_API int64_t llrt_digest_asked(void);

void llrt_digest_fail(int kinds, int64_t n, int later) { memory_fail(kinds, n, later); }

int64_t llrt_digest_asked(void) { return memory_asked(); }
