/* `llrt` itself, explain, compile and devices. */
#include "tool_run.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

TestSuite(cli_compile, .init = tool_folder_enter, .fini = tool_folder_leave);

Test(cli_compile, every_help_has_an_example) {
  static const char *const lines[] = {
      "layout --help", "convert -h",     "gather --help",          "reduce --help", "scan --help",
      "dot --help",    "explain --help", "compile convert --help", "devices --help"};
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    tool_result r = tool_expect_success(lines[i]);
    cr_expect(strncmp(r.out, "usage: llrt ", 12) == 0 && strstr(r.out, "example:"), "%s", lines[i]);
    cr_expect_null(strstr(r.out, " \n"), "%s: a line ends in a space", lines[i]);
    cr_expect_str_empty(r.err);
    tool_result_fini(&r);
  }
}

Test(cli_compile, overview) {
  tool_result r = tool_expect_success("--help");
  cr_expect(strstr(r.out, "convert") && strstr(r.out, "exit codes"));
  tool_result_fini(&r);
  r = tool_expect_success("--version");
  cr_expect(strncmp(r.out, "llrt 0.", 7) == 0);
  tool_result_fini(&r);
  r = tool_run("");
  cr_expect_eq(r.code, 2);
  tool_result_fini(&r);
}

Test(cli_compile, devices_end_with_the_host) {
  tool_result r = tool_expect_success("devices");
  const char *host = strstr(r.out, "host ");
  cr_assert_not_null(host, "%s", r.out);
  cr_expect_eq(strchr(host, '\n'), r.out + r.out_size - 1, "the host is last: %s", r.out);
  tool_result_fini(&r);
}

#define TRANSPOSE "convert --from row_major --to col_major --shape 4096x4096 --dtype bf16 --target "

Test(cli_compile, explain_knows_every_target) {
  static const char *const targets[] = {"sm_90a", "sm_90",  "sm_89", "sm_80",
                                        "gfx90a", "gfx942", "host"};
  for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
    char line[256];
    snprintf(line, sizeof line, "explain " TRANSPOSE "%s", targets[i]);
    tool_result r = tool_expect_success(line);
    cr_expect(strstr(r.out, "load") && strstr(r.out, "store"), "%s: %s", line, r.out);
    tool_result_fini(&r);
  }
}

/* Steps and bounds name the tensor that they are about. */
static const struct {
  const char *line, *part;
} named_tensors[] = {
    {"dot 'bf16[16x4096]' 'e2m1[4096x4096]' --scale-b 'e8m0[128x4096]' --target sm_80",
     "load source, "},
    {"dot 'bf16[16x4096]' 'e2m1[4096x4096]' --scale-b 'e8m0[128x4096]' --target sm_80",
     "load tensor 2, "},
    {"dot 'bf16[16x4096]' 'e2m1[4096x4096]' --scale-b 'e8m0[128x4096]' --target sm_80",
     "times e8m0 to bf16, scales from tensor 3"},
    {"dot 'bf16[16x4096]' 'bf16[4096x45]' --target sm_80",
     "bound: axis 1 < n1 for destination, tensor 2\n"},
    {"dot 'bf16[16x4096]' 'bf16[4096x45]' --target sm_80",
     "bound: axis 0 < n0 to load and store\n"},
    {"reduce --op argmax --axis 1 --shape 64x64 --target sm_80", " to destination, "},
    {"reduce --op sum --axis 0,1 --shape 4096x4096 --target sm_80",
     " to source, "}, /* the workspace, left zero */
    {"convert --to col_major --shape 64x64 --dtype e4m3 --scale 'f32[64x2]' --out-dtype bf16 "
     "--target sm_80",
     "  tensor 2 bits ["},
};

