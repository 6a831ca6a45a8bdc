#include "emulators/tests/ptx_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char before[] =
    ".version %s\n.target %s\n.address_size 64\n"
    ".visible .entry test(.param .u64 in, .param .u64 out, .param .align 64 .b8 "
    "map[128])\n.maxntid 1024, 1, 1\n{\n"
    ".reg .pred %%p<16>;\n.reg .b16 %%h<32>;\n.reg .b32 %%r<64>;\n.reg .b64 %%d<32>;\n"
    ".reg .f32 %%f<32>;\n.reg .f64 %%g<32>;\n"
    ".shared .align 128 .b8 tile[%d];\n"
    "ld.param.u64 %%d30, [in];\nld.param.u64 %%d31, [out];\n"
    "mov.u32 %%r9, %%tid.x;\nmov.u32 %%r8, %%laneid;\n"
    "%s\nmul.wide.u32 %%d29, %%r9, 24;\nadd.s64 %%d30, %%d30, %%d29;\n"
    "mul.wide.u32 %%d29, %%r9, 8;\nadd.s64 %%d31, %%d31, %%d29;\n";
static const char operand[] =
    "ld.global.u64 %%d%d, [%%d30+%d];\ncvt.u32.u64 %%r%d, %%d%d;\ncvt.u16.u64 %%h%d, %%d%d;\n"
    "setp.ne.u64 %%p%d, %%d%d, 0;\n";
static const char after[] = "st.global.u64 [%d31], %d0;\nret;\n}\n";

static char *text_of(const ptx_program *program) {
  size_t size = sizeof before + 4 * sizeof operand + sizeof after + strlen(program->body) + 80;
  const char *first = program->first ? program->first : "";
  size += strlen(first);
  char *text = malloc(size);
  size_t used = (size_t)snprintf(text, size, before, program->version ? program->version : "8.4",
                                 program->target ? program->target : "sm_90a",
                                 program->shared_bytes ? program->shared_bytes : 4096, first);
  for (int k = 1; k <= 3; k++) {
    used += (size_t)snprintf(text + used, size - used, operand, k, 8 * (k - 1), k, k, k, k, k, k);
  }
  used += (size_t)snprintf(text + used, size - used, "%s\n", program->body);
  memcpy(text + used, after, sizeof after);
  return text;
}

void ptx_program_run(const ptx_program *program, const uint64_t (*in)[3], ptx_result *result) {
  uint32_t threads = program->threads ? (uint32_t)program->threads : 32;
  uint32_t blocks = program->cluster ? (uint32_t)program->cluster : 1, places = threads * blocks;
  emu_memory memory = {0};
  uint64_t from = emu_memory_allocate(&memory, threads * sizeof *in);
  uint64_t to = emu_memory_allocate(&memory, places * sizeof(uint64_t));
  uint64_t lanes[1024][3] = {{0}};
  for (uint32_t i = 0; i < 1024; i++) lanes[i][0] = i % 32;
  emu_memory_write(&memory, from, in ? in : (const uint64_t(*)[3])lanes, threads * sizeof *in);
  memset(result, 0, sizeof *result);
  char *text = text_of(program);
  ptx_module *module = ptx_module_parse(text, &result->fault);
  free(text);
  if (module) {
    unsigned char map[PTX_TENSOR_MAP_BYTES] = {0};
    ptx_tensor_map of_input = program->map ? *program->map : (ptx_tensor_map){0};
    of_input.address = from;
    memcpy(map, &of_input, sizeof of_input);
    void *parameters[] = {&from, &to, map};
    ptx_grid grid = {.memory = &memory,
                     .blocks = blocks,
                     .threads = threads,
                     .cluster = blocks,
                     .programmatic = program->programmatic,
                     .apart = program->apart,
                     .parameters = parameters};
    ptx_front *front = program->beside ? ptx_front_new() : NULL, *touched = ptx_front_new();
    for (int i = 0; i < program->front_wrote; i += 8)
      ptx_front_add(&front, from + (uint64_t)i, 8, true);
    grid.front = front;
    grid.touched = &touched;
    result->done =
        ptx_launch(ptx_module_kernel(module, "test"), &grid, &result->counters, &result->fault);
    result->touches_output = ptx_front_meets(touched, to, 8, false);
    free(front);
    free(touched);
    emu_memory_read(&memory, result->out, to, places * sizeof(uint64_t));
  }
  ptx_module_free(module);
  emu_memory_fini(&memory);
}
