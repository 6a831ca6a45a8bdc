/* Names of tensors with {X} in them. */
#include "base/status.h"
#include "recipe/plan.h"

span names_find(const row_names *names, span name) {
  for (int i = 0; i < names->n; i++)
    if (span_is(names->entry[i].name, name)) return names->entry[i].value;
  return (span){NULL, 0};
}

bool names_add(row_names *names, span name, span value) {
  if (names->n == NAMES_MAX) return false;
  names->entry[names->n].name = name;
  names->entry[names->n++].value = value;
  return true;
}

/* ---- the pieces of a pattern: texts, and names that are not known ---- */

typedef struct name_piece {
  span text;
  bool open; /* a name */
} name_piece;

typedef struct pieces {
  const char *at, *end;
  span each; /* read instead of {each} */
  const char *rest, *rest_end;
} pieces;

static pieces pieces_of(span pattern, span each) {
  return (pieces){.at = pattern.text, .end = pattern.text + pattern.length, .each = each};
}

/* The next piece; length 0 and not open: the end. Errors: a brace without its other. */
static llrt_status next_piece(pieces *p, name_piece *out) {
  *out = (name_piece){.text = {NULL, 0}};
  if (p->at == p->end && p->rest) {
    p->at = p->rest;
    p->end = p->rest_end;
    p->rest = NULL;
  }
  if (p->at == p->end) return LLRT_OK;
  if (*p->at != '{') {
    out->text.text = p->at;
    while (p->at < p->end && *p->at != '{') p->at++;
    out->text.length = (size_t)(p->at - out->text.text);
    return LLRT_OK;
  }
  const char *close = memchr(p->at, '}', (size_t)(p->end - p->at));
  if (!close || close == p->at + 1)
    return llrt_error(LLRT_INVALID_ARGUMENT, "a { without its } in a name");
  *out = (name_piece){.text = {p->at + 1, (size_t)(close - p->at - 1)}, .open = true};
  p->at = close + 1;
  if (!span_is(out->text, span_of("each"))) return LLRT_OK;
  if (p->rest || p->each.text == NULL)
    return llrt_error(LLRT_INVALID_ARGUMENT, "{each} inside of each");
  p->rest = p->at;
  p->rest_end = p->end;
  p->at = p->each.text;
  p->end = p->each.text + p->each.length;
  p->each.text = NULL;
  return next_piece(p, out);
}

/* The text that must follow at once, of a piece; NULL text: any. */
static span fixed(const name_piece *piece, const row_names *known) {
  return piece->open ? names_find(known, piece->text) : piece->text;
}

static const char *find(const char *from, const char *end, span text) {
  return text.length <= (size_t)(end - from)
             ? memmem(from, (size_t)(end - from), text.text, text.length)
             : NULL;
}

/* Each open name takes the shortest text behind which the rest may follow, which is as good as any
 * but for the last: that takes what is left. */
llrt_status names_match(span pattern, span each, span text, row_names *known, bool *matches) {
  pieces p = pieces_of(pattern, each);
  const char *at = text.text, *end = text.text + text.length;
  name_piece piece;
  span open = {NULL, 0};
  *matches = false;
  for (;;) {
    LLRT_TRY(next_piece(&p, &piece));
    if (piece.text.length == 0) break;
    span want = fixed(&piece, known);
    if (!want.text) {
      if (open.text)
        return llrt_error(LLRT_INVALID_ARGUMENT, "two names in braces without a text between");
      open = piece.text;
      continue;
    }
    bool last = p.at == p.end && !p.rest;
    const char *found = at;
    if (open.text && last) found = (size_t)(end - at) > want.length ? end - want.length : end;
    else if (open.text) found = at < end ? find(at + 1, end, want) : NULL;
    if (!found || want.length > (size_t)(end - found) || memcmp(found, want.text, want.length) != 0)
      return LLRT_OK;
    if (open.text && !names_add(known, open, (span){at, (size_t)(found - at)}))
      return llrt_error(LLRT_UNSUPPORTED, "more than %d names in braces", NAMES_MAX);
    open.text = NULL;
    at = found + want.length;
  }
  if (open.text) {
    if (at == end) return LLRT_OK;
    if (!names_add(known, open, (span){at, (size_t)(end - at)}))
      return llrt_error(LLRT_UNSUPPORTED, "more than %d names in braces", NAMES_MAX);
    at = end;
  }
  *matches = at == end;
  return LLRT_OK;
}

llrt_status names_expand(span pattern, span each, const row_names *known, llrt_text *out) {
  pieces p = pieces_of(pattern, each);
  name_piece piece;
  for (;;) {
    LLRT_TRY(next_piece(&p, &piece));
    if (piece.text.length == 0) break;
    span text = fixed(&piece, known);
    if (!text.text)
      return llrt_error(LLRT_INVALID_ARGUMENT, "{%.*s} is in no name of the row's first input",
                        (int)piece.text.length, piece.text.text);
    llrt_text_add_bytes(out, text.text, text.length);
  }
  return llrt_text_status(out);
}
