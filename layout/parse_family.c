/* name(keyword=value, …) with keywords in any order: one table a family, one function for all. */
#include "layout/parser.h"

#include "base/status.h"

#include <stddef.h>
#include <string.h>

typedef enum keyword_kind {
  KEYWORD_LIST,
  KEYWORD_INTEGER,
  KEYWORD_FLAG,         /* false or true */
  KEYWORD_REPEAT_ORDER, /* mn_then_k or k_then_mn */
  KEYWORD_VERSION,      /* a number, or a list */
  KEYWORD_FAMILY
} keyword_kind;

typedef struct keyword {
  const char *name;
  keyword_kind kind;
  bool required;
  size_t offset; /* of the field of `family` */
} keyword;

#define REQUIRED(kind, field) {#field, KEYWORD_##kind, true, offsetof(family, field)}
#define OPTIONAL(kind, field) {#field, KEYWORD_##kind, false, offsetof(family, field)}
#define CLUSTER_KEYWORDS \
  OPTIONAL(LIST, ctas_per_cga), OPTIONAL(LIST, cta_split), OPTIONAL(LIST, cta_order)
#define SWIZZLE_KEYWORDS \
  REQUIRED(INTEGER, vec), REQUIRED(INTEGER, per_phase), REQUIRED(INTEGER, max_phase), \
      REQUIRED(LIST, order), CLUSTER_KEYWORDS
#define MAX_KEYWORDS 10

static const struct rule {
  const char *name;
  family_kind kind;
  keyword keywords[MAX_KEYWORDS]; /* ends with a NULL name, or full */
} rules[] = {
    {"blocked",
     FAMILY_BLOCKED,
     {REQUIRED(LIST, size_per_thread), REQUIRED(LIST, threads_per_warp),
      REQUIRED(LIST, warps_per_cta), REQUIRED(LIST, order), CLUSTER_KEYWORDS}},
    {"nvmma",
     FAMILY_NVMMA,
     {REQUIRED(VERSION, version), REQUIRED(LIST, warps_per_cta), REQUIRED(LIST, instr_shape),
      CLUSTER_KEYWORDS}},
    {"slice", FAMILY_SLICE, {REQUIRED(INTEGER, dim), REQUIRED(FAMILY, parent)}},
    {"dot",
     FAMILY_DOT,
     {REQUIRED(INTEGER, operand), OPTIONAL(INTEGER, k_width), REQUIRED(FAMILY, parent)}},
    {"mfma",
     FAMILY_MFMA,
     {REQUIRED(VERSION, version), REQUIRED(LIST, instr_shape), OPTIONAL(FLAG, transposed),
      REQUIRED(LIST, warps_per_cta), OPTIONAL(LIST, tiles_per_warp),
      OPTIONAL(INTEGER, element_bits), CLUSTER_KEYWORDS}},
    {"wmma",
     FAMILY_WMMA,
     {REQUIRED(VERSION, version), OPTIONAL(LIST, instr_shape), OPTIONAL(FLAG, transposed),
      REQUIRED(LIST, warps_per_cta), OPTIONAL(LIST, tiles_per_warp), CLUSTER_KEYWORDS}},
    {"swizzled_shared", FAMILY_SWIZZLED_SHARED, {SWIZZLE_KEYWORDS}},
    {"rotating_shared", FAMILY_ROTATING_SHARED, {SWIZZLE_KEYWORDS}},
    {"nvmma_shared",
     FAMILY_NVMMA_SHARED,
     {REQUIRED(INTEGER, swizzle_bytes), REQUIRED(INTEGER, element_bits), OPTIONAL(FLAG, transposed),
      OPTIONAL(FLAG, fp4_padded), CLUSTER_KEYWORDS}},
    {"tensor_memory",
     FAMILY_TENSOR_MEMORY,
     {REQUIRED(INTEGER, block_m), REQUIRED(INTEGER, block_n), OPTIONAL(INTEGER, col_stride),
      OPTIONAL(FLAG, two_ctas), OPTIONAL(FLAG, fp4_padded), CLUSTER_KEYWORDS}},
    {"tensor_memory_scales",
     FAMILY_TENSOR_MEMORY_SCALES,
     {{"order", KEYWORD_REPEAT_ORDER, false, offsetof(family, k_then_mn)}, CLUSTER_KEYWORDS}},
};

/* The families of one expression: a chain of parents, the outermost first. */
typedef struct chain {
  int n;
  family link[FAMILY_MAX_DEPTH];
} chain;

