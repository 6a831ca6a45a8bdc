/* An input read byte by byte. */
#include "tests/fuzz/fuzz.h"

uint8_t bytes_next(bytes *from) { return from->at < from->size ? from->data[from->at++] : 0; }
