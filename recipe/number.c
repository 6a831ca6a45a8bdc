#include "recipe/number.h"

#include "base/status.h"

#include <string.h>

typedef struct parser {
  const char *text, *at, *end;
  const number_scope *scope; /* NULL: every name is 1 */
} parser;

static llrt_status fail(const parser *p, const char *message) {
  return llrt_error(LLRT_INVALID_ARGUMENT, "column %d of %.*s: %s", (int)(p->at - p->text) + 1,
                    (int)(p->end - p->text), p->text, message);
}

static void skip(parser *p) {
  while (p->at < p->end && *p->at == ' ') p->at++;
}

static bool accept(parser *p, char sign) {
  skip(p);
  if (p->at == p->end || *p->at != sign) return false;
  p->at++;
  return true;
}

/* ---- fractions ---- */

static int64_t common(int64_t a, int64_t b) {
  uint64_t x = a < 0 ? -(uint64_t)a : (uint64_t)a, y = b < 0 ? -(uint64_t)b : (uint64_t)b;
  while (y) {
    uint64_t rest = x % y;
    x = y;
    y = rest;
  }
  return x > INT64_MAX ? 1 : (int64_t)x;
}

/* over / under in lowest terms; false: `under` is 0, or a number does not fit. */
static bool reduce(int64_t over, int64_t under, fraction *out) {
  if (under == 0 || over == INT64_MIN || under == INT64_MIN) return false;
  int64_t divisor = common(over, under);
  if (under < 0) divisor = -divisor;
  *out = (fraction){over / divisor, under / divisor};
  return true;
}

static bool times(fraction a, fraction b, fraction *out) {
  fraction x, y; /* reduced crosswise first, so that what fits in the end fits on the way */
  int64_t over, under;
  return reduce(a.over, b.under, &x) && reduce(b.over, a.under, &y) &&
         !__builtin_mul_overflow(x.over, y.over, &over) &&
         !__builtin_mul_overflow(x.under, y.under, &under) && reduce(over, under, out);
}

static bool plus(fraction a, fraction b, int sign, fraction *out) {
  int64_t x, y, over, under;
  if (__builtin_mul_overflow(a.over, b.under, &x) || __builtin_mul_overflow(b.over, a.under, &y) ||
      __builtin_mul_overflow(a.under, b.under, &under))
    return false;
  return !(sign < 0 ? __builtin_sub_overflow(x, y, &over) : __builtin_add_overflow(x, y, &over)) &&
         reduce(over, under, out);
}

static int64_t floor_of(fraction a) {
  return a.over / a.under - (a.over % a.under != 0 && a.over < 0);
}

static int64_t ceil_of(fraction a) {
  return a.over / a.under + (a.over % a.under != 0 && a.over > 0);
}

static linear constant(int64_t value) { return (linear){.factor = {0, 1}, .rest = {value, 1}}; }

/* ---- the grammar ---- */

static llrt_status read_sum(parser *p, int depth, linear *value);

static llrt_status read_known(parser *p, int depth, fraction *value) {
  linear form;
  LLRT_TRY(read_sum(p, depth, &form));
  if (form.unknown)
    return llrt_error(LLRT_INVALID_ARGUMENT, "%.*s is not known", (int)form.unknown_length,
                      form.unknown);
  *value = form.rest;
  return LLRT_OK;
}

typedef struct function {
  const char *name;
  int arguments;
} function;

static const function functions[] = {
    {"ceil", 1}, {"floor", 1}, {"roundup", 2}, {"min", 2}, {"max", 2}};
enum { FUNCTION_COUNT = sizeof functions / sizeof functions[0] };

/* The values of a function; false where one does not fit. */
static bool apply(const char *name, const fraction *a, linear *value) {
  if (strcmp(name, "ceil") == 0) *value = constant(ceil_of(a[0]));
  else if (strcmp(name, "floor") == 0) *value = constant(floor_of(a[0]));
  else if (strcmp(name, "roundup") == 0) {
    fraction parts;
    *value = constant(0);
    if (a[1].over <= 0 || !times(a[0], (fraction){a[1].under, a[1].over}, &parts)) return false;
    return times((fraction){ceil_of(parts), 1}, a[1], &value->rest);
  } else {
    fraction gap;
    if (!plus(a[0], a[1], -1, &gap)) return false;
    *value = constant(0);
    value->rest = (gap.over < 0) == (name[1] == 'i') ? a[0] : a[1]; /* min, max */
  }
  return true;
}

