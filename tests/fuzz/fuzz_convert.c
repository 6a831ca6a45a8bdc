/* Bytes as a conversion: a shape, element types and two storages, run on the device that LLRT_FUZZ_DEVICE names (the
 * host, unless said) and compared byte for byte with the conformance suite's reference. Storages that the shape does
 * not suit are no case; what llrt refuses without need is a finding. With LLRT_FUZZ_KEEP_ON set it goes on after
 * one. */
#include "tests/fuzz/convert_case.h"

static llrt_device *open_device(void) {
  static llrt_context *context;
  static llrt_device *device;
  const char *name = getenv("LLRT_FUZZ_DEVICE");
  if (device) return device;
  FUZZ_CHECK(llrt_context_create(NULL, &context) == LLRT_OK);
  FUZZ_CHECK(llrt_device_open(context, name && *name ? name : "host", NULL, &device) == LLRT_OK);
  return device;
}

static void print_case(const conformance_case *tested, char text[2][STORAGE_TEXT_BYTES], const char *why) {
  fprintf(stderr, "%s", llrt_dtype_name(tested->dtype));
  if (tested->to) fprintf(stderr, " to %s", llrt_dtype_name(tested->to));
  if (tested->n_maps) fprintf(stderr, " xor %llx", (unsigned long long)tested->maps[0].constant);
  fprintf(stderr, ", route %d [", tested->route);
  for (int axis = 0; axis < tested->rank; axis++)
    fprintf(stderr, "%s%lld", axis ? "," : "", (long long)tested->shape[axis]);
  fprintf(stderr, "]\n");
  for (int i = 0; i < 2; i++) {
    const side *of = i == 0 ? &tested->source : &tested->destination;
    fprintf(stderr, "%s +%d", text[i], of->shift);
    for (int axis = 0; axis < tested->rank; axis++) fprintf(stderr, " %lld", (long long)of->strides[axis]);
    fprintf(stderr, "\n");
  }
  fprintf(stderr, "%s\n", why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static conformance_case tested;
  static char text[2][STORAGE_TEXT_BYTES];
  bytes from = {.data = data, .size = size};
  char why[1024];
  if (!convert_case_make(&from, &tested, text)) return -1;
  if (case_passes(&tested, open_device(), why, sizeof why)) return 0;
  if (convert_case_may_be_refused(why)) return -1;
  print_case(&tested, text, why);
  const char *keep_on = getenv("LLRT_FUZZ_KEEP_ON");
  if (!keep_on || !*keep_on) abort();
  return 1;
}
