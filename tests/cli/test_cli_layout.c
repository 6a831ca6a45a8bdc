/* `llrt layout`: output compared with the files of tests/data/cli, and what is refused. */
#include "tool_run.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

TestSuite(cli_layout, .init = tool_folder_enter, .fini = tool_folder_leave);

#define BLOCKED \
  "'blocked(size_per_thread=[1,2], threads_per_warp=[2,4], warps_per_cta=[2,1], order=[1,0])'"
#define NVMMA "'nvmma(version=[2,0], warps_per_cta=[2,1], instr_shape=[16,8])'"
#define COPIES "'{register: [[0,1],[2,0]], lane: [[0,2],[0,0],[1,0]]} -> [dim0:4, dim1:4]'"

static const struct {
  const char *line, *golden;
} outputs[] = {
    {"layout " BLOCKED " --shape 4x8", "blocked.txt"},
    {"layout " BLOCKED " --shape 4x8 --json", "blocked.json"},
    {"layout --json --shape=4x8 -- " BLOCKED, "blocked.json"},
    {"layout " BLOCKED " --shape 4x8 --grid", "blocked_grid.txt"},
    {"layout " BLOCKED " --shape 4x8 --matrix", "blocked_matrix.txt"},
    {"layout " NVMMA " --shape 32x8 --json", "nvmma.json"},
    {"layout " NVMMA " --shape 32x8 --grid", "nvmma_grid.txt"},
    {"layout " COPIES " --json", "copies.json"},
    {"layout " COPIES " --grid", "copies_grid.txt"},
    {"layout " COPIES " --at 1,2", "copies_at.json"},
    {"layout " COPIES " --table", "copies_table.json"},
    {"layout '{lane: [[1,0,0],[0,1,0]], warp: [[0,0,1]]} -> [dim0:2, dim1:2, dim2:2]' --grid",
     "cube_grid.txt"},
    {"layout row_major --shape 3x5", "row_major.txt"},
    {"layout row_major --shape 3x5 --at 2,3", "row_major_at.json"},
    {"layout col_major --shape 3x5 --table", "col_major_table.json"},
    {"layout 'strided([10,1])' --shape 2x3 --table", "strided_table.json"},
    {"layout --list", "list.txt"},
    {"layout --list --json", "list.json"},
};

/* LLRT_CLI_UPDATE=1 writes the files instead; look at the difference before committing it. */
Test(cli_layout, golden) {
  for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++) {
    char path[512];
    size_t size;
    tool_result r = tool_expect_success(outputs[i].line);
    snprintf(path, sizeof path, "%s/cli/%s", LLRT_TEST_DATA_DIR, outputs[i].golden);
    if (getenv("LLRT_CLI_UPDATE")) tool_write_file(path, r.out, r.out_size);
    char *golden = tool_read_file(path, &size);
    cr_expect_str_eq(r.out, golden, "llrt %s differs from %s:\n%s", outputs[i].line,
                     outputs[i].golden, r.out);
    free(golden);
    tool_result_fini(&r);
  }
}

/* Families are listed by hand: each must be one that the language knows. */
Test(cli_layout, list_names_families) {
  static const char *const families[] = {"blocked",
                                         "nvmma",
                                         "slice",
                                         "dot",
                                         "mfma",
                                         "wmma",
                                         "swizzled_shared",
                                         "rotating_shared",
                                         "nvmma_shared",
                                         "tensor_memory",
                                         "tensor_memory_scales"};
  enum { COUNT = sizeof families / sizeof families[0] };
  tool_result list = tool_expect_success("layout --list --json");
  int listed = 0;
  for (const char *at = list.out; (at = strstr(at, "\"kind\":\"family\"")); at++) listed++;
  cr_expect_eq(listed, COUNT);
  for (int i = 0; i < COUNT; i++) {
    char text[64];
    snprintf(text, sizeof text, "{\"name\":\"%s\",\"kind\":\"family\"", families[i]);
    cr_expect(strstr(list.out, text), "%s is not listed", families[i]);
    snprintf(text, sizeof text, "layout '%s(nonsense=1)' --shape 8x8", families[i]);
    tool_expect_failure(text, 1, "has no parameter 'nonsense'");
  }
  tool_result_fini(&list);
}

