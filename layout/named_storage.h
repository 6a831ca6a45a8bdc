/* The table of named storages. */
#ifndef LLRT_LAYOUT_NAMED_STORAGE_H
#define LLRT_LAYOUT_NAMED_STORAGE_H

#include <llrt/storage_named.h>

extern const llrt_named_storage named_storages[];
extern const int named_storages_count;

#endif
