/* Contexts, the host device, memory and events; bad input to each. */
#include <llrt/llrt.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static llrt_context *context;
static llrt_device *host;

static void setup(void) {
  cr_assert_eq(llrt_context_create(NULL, &context), LLRT_OK);
  cr_assert_eq(llrt_device_open(context, "host", NULL, &host), LLRT_OK, "%s", llrt_last_error());
}

static void teardown(void) {
  llrt_device_close(&host);
  llrt_context_destroy(&context);
}

TestSuite(context, .init = setup, .fini = teardown);

#define EXPECT_INVALID(call) cr_expect_eq(call, LLRT_INVALID_ARGUMENT)

Test(context, version_is_the_headers) {
  char version[32];
  snprintf(version, sizeof version, "%d.%d.%d", LLRT_VERSION_MAJOR, LLRT_VERSION_MINOR,
           LLRT_VERSION_PATCH);
  cr_expect_str_eq(llrt_version(), version);
}

static void *refuse(void *user, llrt_device *device, size_t bytes, void *stream) {
  (void)user, (void)device, (void)bytes, (void)stream;
  return NULL;
}

Test(context, bad_params) {
  EXPECT_INVALID(llrt_context_create(NULL, NULL));
  llrt_context *other = context;
  llrt_context_params params = {.threads = -1};
  EXPECT_INVALID(llrt_context_create(&params, &other));
  cr_expect_null(other);
  params = (llrt_context_params){.allocator.allocate = refuse};
  EXPECT_INVALID(llrt_context_create(&params, &other));
}

Test(context, destroying_nothing) {
  llrt_context *none = NULL;
  llrt_device *no_device = NULL;
  llrt_event *no_event = NULL;
  llrt_op *no_op = NULL;
  char *no_bytes = NULL;
  llrt_context_destroy(NULL);
  llrt_context_destroy(&none);
  llrt_device_close(NULL);
  llrt_device_close(&no_device);
  llrt_event_destroy(NULL);
  llrt_event_destroy(&no_event);
  llrt_op_destroy(NULL);
  llrt_op_destroy(&no_op);
  llrt_buffer_free(NULL);
  llrt_buffer_free(&no_bytes);
}

Test(context, device_names) {
  static const char *const bad[] = {"",         "gpu",     "host:",           "host:x",
                                    "cuda:-1",  "cuda:0x", "cuda 0",          "hostess",
                                    "cuda:0:0", "hip:",    "cuda:99999999999"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    llrt_device *device = host;
    EXPECT_INVALID(llrt_device_open(context, bad[i], NULL, &device));
    cr_expect_null(device);
    cr_expect(strstr(llrt_last_error(), "device named"), "%s", llrt_last_error());
  }
  llrt_device *device;
  EXPECT_INVALID(llrt_device_open(NULL, "host", NULL, &device));
  EXPECT_INVALID(llrt_device_open(context, NULL, NULL, &device));
  EXPECT_INVALID(llrt_device_open(context, "host", NULL, NULL));
  cr_expect_eq(llrt_device_open(context, "host:1", NULL, &device), LLRT_UNAVAILABLE);
}

Test(context, host_targets) {
  llrt_device_info info = {0};
  cr_assert_eq(llrt_device_get_info(host, &info), LLRT_OK);
  cr_expect_str_eq(info.name, "host");
  cr_expect(info.compute_units >= 1);
  cr_expect(info.memory_bytes > 0);
  llrt_device_params params = {.target = info.target};
  llrt_device *same;
  cr_expect_eq(llrt_device_open(context, "host:0", &params, &same), LLRT_OK);
  cr_expect_neq(same, host);
  llrt_device_close(&same);
  params.target = "sm_80";
  cr_expect_eq(llrt_device_open(context, "host", &params, &same), LLRT_UNSUPPORTED);
  params.target = "pentium";
  EXPECT_INVALID(llrt_device_open(context, "host", &params, &same));
  EXPECT_INVALID(llrt_device_get_info(NULL, &info));
  EXPECT_INVALID(llrt_device_get_info(host, NULL));
}

static void count_hosts(void *user, const char *name, const char *why) {
  int *hosts = user;
  if (strcmp(name, "host") == 0 && !why) ++*hosts;
}

Test(context, enumerate_ends_with_the_host) {
  int hosts = 0;
  cr_expect_eq(llrt_device_enumerate(context, &hosts, count_hosts), LLRT_OK);
  cr_expect_eq(hosts, 1);
  EXPECT_INVALID(llrt_device_enumerate(NULL, NULL, count_hosts));
  EXPECT_INVALID(llrt_device_enumerate(context, NULL, NULL));
}