static const struct rule *find_rule(const parser *self) {
  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
    if (parser_at_name(self, rules[i].name)) return &rules[i];
  return NULL;
}

bool parse_is_family(const parser *self) { return find_rule(self) != NULL; }

static llrt_status parse_call(parser *self, chain *links, const family **out);

/* One of two words; *value is 0 or 1. */
static llrt_status parse_choice(parser *self, const char *zero, const char *one, int64_t *value) {
  *value = parser_at_name(self, one);
  if (!*value && !parser_at_name(self, zero))
    return parser_fail_at(parser_column(self), "expected %s or %s", zero, one);
  parser_next(self);
  return LLRT_OK;
}

static llrt_status parse_version(parser *self, family_list *version) {
  if (self->token == '[') return parser_list(self, version);
  version->n = 1;
  return parser_integer(self, &version->value[0]);
}

static llrt_status parse_value(parser *self, chain *links, const keyword *key, family *into) {
  char *field = (char *)into + key->offset;
  switch (key->kind) {
  case KEYWORD_LIST: return parser_list(self, (family_list *)field);
  case KEYWORD_INTEGER: return parser_integer(self, (int64_t *)field);
  case KEYWORD_FLAG: return parse_choice(self, "false", "true", (int64_t *)field);
  case KEYWORD_REPEAT_ORDER: return parse_choice(self, "mn_then_k", "k_then_mn", (int64_t *)field);
  case KEYWORD_VERSION: return parse_version(self, (family_list *)field);
  case KEYWORD_FAMILY: return parse_call(self, links, (const family **)field);
  }
  return llrt_error(LLRT_INTERNAL, "keyword kind %d", (int)key->kind);
}

static int find_keyword(const parser *self, const struct rule *rule) {
  for (int i = 0; i < MAX_KEYWORDS && rule->keywords[i].name; i++)
    if (parser_at_name(self, rule->keywords[i].name)) return i;
  return -1;
}

/* keyword '=' value, noting in *given which keyword it was. */
static llrt_status parse_argument(parser *self, chain *links, const struct rule *rule, family *into,
                                  uint32_t *given) {
  if (self->token != TOKEN_NAME) return parser_fail(self, "expected a parameter's name");
  int key = find_keyword(self, rule);
  if (key < 0)
    return parser_fail_at(parser_column(self), "%s has no parameter '%.*s'", rule->name,
                          (int)self->length, self->text + self->start);
  if (*given >> key & 1)
    return parser_fail_at(parser_column(self), "%s is given twice", rule->keywords[key].name);
  *given |= 1u << key;
  parser_next(self);
  LLRT_TRY(parser_expect(self, '='));
  return parse_value(self, links, &rule->keywords[key], into);
}

/* name '(' [ argument { ',' argument } ] ')' */
static llrt_status parse_call(parser *self, chain *links, const family **out) {
  const struct rule *rule = find_rule(self);
  size_t column = parser_column(self);
  if (!rule && self->token != TOKEN_NAME) return parser_fail(self, "expected a layout family");
  if (!rule)
    return parser_fail_at(column, "unknown layout family '%.*s'", (int)self->length,
                          self->text + self->start);
  if (links->n == FAMILY_MAX_DEPTH)
    return parser_fail_at(column, "families are nested deeper than %d", FAMILY_MAX_DEPTH);
  family *made = &links->link[links->n++];
  *made = (family){.kind = rule->kind};
  parser_next(self);
  LLRT_TRY(parser_expect(self, '('));
  uint32_t given = 0;
  if (self->token != ')') {
    do {
      LLRT_TRY(parse_argument(self, links, rule, made, &given));
    } while (parser_accept(self, ','));
  }
  LLRT_TRY(parser_expect(self, ')'));
  for (int i = 0; i < MAX_KEYWORDS && rule->keywords[i].name; i++)
    if (rule->keywords[i].required && !(given >> i & 1))
      return parser_fail_at(column, "%s needs %s", rule->name, rule->keywords[i].name);
  *out = made;
  return LLRT_OK;
}

llrt_status parse_family(parser *self, llrt_layout *out) {
  chain links = {.n = 0};
  const family *outermost;
  size_t column = parser_column(self);
  LLRT_TRY(parse_call(self, &links, &outermost));
  llrt_status status = family_apply(outermost, self->rank, self->shape, out);
  return status ? llrt_error_prefix(status, "column %zu", column) : LLRT_OK;
}
