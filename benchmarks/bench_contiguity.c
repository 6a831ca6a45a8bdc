/* How wide the accesses to narrow tensors are: [512, k] of 8- and 16-bit elements, as in table 2
 * of Linear Layouts (section 6.1 of the paper). A tool that looks along the fastest axis alone is
 * bound to k elements; runs that go on over row ends are what a layout's contiguity finds. Needs
 * no device.
 *
 * For four warps whose threads hold four whole rows each: the bits that the fastest axis alone
 * allows, the bits of the layout's contiguous elements, and those of the loads and stores in the
 * kernel that llrt plans from row_major to that layout. The contiguity is first compared with the
 * elements of one thread. */
#include "harness.h"
#include "subcommands.h"

#include "runtime/described.h"

#include <llrt/layout_questions.h>

#include <stdlib.h>
#include <string.h>

enum { ROWS = 512, ROWS_A_THREAD = 4, ACCESS_BITS = 128 };

typedef struct widths {
  int thread, axis, layout, load, store; /* bits */
} widths;

static int least(int64_t a, int64_t b) { return (int)(a < b ? a : b); }

static void make_layout(int columns, char *text, size_t size, llrt_layout *out) {
  const int64_t shape[] = {ROWS, columns};
  snprintf(text, size,
           "blocked(size_per_thread=[%d,%d], threads_per_warp=[32,1], warps_per_cta=[4,1], "
           "order=[1,0])",
           ROWS_A_THREAD, columns);
  harness_must(llrt_layout_parse(text, 2, shape, out), text);
}

/* Whether thread 0's registers are `count` elements side by side. */
static bool is_run(const llrt_layout *layout, int columns, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    uint64_t flat = llrt_layout_apply_flat(layout, (uint64_t)i); /* dim0's bits lowest */
    int64_t row = (int64_t)(flat % ROWS), column = (int64_t)(flat / ROWS);
    if (row * columns + column != i) return false;
  }
  return true;
}

/* The number in front of " bytes an access" on the first line of the plan that has `what`; 0 for
 * none. */
static int access_bits(const char *plan, const char *what) {
  const char *at = strstr(plan, what);
  if (!at) return 0;
  const char *number = strstr(at, ", ");
  return number ? 8 * atoi(number + 2) : 0;
}

static void plan_accesses(const harness *h, const char *target, const char *text, int columns,
                          llrt_dtype dtype, widths *out) {
  const int64_t shape[] = {ROWS, columns};
  llrt_storage storage[2];
  op_description desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2};
  char *plan;
  size_t size;
  harness_must(llrt_storage_row_major(2, &storage[0]), "row_major");
  harness_must(llrt_storage_parse(text, 2, shape, &storage[1]), text);
  for (int t = 0; t < 2; t++) {
    desc.tensors[t] = (llrt_tensor){.dtype = dtype, .rank = 2, .storage = &storage[t]};
    desc.promises[t].address.multiple = 16;
  }
  harness_must(described_compile(h->context, target, &desc, LLRT_EMIT_PLAN, &plan, &size), text);
  out->load = access_bits(plan, "load source");
  out->store = access_bits(plan, "to destination");
  llrt_buffer_free(&plan);
}

static bool run_case(harness *h, const char *target, llrt_dtype dtype, int columns) {
  static const char *const registers[] = {"register"}, *const axes[] = {"dim1", "dim0"};
  char text[160], name[32];
  llrt_layout layout;
  int64_t count;
  int bits = llrt_dtype_bits(dtype);
  make_layout(columns, text, sizeof text, &layout);
  harness_must(llrt_layout_contiguous(&layout, registers, 1, axes, 2, &count), text);
  bool right = is_run(&layout, columns, count);
  widths w = {.thread = ROWS_A_THREAD * columns * bits,
              .axis = least((int64_t)columns * bits, ACCESS_BITS),
              .layout = least(count * bits, ACCESS_BITS)};
  plan_accesses(h, target, text, columns, dtype, &w);
  right &= w.layout == least(w.thread, ACCESS_BITS) && w.load >= w.layout && w.store >= w.layout;
  snprintf(name, sizeof name, "[%d,%d]/%s", ROWS, columns, llrt_dtype_name(dtype));
  if (!harness_wants(h, name)) return true;
  printf("%-16s %8d %8d %8d %8d %8d%s\n", name, w.thread, w.axis, w.layout, w.load, w.store,
         right ? "" : "  WRONG");
  harness_record(h, name,
                 "\"thread_bits\":%d,\"fastest_axis_bits\":%d,\"layout_bits\":%d,\"load_bits\":%d,"
                 "\"store_bits\":%d,\"right\":%s",
                 w.thread, w.axis, w.layout, w.load, w.store, right ? "true" : "false");
  return right;
}

int bench_contiguity(int argc, char *argv[]) {
  static const llrt_dtype dtypes[] = {LLRT_E4M3, LLRT_F16};
  harness_options options;
  harness h;
  bool right = true;
  harness_parse(argc, argv, &options);
  if (!options.device) options.device = "host";
  harness_init(&options, &h);
  const char *target = harness_is_host(&h) ? "sm_90a" : h.info.target;
  printf("plans for %s; bits of\n%-16s %8s %8s %8s %8s %8s\n", target, "tensor", "thread", "1 axis",
         "layout", "load", "store");
  for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++)
    for (int columns = 1; columns <= 16; columns *= 2)
      right &= run_case(&h, target, dtypes[d], columns);
  harness_fini(&h);
  return right ? 0 : 1;
}
