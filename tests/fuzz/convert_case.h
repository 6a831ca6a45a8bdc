/* Conversions made of bytes, for fuzz_convert. */
#ifndef LLRT_TESTS_CONVERT_CASE_H
#define LLRT_TESTS_CONVERT_CASE_H

#include "tests/conformance/conformance.h"
#include "tests/fuzz/fuzz.h"

#define STORAGE_TEXT_BYTES 1024

/* Writes a storage of `rank` axes for the shape: rows and columns, pitches that are known or (strides, which become theirs)
 * brought by the tensor, families of layouts, rules with tiles, digits, copies, offsets, swizzles and pads, and the
 * named ones. Many do not suit the shape; pads are values of `bits` bits. */
void storage_text_make(bytes *from, int rank, const int64_t *shape, int bits, int64_t *strides,
                       char text[STORAGE_TEXT_BYTES]);

/* Makes a conversion and the text of its storages. False: the storages do not suit the shape or the type. */
bool convert_case_make(bytes *from, conformance_case *made, char text[2][STORAGE_TEXT_BYTES]);

/* Whether a refusal with this message is a documented limit that the case passes. */
bool convert_case_may_be_refused(const char *why);

#endif