Test(cli_compile, explain_names_tensors) {
  for (size_t i = 0; i < sizeof named_tensors / sizeof *named_tensors; i++) {
    char line[512];
    snprintf(line, sizeof line, "explain %s", named_tensors[i].line);
    tool_result r = tool_expect_success(line);
    cr_expect(strstr(r.out, named_tensors[i].part), "%s: %s: %s", line, named_tensors[i].part,
              r.out);
    tool_result_fini(&r);
  }
}

static const struct {
  const char *line;
  const char *part; /* of the file */
} outputs[] = {
    {"compile " TRANSPOSE "sm_90a --emit plan -o out", "store"},
    {"compile " TRANSPOSE "sm_90a --emit ir -o out", "define"},
    {"compile " TRANSPOSE "sm_90a --emit ptx -o out", ".visible .entry"},
    {"compile " TRANSPOSE "sm_80 --emit ptx -o out", ".target sm_80"},
    {"compile " TRANSPOSE "sm_89 --emit asm -o out", ".target sm_89"},
    {"compile " TRANSPOSE "gfx90a --emit asm -o out", "gfx90a"},
    {"compile " TRANSPOSE "gfx942 --emit hsaco -o out", "\x7f"
                                                        "ELF"},
    {"compile " TRANSPOSE "host --emit asm -o out", "llrt_kernel"},
    {"compile " TRANSPOSE "sm_90a --xor 0x8000 --out-dtype f32 --emit plan -o out",
     "cast bf16 to f32"},
    {"compile " TRANSPOSE "sm_90a --out-dtype e4m3 --emit ptx -o out", "e4m3x2"},
    {"compile " TRANSPOSE "sm_90a --index '0=i64[100]' --emit plan -o out",
     "64-bit coordinates by axes [0]"},
    {"compile gather --index 'i32[64x100]' --axis 0 --shape 9x100 --target gfx942 --emit asm -o "
     "out",
     "gfx942"},
    {"compile gather --index 'i64[33]' --axis 1 --form select --out-of-range clamp --shape 9x100"
     " --target sm_80 --emit ptx -o out",
     ".visible .entry"},
    {"compile " TRANSPOSE "sm_90a --scale 'e8m0[32x1]' --out-dtype f32 --emit plan -o out", "e8m0"},
    {"compile reduce --op sum --axis 1 --shape 16384x16384 --dtype bf16 --target sm_90a --emit "
     "plan -o out",
     "stage 2 of 2"},
    {"compile reduce --op argmax --axis 0 --shape 300x40 --target sm_80 --emit ptx -o out",
     ".visible .entry"},
    {"compile reduce --op any --axis 0,1 --shape 300x40 --target gfx90a --emit kernel -o out",
     "llrtkern"},
    {"compile scatter --index 'i64[64]' --axis 0 --form select --shape 900x128 --dtype bf16"
     " --target host --emit kernel -o out",
     "llrtkern"},
};

Test(cli_compile, forms) {
  for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++) {
    size_t size;
    tool_result r = tool_expect_success(outputs[i].line);
    cr_expect_eq(r.out_size, 0);
    char *file = tool_read_file("out", &size);
    cr_expect(strstr(file, outputs[i].part), "llrt %s: %.300s", outputs[i].line, file);
    free(file);
    tool_result_fini(&r);
  }
}

Test(cli_compile, kernel_bytes_are_reproducible) {
  size_t sizes[2];
  char *files[2];
  for (int i = 0; i < 2; i++) {
    tool_result r = tool_expect_success("compile " TRANSPOSE "host --emit kernel -o out");
    tool_result_fini(&r);
    files[i] = tool_read_file("out", &sizes[i]);
  }
  cr_expect_gt(sizes[0], 100);
  cr_expect(sizes[0] == sizes[1] && memcmp(files[0], files[1], sizes[0]) == 0);
  free(files[0]);
  free(files[1]);
}

Test(cli_compile, text_goes_to_standard_output_without_o) {
  tool_result r = tool_expect_success("compile " TRANSPOSE "sm_90a --emit ptx");
  cr_expect(strstr(r.out, ".target sm_90a"));
  tool_result_fini(&r);
}

