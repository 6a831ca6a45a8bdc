#include "base/params.h"
#include "base/status.h"
#include "runtime/struct_fields.h"

#include <llrt/llrt.h>

#include <string.h>

#define FIELD(type, field) {#field, offsetof(type, field), sizeof((type *)0)->field, {0}},
#define FIELDS_OF(type, fields) static const llrt_struct_field fields_of_##type[] = {fields};
LLRT_STRUCTS(FIELDS_OF, FIELD)

#define NO_FIELD(type, field)
#define STRUCT(type, struct_fields) \
  {.size = sizeof(llrt_struct_info), \
   .name = #type, \
   .bytes = sizeof(type), \
   .alignment = _Alignof(type), \
   .n_fields = (int32_t)(sizeof fields_of_##type / sizeof *fields_of_##type), \
   .fields = fields_of_##type},
static const llrt_struct_info structs[] = {LLRT_STRUCTS(STRUCT, NO_FIELD)};

enum { N_STRUCTS = (int)(sizeof structs / sizeof *structs) };

const char *llrt_struct_name(int32_t i) { return i >= 0 && i < N_STRUCTS ? structs[i].name : NULL; }

llrt_status llrt_struct_get_info(const char *name, llrt_struct_info *info) {
  LLRT_ENTRY();
  LLRT_REQUIRE(name, "name is NULL");
  LLRT_REQUIRE(info, "info is NULL");
  for (int i = 0; i < N_STRUCTS; i++)
    if (strcmp(structs[i].name, name) == 0)
      return LLRT_PARAMS_WRITE(llrt_struct_info, info, &structs[i]);
  return llrt_error(LLRT_INVALID_ARGUMENT, "there is no struct '%s'", name);
}