/* What --json calls num_consecutive, surjective and so on is the library's; here: the literal form
 * is read back to the same layout. */
Test(cli_layout, printed_form_is_read_back) {
  static const char *const lines[] = {"layout " BLOCKED " --shape 64x32",
                                      "layout " NVMMA " --shape 128x64", ("layout " COPIES)};
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    char again[8192];
    tool_result first = tool_expect_success(lines[i]);
    snprintf(again, sizeof again, "layout '%.*s'", (int)first.out_size - 1, first.out);
    tool_result second = tool_expect_success(again);
    cr_expect_str_eq(first.out, second.out);
    tool_result_fini(&first);
    tool_result_fini(&second);
  }
}

#define SWIZZLED "'nvmma_shared(swizzle_bytes=128, element_bits=16)'"

/* What a drawing of this line has to contain. */
static const struct {
  const char *line, *file, *part[4];
} drawings[] = {
    {"layout " NVMMA " --shape 32x8 --svg a.svg",
     "a.svg",
     {"<svg ", "<title>dim0 9, dim1 3: block 0, warp 0, lane 5, register 3</title>",
      "small: lane; large: register", "</svg>"}},
    {"layout " COPIES " --svg b.svg", "b.svg", {"every element has 2 copies", "</svg>"}},
    {"layout " SWIZZLED " --shape 64x64 --svg c.svg",
     "c.svg",
     {"32 lanes along dim1, 16 bytes each: 4 wavefronts, 4 without conflicts",
      "32 lanes along dim0, 16 bytes each: 4 wavefronts, 4 without conflicts"}},
    {"layout row_major --shape 64x64 --svg d.svg",
     "d.svg",
     {"32 lanes along dim1, 16 bytes each: 4 wavefronts, 4 without conflicts",
      "32 lanes along dim0, 16 bytes each: 32 wavefronts, 4 without conflicts"}},
    {"layout row_major --shape 32x32 --element-bits 32 --svg e.svg",
     "e.svg",
     {"elements of 32 bits", "32 lanes along dim0, 16 bytes each: 32 wavefronts"}},
    {"layout " NVMMA " --shape 32x8 --html a.html",
     "a.html",
     {"<title>nvmma(", "{name: \"lane\", bits: 5, shift: 2}", "columns: [32,8,64,128,1,2,4,16],",
      "</html>"}},
};

Test(cli_layout, drawings) {
  for (size_t i = 0; i < sizeof drawings / sizeof drawings[0]; i++) {
    tool_result r = tool_expect_success(drawings[i].line);
    size_t size;
    char *drawing = tool_read_file(drawings[i].file, &size);
    for (int k = 0; k < 4 && drawings[i].part[k]; k++)
      cr_expect(strstr(drawing, drawings[i].part[k]), "%s lacks %s", drawings[i].line,
                drawings[i].part[k]);
    free(drawing);
    tool_result_fini(&r);
  }
}

#define TIRX_TILE "S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1)]"
#define CUTE_TILE "((8,2),(4,4)):((4,128),(1,32))"
#define BIJECTION(dims) \
  dims "\"surjective\":true,\"injective\":true," \
       "\"free_variable_masks\":{\"m\":0},\"num_consecutive\":1}\n"
#define OUT_2D(rows, columns) \
  "],\"out\":[{\"name\":\"dim0\",\"size\":" rows "},{\"name\":\"dim1\",\"size\":" columns "}],"
#define MEMORY_2D(bases, rows, columns) \
  BIJECTION("{\"in\":[{\"name\":\"m\",\"bases\":" bases "}" OUT_2D(rows, columns))

