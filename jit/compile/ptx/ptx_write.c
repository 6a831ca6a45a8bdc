/* A module: its variables in shared memory, and its one kernel with what annotations say of it. */
#include "jit/compile/ptx/ptx_write.h"

#include "jit/compile/ptx/ptx_writer.h"

#include <string.h>

/* ---- variables */

static void write_variable(ptx_writer *w, LLVMValueRef variable, llrt_text *out) {
  size_t length;
  LLVMTypeRef type = LLVMGlobalGetValueType(variable);
  LLVMValueRef first = LLVMGetInitializer(variable);
  bool array = LLVMGetTypeKind(type) == LLVMArrayTypeKind;
  if (LLVMGetPointerAddressSpace(LLVMTypeOf(variable)) != 3 || !array ||
      (first && !LLVMIsUndef(first) && !LLVMIsPoison(first))) {
    ptx_note_unknown(w, "a variable");
    return;
  }
  unsigned long long size = LLVMABISizeOfType(w->layout, type);
  const char *name = LLVMGetValueName2(variable, &length);
  unsigned align = LLVMGetAlignment(variable) ? LLVMGetAlignment(variable) : 16;
  if (first) llrt_text_add(out, ".shared .align %u .b8 %s[%llu];\n", align, name, size);
  else llrt_text_add(out, ".extern .shared .align %u .b8 %s[];\n", align, name);
}

/* ---- what is said of a kernel */

typedef struct launch_bounds {
  unsigned threads, blocks, registers;
  bool kernel;
} launch_bounds;

static bool take_annotation(launch_bounds *bounds, const char *key, unsigned length,
                            unsigned value) {
  char name[24];
  if (length >= sizeof name) return false;
  memcpy(name, key, length);
  name[length] = 0;
  if (strcmp(name, "kernel") == 0) bounds->kernel = value == 1;
  else if (strcmp(name, "maxntidx") == 0) bounds->threads = value;
  else if (strcmp(name, "minctasm") == 0) bounds->blocks = value;
  else if (strcmp(name, "maxnreg") == 0) bounds->registers = value;
  else return false;
  return true;
}

/* Each annotation: the function, a name, a number, and perhaps more names and numbers. */
static void take_annotations(ptx_writer *w, LLVMValueRef node, launch_bounds *bounds) {
  LLVMValueRef operand[9];
  unsigned n = LLVMGetMDNodeNumOperands(node), length;
  bool known = n >= 3 && n <= 9;
  if (known) LLVMGetMDNodeOperands(node, operand);
  for (unsigned i = 1; known && i + 1 < n; i += 2) {
    const char *key = LLVMGetMDString(operand[i], &length);
    known =
        key && LLVMIsAConstantInt(operand[i + 1]) &&
        take_annotation(bounds, key, length, (unsigned)LLVMConstIntGetZExtValue(operand[i + 1]));
  }
  if (!known) ptx_note_unknown(w, "an annotation");
}

static launch_bounds bounds_of(ptx_writer *w, LLVMModuleRef module) {
  static const char all[] = "nvvm.annotations";
  LLVMValueRef node[16];
  launch_bounds bounds = {0};
  unsigned n = LLVMGetNamedMetadataNumOperands(module, all);
  if (n > 16) ptx_note_unknown(w, "many annotations");
  else LLVMGetNamedMetadataOperands(module, all, node);
  for (unsigned i = 0; i < n && !w->unknown; i++) take_annotations(w, node[i], &bounds);
  return bounds;
}

static void write_bounds(launch_bounds bounds, llrt_text *out) {
  if (bounds.threads) llrt_text_add(out, ".maxntid %u, 1, 1\n", bounds.threads);
  if (bounds.blocks) llrt_text_add(out, ".minnctapersm %u\n", bounds.blocks);
  if (bounds.registers) llrt_text_add(out, ".maxnreg %u\n", bounds.registers);
}

/* ---- the kernel */

/* Arguments are read where the kernel begins. */
static void write_parameters(ptx_writer *w, LLVMValueRef function, const char *name,
                             llrt_text *out) {
  unsigned n = LLVMCountParams(function);
  for (unsigned i = 0; i < n; i++) {
    LLVMValueRef parameter = LLVMGetParam(function, i);
    ptx_type type = ptx_type_of(w, LLVMTypeOf(parameter));
    if (type.n != 1 || type.class < PTX_B32) {
      ptx_note_unknown(w, "a parameter");
      return;
    }
    const char *width = ptx_width(type.class);
    llrt_text_add(out, "%s\t.param .b%s %s_param_%u", i ? ",\n" : "\n", width, name, i);
    ptx_part part = ptx_new(w, type.class);
    ptx_define(w, parameter, 1, &part);
    if (!LLVMGetFirstUse(parameter)) continue;
    llrt_text_add(&w->body, "\tld.param.b%s \t", width);
    ptx_add_part(w, part, false);
    llrt_text_add(&w->body, ", [%s_param_%u];\n", name, i);
  }
}

static void write_registers(const ptx_writer *w, llrt_text *out) {
  static const char *const declared[PTX_CLASSES] = {".pred %p", ".b16 %h", ".b32 %r", ".b64 %d"};
  for (int i = 0; i < PTX_CLASSES; i++)
    if (w->registers[i]) llrt_text_add(out, "\t.reg %s<%u>;\n", declared[i], w->registers[i] + 1);
}

static void write_kernel(ptx_writer *w, LLVMModuleRef module, LLVMValueRef function,
                         llrt_text *out) {
  size_t length;
  const char *name = LLVMGetValueName2(function, &length);
  launch_bounds bounds = bounds_of(w, module);
  if (!bounds.kernel) ptx_note_unknown(w, "a function that is no kernel");
  llrt_text_add(out, "\n.visible .entry %s(", name);
  write_parameters(w, function, name, out);
  llrt_text_add(out, "\n)\n");
  write_bounds(bounds, out);
  ptx_write_blocks(w, function);
  llrt_text_add(out, "{\n");
  write_registers(w, out);
  if (w->body.length) llrt_text_add_bytes(out, w->body.data, w->body.length);
  llrt_text_add(out, "}\n");
}

const char *ptx_write(LLVMModuleRef module, const char *target, int version, llrt_text *out) {
  ptx_writer w = {.layout = LLVMGetModuleDataLayout(module)};
  int kernels = 0;
  if (LLVMGetNamedMetadata(module, "llvm.dbg.cu", 11)) ptx_note_unknown(&w, "locations");
  llrt_text_add(out, ".version %d.%d\n.target %s\n.address_size 64\n\n", version / 10, version % 10,
                target);
  for (LLVMValueRef v = LLVMGetFirstGlobal(module); v; v = LLVMGetNextGlobal(v))
    write_variable(&w, v, out);
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
    if (LLVMIsDeclaration(f)) continue;
    if (kernels++ == 0) write_kernel(&w, module, f, out);
    else ptx_note_unknown(&w, "a second function");
  }
  if (w.body.failed || out->failed) ptx_note_unknown(&w, "memory");
  llrt_text_fini(&w.body);
  ptx_map_fini(&w);
  return w.unknown;
}
