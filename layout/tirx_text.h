/* TIRx notation, S[(extents):(strides)] + R[extents:strides] + offsets: writing it. */
#ifndef LLRT_LAYOUT_TIRX_TEXT_H
#define LLRT_LAYOUT_TIRX_TEXT_H

#include "layout/writer.h"

#include <llrt/storage.h>

/* Whether the notation is the way to write a valid storage: one axis, digits whose extents and
 * strides are numbers, no tile, no pads; and something in it that plain rules lack. */
bool tirx_is_writable(const llrt_storage *storage);

/* Precondition: as above, though without the last condition. */
void writer_add_tirx(writer *text, const llrt_storage *storage);

#endif
