/* Texts of others in messages: of files, saved kernels, callers. The library's messages go through
 * it, and the command line's. */
#ifndef LLRT_BASE_ESCAPE_H
#define LLRT_BASE_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Bytes of the UTF-8 character that begins here and may be shown as it is; 0: none does (the table
 * of well-formed byte sequences, Unicode 3.9, D92; controls are C0, DEL and C1). */
static inline size_t llrt_escape_keeps(const unsigned char *at) {
  if (at[0] >= 0x20 && at[0] < 0x7f) return 1;
  size_t n = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
  if (at[0] < 0xc2 || at[0] > 0xf4) return 0;
  for (size_t i = 1; i < n; i++)
    if (at[i] < 0x80 || at[i] > 0xbf) return 0; /* the text's end, too */
  unsigned first = (unsigned)at[0] << 8 | at[1];
  bool overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
  bool no_character = (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf4 && at[1] > 0x8f);
  return overlong || no_character || (first >= 0xc280 && first <= 0xc29f) ? 0 : n;
}

/* Copies a text into out[size], whole characters of it: what is not printable (bytes below 0x20,
 * 0x7f to 0x9f) or no UTF-8 becomes \xNN. Returns the length. */
static inline size_t llrt_escape(const char *text, char *out, size_t size) {
  const unsigned char *at = (const unsigned char *)text;
  size_t used = 0;
  while (*at && size > 0) {
    size_t n = llrt_escape_keeps(at), needed = n ? n : 4;
    if (needed >= size - used) break;
    if (n) memcpy(out + used, at, n);
    else snprintf(out + used, size - used, "\\x%02x", *at);
    used += needed;
    at += n ? n : 1;
  }
  if (size > 0) out[used] = 0;
  return used;
}

#endif
