/* Somebody else's program: transposes a matrix on the host through the installed library, which has
 * to find its compiler in the installed tree. */
#include <llrt/llrt.h>

#include <stdio.h>

enum { ROWS = 64, COLUMNS = 32 };

static int failed(const char *what) {
  fprintf(stderr, "%s: %s\n", what, llrt_last_error());
  return 1;
}

static int transpose(llrt_device *device) {
  static float source[ROWS * COLUMNS], destination[ROWS * COLUMNS];
  for (int i = 0; i < ROWS * COLUMNS; i++) source[i] = (float)i;
  llrt_storage col_major;
  if (llrt_storage_col_major(2, &col_major) != LLRT_OK) return failed("col_major");

  llrt_tensor from = {
      .data = source, .dtype = LLRT_F32, .rank = 2, .shape = {ROWS, COLUMNS}, .device = device};
  llrt_tensor to = from;
  to.data = destination;
  to.storage = &col_major;
  if (llrt_convert_into(&from, &to, NULL, NULL) != LLRT_OK) return failed("convert");

  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++)
      if (destination[j * ROWS + i] != source[i * COLUMNS + j]) {
        fprintf(stderr, "element %d, %d is wrong\n", i, j);
        return 1;
      }
  return 0;
}

/* Devices that this library's own tests run on have no names here. */
static int knows_test_devices(llrt_context *context) {
  static const char *const names[] = {"cuda-emu:sm_80", "hip-emu:gfx90a"};
  for (int i = 0; i < 2; i++) {
    llrt_device *device;
    if (llrt_device_open(context, names[i], NULL, &device) == LLRT_INVALID_ARGUMENT) continue;
    fprintf(stderr, "there is a device %s\n", names[i]);
    return 1;
  }
  return 0;
}

int main(void) {
  llrt_context *context;
  llrt_device *device;
  if (llrt_context_create(NULL, &context) != LLRT_OK) return failed("context");
  if (llrt_device_open(context, "host", NULL, &device) != LLRT_OK) return failed("device");
  int result = transpose(device) || knows_test_devices(context);
  llrt_device_close(&device);
  llrt_context_destroy(&context);
  if (result == 0) printf("llrt %s: fine\n", llrt_version());
  return result;
}
