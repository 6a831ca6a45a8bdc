/* Padded shared memory as text:
 *
 *   padded_shared(interval_padding=[[64,8],…], order=[1,0], ctas_per_cga=[…], cta_split=[…],
 * cta_order=[…]) padded_shared(interval_padding=[[64,8],…], linear={offset: …, block: …} ->
 * [dim0:…, …]) */
#include "base/status.h"
#include "layout/storage_parser.h"

#include <llrt/storage_padded.h>

enum { INTERVALS, ORDER, CTAS_PER_CGA, CTA_SPLIT, CTA_ORDER, LINEAR, N_KEYS };
static const char *const keys[N_KEYS] = {"interval_padding", "order",     "ctas_per_cga",
                                         "cta_split",        "cta_order", "linear"};

/* What has been read. */
typedef struct padded_text {
  llrt_padded_params params;
  llrt_layout linear;
  uint32_t given; /* a bit a key */
} padded_text;

bool parse_is_padded(const parser *self) { return parser_at_name(self, "padded_shared"); }

/* pair := '[' interval ',' padding ']' */
static llrt_status parse_intervals(parser *self, llrt_padded_params *params) {
  LLRT_TRY(parser_expect(self, '['));
  if (parser_accept(self, ']')) return LLRT_OK;
  do {
    family_list pair;
    size_t column = parser_column(self);
    LLRT_TRY(parser_list(self, &pair));
    if (pair.n != 2) return parser_fail_at(column, "expected [interval, padding]");
    if (params->n_intervals == LLRT_MAX_INTERVALS)
      return parser_fail_at(column, "more than %d intervals", LLRT_MAX_INTERVALS);
    params->interval[params->n_intervals] = pair.value[0];
    params->padding[params->n_intervals++] = pair.value[1];
  } while (parser_accept(self, ','));
  return parser_expect(self, ']');
}

/* A list with one entry an axis. */
static llrt_status parse_axes(parser *self, const char *what, family_list *list) {
  size_t column = parser_column(self);
  LLRT_TRY(parser_list(self, list));
  if (list->n != self->rank)
    return parser_fail_at(column, "%s has %d entries, not %d", what, list->n, self->rank);
  return LLRT_OK;
}

static llrt_status parse_numbers(parser *self, const char *what, int64_t *numbers) {
  family_list list;
  LLRT_TRY(parse_axes(self, what, &list));
  for (int i = 0; i < list.n; i++) numbers[i] = list.value[i];
  return LLRT_OK;
}

static llrt_status parse_order(parser *self, const char *what, int *order) {
  family_list list;
  LLRT_TRY(parse_axes(self, what, &list));
  for (int i = 0; i < list.n; i++)
    order[i] = list.value[i] < LLRT_MAX_RANK ? (int)list.value[i] : LLRT_MAX_RANK;
  return LLRT_OK;
}

static llrt_status parse_value(parser *self, int key, padded_text *out) {
  llrt_padded_params *params = &out->params;
  switch (key) {
  case INTERVALS: return parse_intervals(self, params);
  case ORDER: return parse_order(self, keys[key], params->order);
  case CTAS_PER_CGA: return parse_numbers(self, keys[key], params->cluster.ctas_per_cga);
  case CTA_SPLIT: return parse_numbers(self, keys[key], params->cluster.cta_split);
  case CTA_ORDER: return parse_order(self, keys[key], params->cluster.cta_order);
  default: return parse_layout(self, &out->linear);
  }
}

static llrt_status parse_keys(parser *self, padded_text *out) {
  parser_next(self);
  LLRT_TRY(parser_expect(self, '('));
  do {
    int key;
    LLRT_TRY(
        parser_key(self, keys, N_KEYS,
                   "expected interval_padding, order, linear, ctas_per_cga, cta_split or cta_order",
                   &out->given, &key));
    LLRT_TRY(parse_value(self, key, out));
  } while (parser_accept(self, ','));
  return parser_expect(self, ')');
}

static llrt_status check_keys(size_t column, uint32_t given) {
  const uint32_t blocks = 1u << CTAS_PER_CGA | 1u << CTA_SPLIT | 1u << CTA_ORDER;
  if (!(given >> INTERVALS & 1))
    return parser_fail_at(column, "padded_shared needs interval_padding");
  if ((given & blocks) != 0 && (given & blocks) != blocks)
    return parser_fail_at(column, "ctas_per_cga, cta_split and cta_order go together");
  if (given >> LINEAR & 1 && given & (blocks | 1u << ORDER))
    return parser_fail_at(column, "linear says the order and the blocks");
  return LLRT_OK;
}

llrt_status parse_padded(parser *self, llrt_storage *out) {
  padded_text text = {.params = {.rank = self->rank}};
  llrt_padded_params *params = &text.params;
  for (int i = 0; i < params->rank; i++) params->order[i] = params->rank - 1 - i;
  size_t column = parser_column(self);
  LLRT_TRY(parse_keys(self, &text));
  LLRT_TRY(check_keys(column, text.given));
  if (text.given >> LINEAR & 1) {
    params->linear = &text.linear;
    if (!self->shape && params->rank == 0) params->rank = text.linear.n_out;
  }
  llrt_status status = llrt_storage_padded_shared(params, self->shape, out);
  return status ? llrt_error_prefix(status, "column %zu", column) : LLRT_OK;
}