static llrt_status read_function(parser *p, const function *f, int depth, linear *value) {
  fraction arguments[2] = {{0, 1}, {0, 1}};
  accept(p, '(');
  for (int i = 0; i < f->arguments; i++) {
    if (i && !accept(p, ',')) return fail(p, ", is missing");
    LLRT_TRY(read_known(p, depth, &arguments[i]));
  }
  if (!accept(p, ')')) return fail(p, ") is missing");
  if (!p->scope) arguments[1] = (fraction){1, 1};
  return apply(f->name, arguments, value) ? LLRT_OK : fail(p, "a number does not fit");
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static llrt_status read_name(parser *p, int depth, linear *value) {
  const char *name = p->at;
  while (p->at < p->end && (is_letter(*p->at) || is_digit(*p->at) || *p->at == '_')) p->at++;
  size_t n = (size_t)(p->at - name);
  skip(p);
  if (p->at < p->end && *p->at == '(') {
    for (int f = 0; f < FUNCTION_COUNT; f++)
      if (strlen(functions[f].name) == n && memcmp(functions[f].name, name, n) == 0)
        return read_function(p, &functions[f], depth, value);
    return fail(p, "no such function");
  }
  int64_t known = 1;
  int found = p->scope ? p->scope->find(p->scope->user, name, n, &known) : 1;
  if (found < 0)
    return llrt_error(LLRT_INVALID_ARGUMENT, "there is no %.*s", (int)(n < 64 ? n : 64), name);
  *value = constant(known);
  if (found == 0)
    *value = (linear){.unknown = name, .unknown_length = n, .factor = {1, 1}, .rest = {0, 1}};
  return LLRT_OK;
}

static llrt_status read_factor(parser *p, int depth, linear *value) {
  if (depth == NUMBER_MAX_DEPTH) return fail(p, "too deep");
  if (accept(p, '(')) {
    LLRT_TRY(read_sum(p, depth + 1, value));
    return accept(p, ')') ? LLRT_OK : fail(p, ") is missing");
  }
  if (accept(p, '-')) {
    LLRT_TRY(read_factor(p, depth + 1, value));
    value->factor.over = -value->factor.over; /* never INT64_MIN: reduce */
    value->rest.over = -value->rest.over;
    return LLRT_OK;
  }
  if (p->at < p->end && is_letter(*p->at)) return read_name(p, depth + 1, value);
  int64_t number = 0;
  const char *begin = p->at;
  for (; p->at < p->end && is_digit(*p->at); p->at++)
    if (__builtin_mul_overflow(number, 10, &number) ||
        __builtin_add_overflow(number, *p->at - '0', &number))
      return fail(p, "a number does not fit");
  if (p->at == begin) return fail(p, "a number is missing");
  *value = constant(number);
  return LLRT_OK;
}

static llrt_status multiply(parser *p, linear *value, linear other, bool divide) {
  if (divide) {
    if (!p->scope) other.rest = (fraction){1, 1};
    if (other.unknown) return fail(p, "what divides is not known");
    if (other.rest.over == 0) return fail(p, "a division by 0");
    if (!reduce(other.rest.under, other.rest.over, &other.rest))
      return fail(p, "a number does not fit");
  }
  if (other.unknown && value->unknown) return fail(p, "a product of unknown numbers");
  const linear *form = other.unknown ? &other : value;
  fraction by = other.unknown ? value->rest : other.rest;
  linear result = *form;
  if (!times(form->factor, by, &result.factor) || !times(form->rest, by, &result.rest))
    return fail(p, "a number does not fit");
  *value = result;
  return LLRT_OK;
}

static llrt_status read_product(parser *p, int depth, linear *value) {
  LLRT_TRY(read_factor(p, depth, value));
  for (;;) {
    bool divide = accept(p, '/');
    if (!divide && !accept(p, '*')) return LLRT_OK;
    linear other;
    LLRT_TRY(read_factor(p, depth, &other));
    LLRT_TRY(multiply(p, value, other, divide));
  }
}

static llrt_status read_sum(parser *p, int depth, linear *value) {
  LLRT_TRY(read_product(p, depth, value));
  for (;;) {
    bool minus = accept(p, '-');
    if (!minus && !accept(p, '+')) return LLRT_OK;
    linear other;
    LLRT_TRY(read_product(p, depth, &other));
    if (other.unknown && value->unknown) return fail(p, "an unknown number stands here twice");
    if (other.unknown) {
      value->unknown = other.unknown;
      value->unknown_length = other.unknown_length;
      value->factor = other.factor;
      if (minus) value->factor.over = -value->factor.over;
    }
    if (!plus(value->rest, other.rest, minus ? -1 : 1, &value->rest))
      return fail(p, "a number does not fit");
  }
}

/* ---- for others ---- */

llrt_status number_read(const char *text, size_t length, const number_scope *scope, linear *value) {
  parser p = {.text = text, .at = text, .end = text + length, .scope = scope};
  *value = constant(0);
  LLRT_TRY(read_sum(&p, 0, value));
  skip(&p);
  return p.at == p.end ? LLRT_OK : fail(&p, "something behind the end");
}

llrt_status number_whole(const char *text, size_t length, const number_scope *scope,
                         int64_t *value) {
  linear form;
  *value = 0;
  LLRT_TRY(number_read(text, length, scope, &form));
  if (form.unknown)
    return llrt_error(LLRT_INVALID_ARGUMENT, "%.*s is not known", (int)form.unknown_length,
                      form.unknown);
  LLRT_REQUIRE(form.rest.under == 1, "%.*s is %lld / %lld, and not whole", (int)length, text,
               (long long)form.rest.over, (long long)form.rest.under);
  *value = form.rest.over;
  return LLRT_OK;
}

llrt_status number_check(const char *text, size_t length) {
  linear value;
  return number_read(text, length, NULL, &value);
}

llrt_status number_solve(const linear *form, int64_t value, int64_t *unknown) {
  fraction gap, solved;
  *unknown = 0;
  bool fits = form->factor.over != 0 && plus((fraction){value, 1}, form->rest, -1, &gap) &&
              times(gap, (fraction){form->factor.under, form->factor.over}, &solved);
  if (fits && solved.under < 0) fits = reduce(solved.over, solved.under, &solved);
  LLRT_REQUIRE(fits && solved.under == 1 && solved.over >= 0, "no whole %.*s makes it %lld",
               (int)form->unknown_length, form->unknown, (long long)value);
  *unknown = solved.over;
  return LLRT_OK;
}
