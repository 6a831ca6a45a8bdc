/* Conversions with indices and counts, one a row, of storages that no pattern of index_cases.c has.
 */
#ifndef LLRT_TESTS_INDICES_INDEX_ROWS_H
#define LLRT_TESTS_INDICES_INDEX_ROWS_H

#include "index_cases.h"

int index_rows_count(void);
bool index_row_make(index_case *made, int number, uint64_t *seed);

#endif