/* Storages that are maps over F2, from places to elements: memory, then the named axes. */
static const struct {
  const char *line, *out;
} maps[] = {
    {"layout '" TIRX_TILE " + R[2:2@warpid]' --shape 8x16 --json",
     "{\"in\":[{\"name\":\"m\",\"bases\":[[0,1]]},"
     "{\"name\":\"laneid\",\"bases\":[[0,2],[0,4],[1,0],[2,0],[4,0]]},"
     "{\"name\":\"warpid\",\"bases\":[[0,8],[0,0]]}" OUT_2D(
         "8", "16") "\"surjective\":true,\"injective\":false,"
                    "\"free_variable_masks\":{\"m\":0,\"laneid\":0,\"warpid\":2},\"num_"
                    "consecutive\":1}\n"},
    {"layout 'swizzle(per_element=3, swizzle_len=3, atom_len=3) o S[(8,64):(64@m,1@m)]' "
     "--shape 8x64 --json",
     MEMORY_2D("[[0,1],[0,2],[0,4],[0,8],[0,16],[0,32],[1,8],[2,16],[4,32]]", "8", "64")},
    {"layout 'S[(2,4):(1,2)]' --json",
     BIJECTION("{\"in\":[{\"name\":\"m\",\"bases\":[[4],[1],[2]]}],"
               "\"out\":[{\"name\":\"dim0\",\"size\":8}],")},
    {"layout 'S[(2,4):(1,2)]' --shape 2x4 --matrix", "                     | m\n"
                                                     "            dim0   0 | 1 . .\n"
                                                     "            dim1   0 | . 1 .\n"
                                                     "            dim1   1 | . . 1\n"},
    {"layout 'S[(2,2):(1@laneid,1)] + R[2:2@laneid]' --shape 2x2 --grid",
     "each cell: l = laneid, m = m; every element has 2 copies, the first is shown\n"
     "       |    0 |    1\n"
     "     0 |l0 m0 |l0 m1\n"
     "     1 |l1 m0 |l1 m1\n"},
    {"layout '" CUTE_TILE "' --json",
     MEMORY_2D("[[0,1],[0,2],[1,0],[2,0],[4,0],[0,4],[0,8],[8,0]]", "16", "16")},
    {"layout 'Swizzle<1,4,3> o " CUTE_TILE "' --json",
     MEMORY_2D("[[0,1],[0,2],[1,0],[2,0],[4,0],[0,4],[0,8],[12,0]]", "16", "16")},
    {"layout 'tiled([2,4], {offset: [[0,1],[1,0],[0,2]]} -> [dim0:2, dim1:4], order=[1,0])' "
     "--shape 4x8 --json",
     MEMORY_2D("[[0,1],[1,0],[0,2],[0,4],[2,0]]", "4", "8")},
    {"layout scale_128x4 --shape 128x8 --json",
     MEMORY_2D("[[0,1],[0,2],[32,0],[64,0],[1,0],[2,0],[4,0],[8,0],[16,0],[0,4]]", "128", "8")},
    {"layout '" CUTE_TILE "' --at 9,5", "{\"at\":[9,5],\"coords\":[{\"offset\":165}]}\n"},
    {"layout 'S[(2,4):(1,2)]' --at 5", "{\"at\":[5],\"coords\":[{\"m\":3}]}\n"},
};

Test(cli_layout, storages_as_maps) {
  for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
    tool_result r = tool_expect_success(maps[i].line);
    cr_expect_str_eq(r.out, maps[i].out, "llrt %s: %s", maps[i].line, r.out);
    tool_result_fini(&r);
  }
}

