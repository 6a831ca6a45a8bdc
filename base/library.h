/* Shared libraries opened at run time, and tables of functions filled from them. */
#ifndef LLRT_BASE_LIBRARY_H
#define LLRT_BASE_LIBRARY_H

#include <llrt/status.h>

#include <stdbool.h>
#include <stddef.h>

typedef struct llrt_library {
  void *handle; /* NULL: not open */
} llrt_library;

/* One entry of a table of function pointers: the symbol's name and the pointer's place in the
 * table. */
typedef struct llrt_library_symbol {
  const char *name;
  size_t offset;
  bool required;
} llrt_library_symbol;

/* Opens the first of names[count] that loads; `what` names the library in messages. It stays in the
 * process for good: drivers and compilers start threads and register handlers that outlive a close.
 * Errors: UNAVAILABLE, listing each name tried with the loader's reason. */
llrt_status llrt_library_open(const char *what, const char *const *names, int count,
                              llrt_library *library);

/* Opens the first of names[count] that the process has loaded already, by its name or soname; none:
 * library->handle is NULL. */
void llrt_library_find_loaded(const char *const *names, int count, llrt_library *library);

/* Gives the library back to the loader, which counts opens; closes nothing that is not open. */
void llrt_library_close(llrt_library *library);

/* The address of a symbol, NULL where the library has none. */
void *llrt_library_find(const llrt_library *library, const char *name);

/* Fills the function pointers of `table`; optional symbols that are absent become NULL. Errors:
 * UNAVAILABLE naming the first required symbol that is absent. */
llrt_status llrt_library_resolve(const llrt_library *library, const char *what,
                                 const llrt_library_symbol *symbols, int count, void *table);

#endif
