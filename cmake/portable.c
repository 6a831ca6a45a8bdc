/* What the static libraries ask for and no old or bare distribution has. Hidden, so that only
 * libllrt-jit.so sees these. glibc 2.34 is the oldest C library aimed at. */
#include <stdint.h>
#include <sys/random.h>

/* glibc 2.36. LLVM names temporary files with it. */
uint32_t arc4random(void);
uint32_t arc4random(void) {
  uint32_t value = 0;
  while (getrandom(&value, sizeof value, 0) != sizeof value) continue;
  return value;
}

/* glibc 2.35. The unwinder looks for a frame's tables with it. LLVM is built without exceptions, so
 * a throw (no memory left) ends the process either way; finding nothing is right. */
int _dl_find_object(void *address, void *result);
int _dl_find_object(void *address, void *result) {
  (void)address;
  (void)result;
  return -1;
}

/* Link-time optimisation lists Polly among its plug-ins. lld runs it for bitcode only, which it
 * never gets from us. */
void polly_plugin(void) __asm__("_Z18getPollyPluginInfov");
void polly_plugin(void) { __builtin_trap(); }
