/* Rows of the catalogue's expressions among thousands, alone, and at other alignments: the same
 * bits. */
#include "tests/expression/catalogue_call.h"
#include "tests/expression/compute_trial.h"
#include "tests/expression/row_alone.h"

#include <criterion/criterion.h>
#include <stdlib.h>

/* Where LLRT_TEST_TURN has a number (scripts/test) one in four, the next ones at the next commit.
 */
static bool is_of_turn(int i) {
  const char *turn = getenv("LLRT_TEST_TURN");
  return !turn || (i + atoi(turn)) % 4 == 0;
}

static void check(const char *device, int64_t rows, int64_t length, int64_t step) {
  const char *name;
  for (int i = 0; (name = catalogue_name(i, true)); i++) {
    if (!is_of_turn(i)) continue;
    const char *wrong = row_alone_check(trial_device(device), name, rows, length, step);
    cr_expect_null(wrong, "%s on %s: %s", name, device, wrong);
  }
}

Test(row_alone, host) { check("host", 4096, ROW_ALONE_LENGTH, 211); }
Test(row_alone, emulated_cuda) { check("cuda-emu:sm_90a", 6, ROW_ALONE_LENGTH, 2); }
Test(row_alone, emulated_hip) { check("hip-emu:gfx942", 6, ROW_ALONE_LENGTH, 2); }

/* Rows that fill a block's threads: code for a thread's elements is loops. */
Test(row_alone, full_emulated_cuda) { check("cuda-emu:sm_90a", 6, 4096, 4); }

/* Rows that a device walks, and few of which are shared by blocks. */
Test(row_alone, long_host) { check("host", 64, 50257, 21); }
Test(row_alone, long_emulated_cuda) { check("cuda-emu:sm_90a", 3, 40001, 2); }