Test(context, memory) {
  void *memory = &memory;
  cr_assert_eq(llrt_memory_allocate(host, 1000, &memory), LLRT_OK);
  cr_expect_eq((uintptr_t)memory % 256, 0);
  cr_expect_eq(llrt_memory_set(host, memory, 0x5a, 1000, NULL), LLRT_OK);
  unsigned char copy[1000];
  cr_expect_eq(llrt_memory_copy(host, copy, memory, 1000, LLRT_COPY_FROM_DEVICE, NULL), LLRT_OK);
  cr_expect_eq(copy[999], 0x5a);
  cr_expect_eq(llrt_stream_synchronize(host, NULL), LLRT_OK);
  cr_expect_eq(llrt_memory_free(host, memory), LLRT_OK);
  cr_expect_eq(llrt_memory_free(host, NULL), LLRT_OK);
}

Test(context, memory_with_bad_arguments) {
  void *memory = host;
  char bytes[2] = "a";
  int stream;
  EXPECT_INVALID(llrt_memory_allocate(NULL, 1, &memory));
  cr_expect_null(memory);
  EXPECT_INVALID(llrt_memory_allocate(host, 0, &memory));
  EXPECT_INVALID(llrt_memory_allocate(host, 1, NULL));
  cr_expect_eq(llrt_memory_allocate(host, SIZE_MAX, &memory), LLRT_OUT_OF_MEMORY);
  EXPECT_INVALID(llrt_memory_free(NULL, bytes));
  EXPECT_INVALID(llrt_memory_copy(host, NULL, bytes, 1, LLRT_COPY_TO_DEVICE, NULL));
  EXPECT_INVALID(llrt_memory_copy(host, bytes, NULL, 1, LLRT_COPY_TO_DEVICE, NULL));
  EXPECT_INVALID(llrt_memory_copy(NULL, bytes, bytes + 1, 1, LLRT_COPY_TO_DEVICE, NULL));
  EXPECT_INVALID(llrt_memory_copy(host, bytes, bytes + 1, 1, (llrt_copy_kind)3, NULL));
  EXPECT_INVALID(llrt_memory_copy(host, bytes, bytes + 1, 1, LLRT_COPY_TO_DEVICE, &stream));
  EXPECT_INVALID(llrt_memory_set(host, NULL, 0, 1, NULL));
  EXPECT_INVALID(llrt_memory_set(NULL, bytes, 0, 1, NULL));
  EXPECT_INVALID(llrt_memory_set(host, bytes, 0, 1, &stream));
  EXPECT_INVALID(llrt_stream_synchronize(NULL, NULL));
  EXPECT_INVALID(llrt_stream_synchronize(host, &stream));
  cr_expect_eq(bytes[0], 'a');
}

static double monotonic_microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

Test(context, events) {
  llrt_event *start, *stop;
  double microseconds = -1;
  const struct timespec pause = {.tv_nsec = 2000000};
  double began = monotonic_microseconds();
  cr_assert_eq(llrt_event_create(host, &start), LLRT_OK);
  cr_assert_eq(llrt_event_create(host, &stop), LLRT_OK);
  cr_expect_eq(llrt_event_record(start, NULL), LLRT_OK);
  EXPECT_INVALID(llrt_event_elapsed(start, stop, &microseconds));
  nanosleep(&pause, NULL);
  cr_expect_eq(llrt_event_record(stop, NULL), LLRT_OK);
  cr_expect_eq(llrt_event_elapsed(start, stop, &microseconds), LLRT_OK);
  cr_expect_geq(microseconds, (double)pause.tv_nsec / 1000, "%f", microseconds);
  cr_expect_leq(microseconds, monotonic_microseconds() - began, "%f", microseconds);
  EXPECT_INVALID(llrt_event_elapsed(NULL, stop, &microseconds));
  EXPECT_INVALID(llrt_event_elapsed(start, stop, NULL));
  EXPECT_INVALID(llrt_event_record(NULL, NULL));
  EXPECT_INVALID(llrt_event_record(start, &microseconds));
  EXPECT_INVALID(llrt_event_create(host, NULL));
  llrt_event_destroy(&start);
  llrt_event_destroy(&stop);
  start = (llrt_event *)&microseconds;
  EXPECT_INVALID(llrt_event_create(NULL, &start));
  cr_expect_null(start);
}

Test(context, cache_stats_start_at_zero) {
  llrt_cache_stats stats = {.kernels = 1, .compiles = 1, .hits = 1};
  cr_expect_eq(llrt_context_get_cache_stats(context, &stats), LLRT_OK);
  cr_expect_eq(stats.kernels + stats.compiles + stats.hits, 0);
  EXPECT_INVALID(llrt_context_get_cache_stats(NULL, &stats));
  EXPECT_INVALID(llrt_context_get_cache_stats(context, NULL));
}