static const tool_failure failures[] = {
    {"layout 'bloked(order=[1,0])' --shape 4x8", 1, "column 1"},
    {"layout '{register: [[0,1],[2,0]'", 1, "column 24"},
    {"layout '{register: [[0,1]]} -> [dim0:4, dim1:3]'", 1, "column"},
    {"layout 'blocked(size_per_thread=[1,2], order=[1,0])' --shape 4x8", 1, "column"},
    {"layout " BLOCKED, 1, "shape"},
    {"layout " BLOCKED " --shape 4x8x2", 1, ""},
    {"layout " BLOCKED " --shape 3x8", 1, ""},
    {"layout row_major --shape 3x5 --json", 1, "storage rule"},
    {"layout row_major --shape 3x5 --grid", 1, "storage rule"},
    {"layout row_major --json", 1, "--shape"},
    {"layout marlin_w4 --matrix", 1, "--shape"},
    {"layout 'S[(8,64)]' --shape 8x32 --json", 1, "the layout has 512 elements, the shape 256"},
    {"layout '" TIRX_TILE " + R[2:4@warpid]' --json", 1, "some places hold nothing"},
    {"layout '" TIRX_TILE " + 5@warpid' --json", 1, "an offset is added, on warpid (5)"},
    {"layout 'S[(3,8):(8@laneid,1@laneid)]' --grid", 1, "24 positions, no power of two"},
    {"layout 'S[(4,8):(9,1)]' --matrix", 1, "a stride is no power of two, on m (9)"},
    {"layout 'S[(4,8):(4,1)]' --json", 1, "two digits add to one bit, on m (4)"},
    {"layout 'swizzle(per_element=0, swizzle_len=1, atom_len=1) o S[(2,3)]' --json", 1, "power"},
    {"layout '((8,2),(4,4)):((8,64),(1,4))' --json", 1, "two digits add to one bit, on m"},
    {"layout scale_128x4 --shape 64x4 --json", 1, "axis 0 is padded"},
    {"layout aiter_16x16 --shape 16x64 --json", 1, "element_bits"},
    {"layout row_major --shape 3x5 --at 3,0", 1, "outside"},
    {"layout row_major --shape 3x5 --at 1", 1, "1 coordinates"},
    {"layout 'strided([1,-2])' --shape 3x5 --table", 1, "column"},
    {"layout " NVMMA " --shape 1024x128 --grid", 1, "65536"},
    {"layout 'zeros1d(16777216, lane, dim0)' --grid", 1, "1048576 places"},
    {"layout 'zeros1d(1152921504606846976, lane, dim0)' --at 0", 1, "65536 copies"},
    {"layout 'S[2] + R[99999:1@lane]' --shape 2 --at 0", 1, "65536 copies"},
    {"layout row_major --shape 100000x100000 --table", 1, "67108864 elements"},
    {"layout '{lane: [[1]]} -> [x:2]' --shape 2x2 --at 0,0", 1, "0 axes"},
    {"layout " BLOCKED " --shape 4x8 --svg a.svg --element-bits 12", 2, "12"},
    {"layout " BLOCKED " --shape 4x8 --svg nowhere/a.svg", 1, "nowhere/a.svg"},
    {"layout", 2, "expression"},
    {"layout a b", 2, "'b'"},
    {"layout row_major --frob", 2, "--frob"},
    {"layout row_major -x", 2, "-x"},
    {"layout row_major --shape", 2, "--shape needs"},
    {"layout row_major --shape 3xx5", 2, "3xx5"},
    {"layout row_major --shape 99999999999999999999x2", 2, "--shape"},
    {"layout row_major --shape 1x1x1x1x1x1x1x1x1", 2, "--shape"},
    {"layout row_major --shape 3x5 --shape 3x5", 2, "twice"},
    {"layout row_major --shape 3x5 --at 1,x", 2, "1,x"},
    {"layout row_major --shape 3x5 --table=yes", 2, "no value"},
    {"layout " BLOCKED " --shape 4x8 --json --grid", 2, "one form"},
};

Test(cli_layout, failures) { tool_expect_failures(failures, sizeof failures / sizeof *failures); }