static const tool_failure failures[] = {
    {"frobnicate", 2, "'frobnicate'"},
    {"devices more", 2, "more"},
    {"explain gather --shape 4x4 --axis 0", 2, "--index is missing"},
    {"explain gather --shape 4x4 --index 'i64[4]'", 2, "--axis is missing"},
    {"explain gather --shape 4x4 --index 'i64[4]' --axis x", 2, "no axis"},
    {"explain gather --shape 4x4 --index 'i64[4]' --axis 0", 1,
     "the index has rank 1, the tensor 2"},
    {"explain gather --shape 4x4 --index 'f32[4]' --axis 0 --form select", 1,
     "no list of int32 or int64"},
    {"explain gather --shape 4x4 --index 'i64[4x3]' --axis 0", 1, "shape[1] is 3, the tensor's 4"},
    {"explain gather --shape 4x4 --index 'i64[4]' --axis 0 --form take", 2, "--form take"},
    {"explain gather --shape 4x4 --index 'i64[4' --axis 0", 1, "i64[4: No such file"},
    {"explain convert --to col_major --shape 4x4 --axis 0", 2, "--axis is not for a convert"},
    {"explain scatter --shape 4x4 --index 'i64[4]' --axis 0 --form select --out-of-range clamp", 1,
     "several elements to one place"},
    {"explain permute --to col_major --shape 4x4", 2, "no operation"},
    {"explain convert --shape 4x4", 2, "--to is missing"},
    {"explain convert --to col_major --shape 4x4 --op sum", 2, "--op is not for a convert"},
    {"explain convert --to col_major --shape 4x4 --dtype-a bf16", 2,
     "--dtype-a is not for a convert"},
    {"explain gather --shape 4x4 --index 'i64[4]' --axis 0 --form select --in-place", 2,
     "--in-place is not for a gather"},
    {"explain reduce --shape 4x4 --op sum --axis 0 --xor 1", 2, "--xor is not for a reduce"},
    {"explain scan --shape 4x4 --axis 0 --form select", 2, "--form is not for a scan"},
    {"explain dot --shape 4x4x4 --index 0=x", 2, "--index is not for a dot"},
    {"explain dot --shape 4x4x4 --from col_major", 2, "--from is not for a dot"},
    {"explain convert --to col_major --shape 4x4 --scale 'f32[3x4]'", 1, "does not divide"},
    {"explain convert --to col_major", 2, "--shape is missing"},
    {"explain convert --to col_major --shape 4x4 --target sm_1", 1, "sm_1"},
    {"explain convert --to col_major --shape 4x4 --dtype f99", 2, "unknown dtype 'f99'"},
    {"explain convert --to 'strided([1' --shape 4x4", 1, "column"},
    {"explain convert --to col_major --shape 4x4 --xor 8x", 2, "8x"},
    {"explain convert --to col_major --shape 4x4 --out-dtype b32", 1, "no such cast"},
    {"explain convert --to col_major --shape 4x4 --word-bits 1,2", 2, "32 numbers"},
    {"compile convert --to col_major --shape 4x4 --emit ptx -o out", 2, "--target"},
    {"compile convert --to col_major --shape 4x4 --target sm_80 -o out", 2, "--emit"},
    {"compile convert --to col_major --shape 4x4 --target sm_80 --emit exe -o out", 2, "exe"},
    {"compile convert --to col_major --shape 4x4 --target gfx942 --emit hsaco", 2, "-o"},
    {"compile convert --to col_major --shape 4x4 --target gfx942 --emit ptx -o out", 1, "gfx942"},
    {"compile convert --to col_major --shape 4x4 --target sm_80 --emit hsaco -o out", 1, "sm_80"},
    {"compile convert --to col_major --shape 4x4 --target sm_80 --emit ptx -o no/out", 1, "no/out"},
};

Test(cli_compile, failures) { tool_expect_failures(failures, sizeof failures / sizeof *failures); }
