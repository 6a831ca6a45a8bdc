/* See plan_choice.h. */
#include "jit/plan/plan_choice.h"

#include "base/memory.h"
#include "base/status.h"
#include "jit/plan/check/plan_view.h"
#include "jit/plan/plan_make.h"

#include <stdlib.h>
#include <string.h>

/* Numbers behind the tuned ones: wishes of plan_options, sizes of the target, the variant. */
typedef enum extra_number {
  EXTRA_PANELS,      /* plan_options.panels */
  EXTRA_WHOLE_RUNS,  /* plan_options.whole_runs */
  EXTRA_WHOLE_WORDS, /* plan_options.whole_words */
  EXTRA_STREAM,      /* plan_options.stream */
  EXTRA_TILE_BYTES,  /* plan_target's */
  EXTRA_RUN_BYTES,
  EXTRA_THREAD_BYTES,
  EXTRA_STRIP_LOADED, /* strip_bytes[0], [1] */
  EXTRA_STRIP_STORED,
  EXTRA_WIDE,    /* plan_options.wide */
  EXTRA_VARIANT, /* number of the variant, as explain counts them, from 0 */
  EXTRAS
} extra_number;

static const char *const extra_names[EXTRAS] = {
    [EXTRA_PANELS] = "panels",
    [EXTRA_WHOLE_RUNS] = "whole_runs",
    [EXTRA_WHOLE_WORDS] = "whole_words",
    [EXTRA_STREAM] = "stream",
    [EXTRA_TILE_BYTES] = "tile_bytes",
    [EXTRA_RUN_BYTES] = "run_bytes",
    [EXTRA_THREAD_BYTES] = "thread_bytes",
    [EXTRA_STRIP_LOADED] = "strip_loaded_bytes",
    [EXTRA_STRIP_STORED] = "strip_stored_bytes",
    [EXTRA_WIDE] = "wide",
    [EXTRA_VARIANT] = "variant",
};

static int count_numbers(void) { return plan_tuning_count() + EXTRAS; }

static const char *name_of(int number) {
  int tuned = plan_tuning_count();
  return number < tuned ? plan_tuning_name(number) : extra_names[number - tuned];
}

/* ---- choices as text ---- */

void plan_choice_print(const plan_choice *choice, llrt_text *out) {
  if (choice->n == 0) llrt_text_add(out, "planned");
  for (int i = 0; i < choice->n; i++)
    llrt_text_add(out, "%s%s=%.10g", i ? "," : "", name_of(choice->set[i].number),
                  choice->set[i].value);
}

static int find_name(const char *name, size_t length) {
  int n = count_numbers(), i = 0;
  while (i < n && (strlen(name_of(i)) != length || strncmp(name_of(i), name, length) != 0)) i++;
  return i < n ? i : -1;
}

bool plan_choice_parse(const char *text, plan_choice *choice) {
  *choice = (plan_choice){.n = 0};
  if (strcmp(text, "planned") == 0) return true;
  for (const char *at = text;; at++) {
    const char *equals = strchr(at, '=');
    int number = equals ? find_name(at, (size_t)(equals - at)) : -1;
    char *end;
    if (number < 0 || choice->n == PLAN_CHOICE_SETS) return false;
    double value = strtod(equals + 1, &end);
    if (end == equals + 1 || !(value >= 0 && value <= 1e15)) return false;
    choice->set[choice->n].number = number;
    choice->set[choice->n++].value = value;
    if (*end == 0) return true;
    if (*end != ',') return false;
    at = end;
  }
}

/* ---- planning by one ---- */

/* What a choice changes of planning. */
typedef struct changed {
  plan_target target;
  plan_options options;
  int variant; /* number; -1: none is asked for */
} changed;

static void set_extra(changed *c, extra_number extra, double value) {
  int number = (int)value;
  switch (extra) {
  case EXTRA_PANELS: c->options.panels = number; break;
  case EXTRA_WHOLE_RUNS: c->options.whole_runs = number != 0; break;
  case EXTRA_WHOLE_WORDS: c->options.whole_words = number != 0; break;
  case EXTRA_STREAM: c->options.stream = number != 0; break;
  case EXTRA_TILE_BYTES: c->target.tile_bytes = number; break;
  case EXTRA_RUN_BYTES: c->target.run_bytes = number; break;
  case EXTRA_THREAD_BYTES: c->target.thread_bytes = number; break;
  case EXTRA_STRIP_LOADED: c->target.strip_bytes[0] = number; break;
  case EXTRA_STRIP_STORED: c->target.strip_bytes[1] = number; break;
  case EXTRA_WIDE: c->options.wide = number != 0; break;
  case EXTRA_VARIANT: c->variant = number; break;
  case EXTRAS: break;
  }
}

