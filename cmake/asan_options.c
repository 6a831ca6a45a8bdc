/* Linked into every program of an address-sanitized build.
 *
 * GCC 12's leak checker takes a thread-local block of a library opened at run time for one of
 * glibc 2.19 whenever its address is 16 modulo 4096, follows what it believes to be a pointer in
 * its header, and dies ("Tracer caught signal 11"): where allocations lie decides it, so one
 * program of 64 or so, and always the same. Not watching those blocks avoids it. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *__asan_default_options(void) { return "intercept_tls_get_addr=0"; }
