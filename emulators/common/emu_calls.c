/* See emu_calls.h and emu_control.h. */
#include "emulators/common/emu_calls.h"

#include "emulators/common/emu_control.h"

#include <ctype.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static emu_call *calls;

static atomic_bool failing;
static struct {
  char name[64];
  int code, after;
} failure;

/* Whether `name` is `wanted`, or a version of it ("_v2"). */
static bool is_name(const char *name, const char *wanted) {
  size_t length = strlen(wanted);
  if (strncmp(name, wanted, length) != 0) return false;
  const char *rest = name + length;
  return *rest == 0 || (rest[0] == '_' && rest[1] == 'v' && isdigit((unsigned char)rest[2]));
}

static void remember(emu_call *call) {
  pthread_mutex_lock(&mutex);
  if (!atomic_exchange(&call->known, true)) {
    call->next = calls;
    calls = call;
  }
  pthread_mutex_unlock(&mutex);
}

static int asked_failure(const emu_call *call) {
  int code = 0;
  pthread_mutex_lock(&mutex);
  if (is_name(call->name, failure.name) && failure.after-- == 0) {
    code = failure.code;
    atomic_store(&failing, false);
  }
  pthread_mutex_unlock(&mutex);
  return code;
}

int emu_call_enter(emu_call *call) {
  if (!atomic_load(&call->known)) remember(call);
  atomic_fetch_add(&call->count, 1);
  return atomic_load(&failing) ? asked_failure(call) : 0;
}

unsigned long llrt_emu_calls(const char *name) {
  unsigned long sum = 0;
  pthread_mutex_lock(&mutex);
  for (emu_call *call = calls; call; call = call->next) {
    if (is_name(call->name, name)) sum += atomic_load(&call->count);
  }
  pthread_mutex_unlock(&mutex);
  return sum;
}

void llrt_emu_calls_reset(void) {
  pthread_mutex_lock(&mutex);
  for (emu_call *call = calls; call; call = call->next) atomic_store(&call->count, 0);
  pthread_mutex_unlock(&mutex);
}

void llrt_emu_fail(const char *name, int code, int after) {
  pthread_mutex_lock(&mutex);
  snprintf(failure.name, sizeof failure.name, "%s", name ? name : "");
  failure.code = code;
  failure.after = after;
  atomic_store(&failing, name != NULL);
  pthread_mutex_unlock(&mutex);
}