static double get_extra(const plan_target *target, extra_number extra) {
  switch (extra) {
  case EXTRA_TILE_BYTES: return target->tile_bytes;
  case EXTRA_RUN_BYTES: return target->run_bytes;
  case EXTRA_THREAD_BYTES: return target->thread_bytes;
  case EXTRA_STRIP_LOADED: return target->strip_bytes[0];
  case EXTRA_STRIP_STORED: return target->strip_bytes[1];
  default: return 0;
  }
}

/* c->target.tuning is `tuning`, which is to live as long as kernels made for the target. */
static void apply(const plan_target *target, const plan_choice *choice, plan_tuning *tuning,
                  changed *c) {
  *c = (changed){.target = *target, .variant = -1};
  *tuning = *target->tuning;
  c->target.tuning = tuning;
  for (int i = 0; i < choice->n; i++) {
    int number = choice->set[i].number, extra = number - plan_tuning_count();
    if (extra < 0) plan_tuning_set(tuning, number, choice->set[i].value);
    else set_extra(c, (extra_number)extra, choice->set[i].value);
  }
}

int plan_pick(const plan *made, const llrt_tensor *first, int units) {
  int best = -1;
  int64_t least = 0;
  for (int i = 0; i < made->n_variants; i += 1 + made->variant[i].launch.later) {
    const plan_kernel *kernel = &made->variant[i];
    const plan_launch *launch =
        plan_launch_decides(&kernel->launch, &kernel[kernel->launch.later].launch);
    if (!plan_range_takes(&launch->range, first)) continue;
    if (launch->pace.units == 0) return best < 0 ? i : best;
    int64_t cost = plan_launch_cost(launch, first, units);
    if (best >= 0 && cost >= least) continue;
    best = i;
    least = cost;
  }
  return best;
}

/* The first kernel of variant `number`; n_variants: there is none. */
static int kernel_of(const plan *made, int number) {
  int kernel = 0;
  while (number-- > 0 && kernel < made->n_variants)
    kernel += 1 + made->variant[kernel].launch.later;
  return kernel;
}

static bool is_variant(const plan *made, int kernel, const llrt_tensor *first) {
  return kernel >= 0 && kernel < made->n_variants &&
         plan_range_takes(&made->variant[kernel].launch.range, first);
}

llrt_status plan_chosen_take(plan_chosen *made, int number, const llrt_tensor *first, int units) {
  made->variant =
      number < 0 ? plan_pick(&made->plan, first, units) : kernel_of(&made->plan, number);
  if (is_variant(&made->plan, made->variant, first)) return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED, "the plan has no variant %d for this shape", number);
}

llrt_status plan_choose(const op_description *desc, const plan_target *target,
                        const plan_choice *choice, const llrt_tensor *first, int units,
                        plan_chosen *out) {
  changed c;
  apply(target, choice, &out->tuning, &c);
  LLRT_TRY(plan_make(desc, &c.target, &c.options, &out->plan));
  return plan_chosen_take(out, c.variant, first, units);
}

int plan_choice_variant(const plan_choice *choice, plan_choice *numbers) {
  int variant = -1;
  *numbers = (plan_choice){.n = 0};
  for (int i = 0; i < choice->n; i++)
    if (choice->set[i].number == plan_tuning_count() + EXTRA_VARIANT)
      variant = (int)choice->set[i].value;
    else numbers->set[numbers->n++] = choice->set[i];
  return variant;
}

plan_kept *plan_chosen_keep(const plan_chosen *made) {
  const plan_kernel *stages = &made->plan.variant[made->variant];
  const size_t n = 1 + (size_t)stages->launch.later;
  plan_kept *kept = memory_new(sizeof *kept + n * sizeof *stages);
  if (!kept) return NULL;
  kept->tuning = made->tuning;
  kept->n = (int32_t)n;
  memcpy(kept->stage, stages, n * sizeof *stages);
  for (size_t i = 0; i < n; i++) kept->stage[i].target.tuning = &kept->tuning;
  return kept;
}

/* ---- neighbours ---- */

/* Whether a tuned number is one of the operation's planner. */
static bool concerns(llrt_op_kind kind, const char *name) {
  static const struct {
    const char *begin;
    llrt_op_kind kind;
  } owners[] = {{"reduce_", LLRT_OP_REDUCE},
                {"scan_", LLRT_OP_SCAN},
                {"rows_", LLRT_OP_COMPUTE},
                {"dot_", LLRT_OP_DOT},
                {"packed_", LLRT_OP_DOT}};
  for (size_t i = 0; i < sizeof owners / sizeof *owners; i++)
    if (strncmp(name, owners[i].begin, strlen(owners[i].begin)) == 0) return kind == owners[i].kind;
  return kind == LLRT_OP_CONVERT;
}

typedef struct list {
  const plan_choice *from;
  plan_choice *to;
  int n, most;
} list;

