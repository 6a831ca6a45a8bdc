/* Code of host kernels: loaded without a file, in few mappings, never both writable and executable;
 * objects that are not as they should be. */
#include "backends/host/host_image.h"

#include "base/status.h"
#include "runtime/described.h"
#include "tests/runtime/convert_fixture.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static fixture at;
static char *saved;
static size_t saved_size;

static void setup(void) {
  fixture_make(&at, &fixture_params);
  llrt_op *op;
  op_description desc = fixture_desc(&at);
  cr_assert_eq(described_prepare(at.host, &desc, &op), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_op_save(op, NULL, &saved_size), LLRT_OK);
  saved = malloc(saved_size);
  cr_assert_eq(llrt_op_save(op, saved, &saved_size), LLRT_OK);
  llrt_op_destroy(&op);
}

static void teardown(void) {
  free(saved);
  fixture_end(&at);
}

TestSuite(host_code, .init = setup, .fini = teardown);

static llrt_op *load(void) {
  llrt_op *op = NULL;
  cr_assert_eq(llrt_op_load(at.host, saved, saved_size, &op), LLRT_OK, "%s", llrt_last_error());
  return op;
}

static void expect_runs(const llrt_op *op) {
  llrt_tensor tensors[] = {at.source, at.destination};
  memset(at.output, 0, sizeof at.output);
  cr_assert_eq(llrt_op_run(op, NULL, tensors, 2, NULL), LLRT_OK, "%s", llrt_last_error());
  cr_expect(fixture_is_converted(&at));
}

typedef struct maps {
  int code, both, files; /* executable ones; also writable; of an anonymous file */
} maps;

static maps read_maps(void) {
  maps found = {0};
  char line[512];
  FILE *file = fopen("/proc/self/maps", "r");
  cr_assert(file);
  while (fgets(line, sizeof line, file)) {
    char may[5];
    if (sscanf(line, "%*s %4s", may) != 1) continue;
    found.code += may[2] == 'x';
    found.both += may[1] == 'w' && may[2] == 'x';
    found.files += strstr(line, "memfd:llrt-kernel") != NULL;
  }
  fclose(file);
  return found;
}

/* As where neither /proc nor memfd_create is: no descriptor is left to open anything. */
Test(host_code, loads_without_a_file) {
  struct rlimit none = {0, 0};
  cr_assert_eq(getrlimit(RLIMIT_NOFILE, &none), 0);
  none.rlim_cur = 0;
  struct rlimit before;
  getrlimit(RLIMIT_NOFILE, &before);
  cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
  cr_assert_lt(memfd_create("x", 0), 0);
  llrt_op *op = load();
  expect_runs(op);
  llrt_op_destroy(&op);
  setrlimit(RLIMIT_NOFILE, &before);
}

/* Thousands of kernels in a few mappings; pages that were given back are used again. */
Test(host_code, kernels_share_mappings) {
  enum { KERNELS = 3000 };
  static llrt_op *op[KERNELS];
  maps before = read_maps();
  for (int i = 0; i < KERNELS; i++) op[i] = load();
  maps with = read_maps();
  cr_expect_lt(with.code - before.code, KERNELS / 20, "%d mappings for %d kernels",
               with.code - before.code, KERNELS);
  cr_expect_eq(with.both, 0);
  cr_expect_eq(with.files, 0);
  for (int i = 0; i < KERNELS; i += 7) expect_runs(op[i]);
  for (int i = 0; i < KERNELS; i += 3) llrt_op_destroy(&op[i]);
  for (int i = 0; i < KERNELS; i += 3) op[i] = load();
  for (int i = 0; i < KERNELS; i += 5) expect_runs(op[i]);
  for (int i = 0; i < KERNELS; i++) llrt_op_destroy(&op[i]);
  maps after = read_maps();
  cr_expect_lt(after.code - before.code, 20, "%d mappings are left", after.code - before.code);
}

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

/* A system that runs no memory which was written: the dynamic loader maps a file. */
Test(host_code, falls_back_to_a_file) {
  if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) != 0)
    cr_skip_test("this kernel has no PR_SET_MDWE");
  llrt_op *op = load();
  cr_expect_gt(read_maps().files, 0);
  expect_runs(op);
  llrt_op_destroy(&op);
  cr_expect_eq(read_maps().files, 0);
}

/* ---- objects that are not as they should be ---- */

/* The first object in the saved bytes, in aligned memory of exactly its size. */
static unsigned char *find_object(size_t *size) {
  char *elf = memmem(saved, saved_size, ELFMAG, SELFMAG);
  cr_assert(elf);
  *size = saved_size - (size_t)(elf - saved);
  unsigned char *copy = malloc(*size);
  memcpy(copy, elf, *size);
  return copy;
}

static llrt_status read_and_place(const unsigned char *bytes, size_t size) {
  host_image image;
  void *entry;
  LLRT_TRY(llrt_host_image_read(bytes, size, &image));
  char *memory = calloc(1, image.span ? image.span : 1);
  cr_assert(memory);
  llrt_status status = llrt_host_image_place(&image, memory, "llrt_kernel", &entry);
  free(memory);
  return status;
}

Test(host_code, truncated_and_changed_objects) {
  size_t size;
  unsigned char *object = find_object(&size);
  cr_assert_eq(read_and_place(object, size), LLRT_OK, "%s", llrt_last_error());
  for (size_t cut = 0; cut < size; cut += cut < 1024 ? 1 : 61) {
    unsigned char *part = malloc(cut + 1);
    memcpy(part, object, cut);
    read_and_place(part, cut);
    if (cut < 512) cr_expect_eq(read_and_place(part, cut), LLRT_UNSUPPORTED, "%zu bytes", cut);
    free(part);
  }
  static const unsigned char nasty[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
  for (size_t i = 0; i < size; i++) {
    if (i > 1024 && i + 2048 < size && i % 16) continue; /* mostly code */
    unsigned char was = object[i];
    for (size_t n = 0; n < sizeof nasty; n++) {
      object[i] = nasty[n];
      read_and_place(object, size);
    }
    object[i] = was;
  }
  cr_expect_eq(read_and_place(object, size), LLRT_OK);
  free(object);
}
