/* The public structs as the library in use knows them, for callers of languages that do not read
 * these headers: a binding compares its own declarations with this when it is loaded, or makes them
 * of it. docs/versions.md says which structs may grow. */
#ifndef LLRT_STRUCT_INFO_H
#define LLRT_STRUCT_INFO_H

#include <llrt/status.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct llrt_struct_field {
  const char *name;
  size_t offset, bytes; /* from the struct's beginning; of the whole field where it is an array */
  int64_t reserved[1];  /* 0 */
} llrt_struct_field;

typedef struct llrt_struct_info {
  size_t size;      /* set by the caller, or 0 */
  const char *name; /* "llrt_tensor" */
  size_t bytes, alignment;
  int32_t n_fields;
  int32_t reserved;
  const llrt_struct_field *fields; /* n_fields of them, in their order */
} llrt_struct_info;

/* What the struct of that name is. All texts and arrays are static. Thread: any. Errors:
 * INVALID_ARGUMENT for a name that no struct has. */
LLRT_API llrt_status llrt_struct_get_info(const char *name, llrt_struct_info *info);

/* The name of struct number `i`, counted from 0 in alphabetical order; NULL where there are no
 * more. Thread: any. */
LLRT_API const char *llrt_struct_name(int32_t i);

#ifdef __cplusplus
}
#endif
#endif