/* `from` with one more number, or another value of it. */
static void add(list *l, int number, double value) {
  plan_choice choice = *l->from;
  int at = 0;
  while (at < choice.n && choice.set[at].number != number) at++;
  if (at == PLAN_CHOICE_SETS || l->n == l->most) return;
  if (at == choice.n) choice.n++;
  choice.set[at].number = number;
  choice.set[at].value = value;
  l->to[l->n++] = choice;
}

/* made: the plan of l->from. */
static void add_variants(list *l, const plan_chosen *made, const llrt_tensor *first) {
  const plan *p = &made->plan;
  int number = plan_tuning_count() + EXTRA_VARIANT;
  for (int i = 0, v = 0; i < p->n_variants; i += 1 + p->variant[i].launch.later, v++)
    if (i != made->variant && is_variant(p, i, first)) add(l, number, v);
}

static void add_wishes(list *l, const plan_target *target) {
  static const struct {
    extra_number extra;
    int value;
  } on_gpus[] = {{EXTRA_PANELS, 1},
                 {EXTRA_PANELS, 2},
                 {EXTRA_PANELS, 3},
                 {EXTRA_WHOLE_RUNS, 1},
                 {EXTRA_WHOLE_WORDS, 1}};
  int tuned = plan_tuning_count(), n = (int)(sizeof on_gpus / sizeof *on_gpus);
  if (target->simd_lanes) add(l, tuned + EXTRA_STREAM, 1);
  for (int i = 0; i < n && !target->simd_lanes; i++)
    add(l, tuned + (int)on_gpus[i].extra, on_gpus[i].value);
}

/* Half and twice of what the number stands for. */
static void add_both(list *l, int number, double value, bool is_log, bool whole) {
  if (is_log && value >= 1) add(l, number, value - 1);
  if (is_log) add(l, number, value + 1);
  if (is_log || value <= 0) return;
  if (!whole || value >= 2) add(l, number, whole ? (double)((int64_t)value / 2) : value / 2);
  add(l, number, value * 2);
}

int plan_neighbours(const op_description *desc, const plan_target *target, const plan_choice *from,
                    const plan_chosen *made, const llrt_tensor *first, plan_choice *to, int most) {
  list l = {.from = from, .to = to, .most = most};
  changed c;
  plan_tuning tuning;
  apply(target, from, &tuning, &c);
  add_variants(&l, made, first);
  if (desc->kind == LLRT_OP_CONVERT) {
    add_wishes(&l, target);
    for (int extra = EXTRA_TILE_BYTES; extra <= EXTRA_STRIP_STORED; extra++)
      add_both(&l, plan_tuning_count() + extra, get_extra(&c.target, (extra_number)extra), false,
               true);
  }
  for (int i = 0; i < plan_tuning_count(); i++) {
    double value = plan_tuning_get(&tuning, i);
    const char *name = plan_tuning_name(i);
    if (concerns(desc->kind, name))
      add_both(&l, i, value, plan_tuning_is_log(i), value == (double)(int64_t)value);
  }
  return l.n;
}

int plan_variants(const plan_choice *from, const plan_chosen *made, const llrt_tensor *first,
                  plan_choice *to, int most) {
  list l = {.from = from, .to = to, .most = most};
  add_variants(&l, made, first);
  return l.n;
}

bool plan_widen(const op_description *desc, const plan_choice *from, plan_choice *wide) {
  int number = plan_tuning_count() + EXTRA_WIDE;
  list l = {.from = from, .to = wide, .most = 1};
  for (int i = 0; i < from->n; i++)
    if (from->set[i].number == number) return false;
  if (desc->kind == LLRT_OP_DOT) add(&l, number, 1);
  return l.n == 1;
}

/* ---- what a variant does ---- */

/* What launches do by themselves, and the text of a plan does not say. */
static void add_launch(const plan_launch *launch, llrt_text *text) {
  const plan_walk *walk = &launch->walk;
  llrt_text_add(text, "walk %lld %lld %lld %lld, blocks %d %d %d, threads %d, %d bytes\n",
                (long long)walk->blocks, (long long)walk->enough, (long long)walk->least,
                (long long)walk->results, launch->most_blocks, launch->rounds, launch->dealt,
                launch->threads, launch->block_bytes);
}

llrt_status plan_variant_hash(plan_chosen *made, llrt_hash *hash) {
  llrt_text text;
  llrt_text_init(&text);
  plan_kernel *stages = &made->plan.variant[made->variant];
  const plan_range range = stages->launch.range;
  stages->launch.range = (plan_range){.min_elements = 0};
  for (int i = 0; i <= stages->launch.later; i++) {
    plan_print_kernel(&stages[i], 0, &text);
    add_launch(&stages[i].launch, &text);
  }
  stages->launch.range = range;
  llrt_status status = llrt_text_status(&text);
  if (status == LLRT_OK) *hash = llrt_hash_bytes(text.data, text.length);
  llrt_text_fini(&text);
  return status;
}
