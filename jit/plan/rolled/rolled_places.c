/* See rolled_places.h. */
#include "jit/plan/rolled/rolled_places.h"

#include "base/bits.h"
#include "jit/plan/rolled/rolled_steps.h"
#include "jit/plan/rolled/rolled_straight.h"

#include <string.h>

/* The runs from the first to the last that take or leave a value. */
typedef struct lifetime {
  int first, last, uses, bits; /* bits: the most that one of them has */
  bool made;   /* the first one leaves it: its turns store it behind what they take */
  bool places; /* all of them have places */
} lifetime;

static lifetime lifetime_of(const rolled *found, int value) {
  lifetime l = {.first = -1};
  for (int i = 0; i < found->n_runs; i++) {
    const rolled_run *run = &found->run[i];
    int taken = 0, left = 0;
    for (int k = 0; k < run->n_in; k++) taken += run->in[k] == value;
    for (int k = 0; k < run->n_out; k++) left += run->out[k] == value;
    if (taken + left == 0) continue;
    if (l.first < 0) l = (lifetime){.first = i, .made = taken == 0, .places = true};
    l.places &= run->places;
    l.last = i;
    l.bits = bits_max(l.bits, run->bits);
    l.uses++;
  }
  return l;
}

/* Whether nothing of `later` is stored before the last of `earlier` was read. */
static bool follows(const lifetime *earlier, const lifetime *later) {
  return earlier->last < later->first || (earlier->last == later->first && later->made);
}

/* The place of a value that has as many bytes, and of all that share it, where this one is not
 * there at the same time; -1: there is none. */
static int32_t place_to_share(const rolled_places *places, const plan_kernel *kernel,
                              const rolled *found, int value) {
  lifetime own = lifetime_of(found, value);
  for (int i = 0; i < kernel->n_values; i++) {
    bool free = places->offset[i] >= 0 && rolled_bytes(kernel, i) == rolled_bytes(kernel, value);
    for (int k = 0; k < kernel->n_values && free; k++) {
      lifetime other = lifetime_of(found, k);
      if (places->offset[k] != places->offset[i]) continue;
      free = follows(&other, &own) || follows(&own, &other);
    }
    if (free) return places->offset[i];
  }
  return -1;
}

/* Whether something that is not made by turns takes the value, from registers. */
static bool is_taken_whole(const plan_kernel *kernel, const rolled *found, const lifetime *own,
                           int value) {
  const rolled_run *first = &found->run[own->first];
  return rolled_wants_whole(kernel, found, first, value) ||
         (own->made && rolled_makes_again_of(kernel, first, value));
}

static void choose(rolled_places *places, const plan_kernel *kernel, const rolled *found, int value,
                   int uses) {
  lifetime own = lifetime_of(found, value);
  int bytes = rolled_bytes(kernel, value);
  if (places->offset[value] >= 0 || own.uses < uses || !own.places ||
      !rolled_may_wait(kernel, value, own.bits) || is_taken_whole(kernel, found, &own, value))
    return;
  places->offset[value] = place_to_share(places, kernel, found, value);
  if (places->offset[value] >= 0 || places->bytes + bytes > rolled_room(kernel)) return;
  places->offset[value] = places->bytes;
  places->bytes += bytes;
}

void rolled_give_places(const plan_kernel *kernel, const rolled *found, rolled_places *places) {
  if (found->straight) {
    rolled_place_straight(kernel, found, places);
    return;
  }
  places->bytes = 0;
  for (int i = 0; i < PLAN_MAX_VALUES; i++) places->offset[i] = -1;
  memset(places->turns, 1 << ROLLED_MOST_BITS, sizeof places->turns);
  /* What several runs want comes first. */
  for (int uses = 2; uses > 0; uses--)
    for (int i = 0; i < found->n_runs; i++) {
      const rolled_run *run = &found->run[i];
      for (int k = 0; k < run->n_out; k++) choose(places, kernel, found, run->out[k], uses);
      for (int k = 0; k < run->n_in; k++) choose(places, kernel, found, run->in[k], uses);
    }
}

/* What a step that is made once for all of a thread's elements takes may be made so late that no
 * register waits with it: what runs make again behind them, and what such steps make of it. */
static bool is_late(const plan_kernel *kernel, const rolled *found, int value, int before) {
  int at = rolled_maker(kernel, value, before);
  bool few = rolled_words(kernel, value) < 1 << found->run[0].bits;
  if (few || kernel->value[value].word > 0 || at < 0) return at >= 0;
  for (int i = 0; i < found->n_runs; i++)
    for (int k = 0; k < found->run[i].n_behind; k++)
      if (found->run[i].behind[k] == at) return true;
  bool late = rolled_may_turn(kernel, &kernel->step[at]) && at >= found->run[0].end;
  rolled_operands o = rolled_operands_of(&kernel->step[at]);
  for (int i = 0; i < o.n && late; i++) late = is_late(kernel, found, o.value[i], at);
  return late;
}

static bool in_run(const rolled *found, int step) {
  bool in = false;
  for (int i = 0; i < found->n_runs; i++)
    in |= found->run[i].first <= step && step < found->run[i].end;
  return in;
}

static bool all_placed(const rolled_places *places, const int *values, int n) {
  bool all = true;
  for (int i = 0; i < n; i++) all &= places->offset[values[i]] >= 0;
  return all;
}

bool rolled_all_waits(const plan_kernel *kernel, int most) {
  rolled found;
  rolled_places places;
  rolled_find(kernel, &found);
  rolled_give_places(kernel, &found, &places);
  bool all = found.n_runs > 0 && rolled_first_byte(kernel) + places.bytes <= most;
  for (int i = 0; i < found.n_runs && all; i++) {
    const rolled_run *run = &found.run[i];
    all = all_placed(&places, run->in, run->n_in) && all_placed(&places, run->out, run->n_out);
  }
  for (int i = 0; i < kernel->n_steps && all; i++) {
    const plan_step *step = &kernel->step[i];
    bool whole = rolled_registers(kernel, step) >= found.run[0].registers;
    if (!whole || !rolled_may_turn(kernel, step) || in_run(&found, i)) continue;
    rolled_operands o = rolled_operands_of(step);
    for (int k = 0; k < o.n; k++) all &= is_late(kernel, &found, o.value[k], i);
  }
  return all;
}

void rolled_reserve(plan_kernel *kernel) {
  rolled found;
  rolled_places places;
  rolled_find(kernel, &found);
  rolled_give_places(kernel, &found, &places);
  if (places.bytes == 0) return;
  kernel->waiting = rolled_first_byte(kernel);
  kernel->launch.shared_bytes = kernel->waiting + places.bytes;
}
