/* Steps by turns (rolled.h). Registers cannot be numbered when a kernel runs: the words of a value
 * move down by a turn's part from turn to turn, so that each turn finds its own in front, and what
 * turns make moves in from behind. In a turn values are those of a plan whose highest registers a
 * loop's iterations count (PLAN_LOOP). */
#include "jit/emit/control/emit_rolled.h"

#include "jit/emit/control/emit_control.h"
#include "jit/emit/control/emit_rolled_places.h"
#include "jit/emit/core/builder.h"
#include "jit/emit/value/emit_value.h"

#include "base/memory.h"
#include "base/status.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/types/combine.h"

#include <stdlib.h>
#include <string.h>

#define MOST_MOVED (3 * ROLLED_MOST_VALUES)

/* Words that move down by `part` of them from turn to turn. */
typedef struct moved {
  int n, part;
  emit_words now, next; /* phis; what they are in the next turn */
} moved;

typedef struct touched {
  int value;
  emit_words words;
  uint8_t halves;
  const plan_step *lazy;
} touched;

struct emit_rolling {
  rolled found;
  const plan_kernel *kernel; /* the plan */
  plan_kernel turn;          /* as turns see it */
  emit_waiting places;
  int n_moved;
  moved moved[MOST_MOVED];
  moved *in[ROLLED_MOST_VALUES];   /* by number of run->in; NULL: it lies in its place */
  moved *out[ROLLED_MOST_VALUES];  /* the same of run->out */
  moved *late[ROLLED_MOST_VALUES]; /* the same of what run->late load */
  bool loaded;                     /* the first turns' parts of that */
  int n_joined;                    /* number of the first of what turns join */
  int n_touched;
  touched touched[ROLLED_MOST_STEPS + 2 * ROLLED_MOST_VALUES];
};

llrt_status emit_rolling_begin(const plan_kernel *kernel, emit_rolling **out) {
  rolled found;
  *out = NULL;
  rolled_find(kernel, &found);
  if (found.n_runs == 0) return LLRT_OK;
  emit_rolling *r = memory_new(sizeof *r);
  if (!r) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory to emit a kernel");
  r->found = found;
  r->kernel = kernel;
  r->turn = *kernel;
  r->loaded = false;
  r->places = (emit_waiting){.stored = {false}};
  rolled_give_places(kernel, &r->found, &r->places.given);
  *out = r;
  return LLRT_OK;
}

void emit_rolling_end(emit_rolling *r) { free(r); }

static const rolled_run *run_at(const emit_rolling *r, int first) {
  for (int i = 0; i < r->found.n_runs; i++)
    if (r->found.run[i].first == first) return &r->found.run[i];
  return NULL;
}

/* ---- what steps leave under numbers of values ---- */

static void touch(emitter *e, emit_rolling *r, int value) {
  touched *t = &r->touched[r->n_touched++];
  t->value = value;
  memcpy(t->words, e->value[value], sizeof t->words);
  t->halves = e->halves[value];
  t->lazy = e->lazy[value];
}

static void touch_all(emitter *e, emit_rolling *r, const rolled_run *run) {
  r->n_touched = 0;
  for (int i = 0; i < run->n_in; i++) touch(e, r, run->in[i]);
  for (int i = 0; i < run->n_late; i++) touch(e, r, r->kernel->step[run->late[i]].out);
  for (int i = 0; i < run->n_turn; i++) {
    const plan_step *step = &r->kernel->step[run->turn[i]];
    if (step->kind != PLAN_STORE) touch(e, r, step->out);
  }
}

static void put_back(emitter *e, const emit_rolling *r) {
  for (int i = r->n_touched - 1; i >= 0; i--) {
    const touched *t = &r->touched[i];
    memcpy(e->value[t->value], t->words, sizeof t->words);
    e->halves[t->value] = t->halves;
    e->lazy[t->value] = t->lazy;
  }
}

/* ---- moving ---- */

/* first: words in the first turn; NULL: none yet, which are 0: where one is undefined before a
 * loop, ptxas 13.0 takes what it is in the next turn for what it is in this one. */
static moved *move_words(emitter *e, emit_rolling *r, int n, int part, LLVMValueRef *first,
                         LLVMTypeRef type, LLVMBasicBlockRef before) {
  moved *m = &r->moved[r->n_moved++];
  m->n = n;
  m->part = part;
  for (int i = 0; i < n; i++) {
    LLVMValueRef word = first ? first[i] : LLVMConstNull(type);
    m->now[i] = LLVMBuildPhi(e->builder, LLVMTypeOf(word), "");
    LLVMAddIncoming(m->now[i], &word, &before, 1);
  }
  for (int i = 0; i < n; i++)
    m->next[i] = i + part < n ? m->now[i + part] : LLVMGetUndef(LLVMTypeOf(m->now[i]));
  return m;
}

/* A word of a value, made now if it is made when it is asked for. Casts may have left two elements
 * in a word (emit_halves.c): what moves has one. */
static LLVMValueRef word_now(emitter *e, int value, int word) {
  return e->halves[value] ? emit_register(e, value, word) : emit_word(e, value, word);
}

/* What the turn made comes last. */
static void take_made(emitter *e, moved *m, int value) {
  for (int i = 0; i < m->part; i++) m->next[m->n - m->part + i] = word_now(e, value, i);
}

static int words_of(const plan_kernel *kernel, int value) {
  return emit_word_count(&kernel->value[value]);
}

static LLVMTypeRef word_type(const emitter *e, const plan_value *value) {
  return emit_int_type(e, value->bits == 64 ? 64 : 32);
}

/* ---- a run ---- */

/* Highest registers become iterations. */
static void turn_values(emit_rolling *r, const rolled_run *run) {
  memcpy(r->turn.value, r->kernel->value, sizeof r->turn.value);
  for (int i = 0; i < r->kernel->n_values; i++)
    if (rolled_has_parts(r->kernel, run, i)) plan_iterate_registers(&r->turn.value[i], run->bits);
}

/* Of all turns, in the tree's order: the highest register bit is joined last. */
static emit_pair join_turns(emitter *e, const plan_step *step, const moved *keys,
                            const moved *positions, int bits, int turn, int word) {
  if (bits == 0) {
    int at = turn * keys->part + word;
    return (emit_pair){.key = keys->now[at], .index = positions ? positions->now[at] : NULL};
  }
  emit_pair low = join_turns(e, step, keys, positions, bits - 1, turn, word);
  emit_pair high = join_turns(e, step, keys, positions, bits - 1, turn | 1 << (bits - 1), word);
  return emit_join(e, step, low, high);
}

static void join_all(emitter *e, const plan_step *step, const moved *keys, const moved *positions,
                     int bits) {
  for (int w = 0; w < keys->part; w++) {
    emit_pair made = join_turns(e, step, keys, positions, bits, 0, w);
    e->value[step->out][w] = made.key;
    if (positions) e->value[step->index_out][w] = made.index;
  }
}

/* What turns make comes in where what they take goes out, if there is as much of that. */
static moved *room_for(emit_rolling *r, const rolled_run *run, int n) {
  for (int i = 0; i < run->n_in; i++) {
    bool taken = !r->in[i] || r->in[i]->n != n;
    for (int k = 0; k < run->n_out; k++) taken |= r->out[k] == r->in[i];
    if (!taken) return r->in[i];
  }
  return NULL;
}

/* Whether the value's words wait in shared memory. */
static bool has_place(const emit_rolling *r, int value) {
  return r->places.given.offset[value] >= 0;
}

/* All words of the values of which turns take their parts, before the loop. */
static void take_whole(emitter *e, emit_rolling *r, const rolled_run *run) {
  for (int i = 0; i < run->n_in; i++) {
    int value = run->in[i], n = words_of(r->kernel, value), part = n >> run->bits;
    emit_words words;
    if (r->places.stored[value]) continue;
    for (int k = 0; k < n; k++) words[k] = word_now(e, value, k);
    memcpy(e->value[value], words, (size_t)n * sizeof *words);
    for (int k = 0; k < n && has_place(r, value); k += part)
      emit_place_words(e, &r->places, value, emit_i64(e, k / part), part, &words[k]);
    r->places.stored[value] = has_place(r, value);
    e->halves[value] = 0;
    e->lazy[value] = NULL;
  }
}

/* Words of what a step joins: of all turns, as the tree wants them; or, where it may be joined in
 * any grouping, what the turns before this one have given, at first what changes nothing. */
static void open_joined(emitter *e, emit_rolling *r, const rolled_run *run, const plan_step *step,
                        int value, LLVMBasicBlockRef before) {
  int n = words_of(r->kernel, value);
  LLVMTypeRef type = word_type(e, &r->kernel->value[value]);
  if (!combine_regroups(step->combiner, (llrt_dtype)step->type)) {
    move_words(e, r, n << run->bits, n, NULL, type, before);
    return;
  }
  emit_words first;
  for (int i = 0; i < n; i++)
    first[i] = value == step->out
                   ? emit_combine_identity(step->combiner, (llrt_dtype)step->type, type)
                   : LLVMConstNull(type);
  move_words(e, r, n, n, first, type, before);
}

/* Values that are there; then those that turns make; then what they join. */
static void open_moves(emitter *e, emit_rolling *r, const rolled_run *run,
                       LLVMBasicBlockRef before) {
  r->n_moved = 0;
  for (int i = 0; i < run->n_in; i++) {
    int value = run->in[i], n = words_of(r->kernel, value);
    emit_words words;
    r->in[i] = NULL;
    if (has_place(r, value)) continue;
    memcpy(words, e->value[value], (size_t)n * sizeof *words);
    moved *m = r->in[i] = move_words(e, r, n, n >> run->bits, words, NULL, before);
    memcpy(e->value[value], m->now, (size_t)m->part * sizeof *m->now);
  }
  for (int i = 0; i < run->n_late; i++) {
    int value = r->kernel->step[run->late[i]].out, part = words_of(&r->turn, value);
    int n = part * ROLLED_AHEAD;
    moved *m = r->late[i] = move_words(e, r, n, part, e->value[value], NULL, before);
    memcpy(e->value[value], m->now, (size_t)n * sizeof *m->now);
  }
  memset(r->out, 0, sizeof r->out);
  for (int i = 0; i < run->n_out; i++) {
    int n = words_of(r->kernel, run->out[i]);
    LLVMTypeRef type = word_type(e, &r->kernel->value[run->out[i]]);
    if (has_place(r, run->out[i])) continue;
    r->out[i] = room_for(r, run, n);
    if (!r->out[i] || LLVMTypeOf(r->out[i]->now[0]) != type)
      r->out[i] = move_words(e, r, n, n >> run->bits, NULL, type, before);
  }
  r->n_joined = r->n_moved;
  for (int i = 0; i < run->n_turn; i++) {
    const plan_step *step = &r->kernel->step[run->turn[i]];
    if (!rolled_joins(r->kernel, run, step)) continue;
    open_joined(e, r, run, step, step->out, before);
    if (step->pairs) open_joined(e, r, run, step, step->index_out, before);
  }
}

/* ---- weights that turns load ---- */

/* Emits a step that loads, of one turn. */
static void load_turn(emitter *e, const emit_rolling *r, int step, LLVMValueRef turn) {
  LLVMValueRef before = e->iteration;
  e->kernel = &r->turn;
  e->iteration = turn;
  emit_steps(e, step, 1);
  e->iteration = before;
  e->kernel = r->kernel;
}

/* What a later turn takes; behind the last one comes what the first ones had. */
static void load_ahead(emitter *e, emit_rolling *r, const rolled_run *run) {
  if (run->n_late == 0 || ROLLED_AHEAD == 1 << run->bits) return;
  LLVMValueRef turn = emit_add(e, e->iteration, emit_i64(e, ROLLED_AHEAD));
  turn = emit_and(e, turn, emit_i64(e, (1 << run->bits) - 1));
  for (int i = 0; i < run->n_late; i++) {
    moved *m = r->late[i];
    LLVMValueRef *words = e->value[r->kernel->step[run->late[i]].out];
    load_turn(e, r, run->late[i], turn);
    memcpy(&m->next[m->n - m->part], words, (size_t)m->part * sizeof *words);
    memcpy(words, m->now, (size_t)m->n * sizeof *words);
  }
}

/* The first turns' parts. */
static void load_first(emitter *e, emit_rolling *r, const rolled_run *run, int at) {
  int value = r->kernel->step[at].out;
  emit_words words;
  turn_values(r, run);
  int part = words_of(&r->turn, value);
  for (int i = 0; i < ROLLED_AHEAD; i++) {
    load_turn(e, r, at, emit_i64(e, i));
    memcpy(&words[i * part], e->value[value], (size_t)part * sizeof *words);
  }
  memcpy(e->value[value], words, (size_t)(ROLLED_AHEAD * part) * sizeof *words);
}

/* Beside the loads of a row. */
static void load_early(emitter *e, emit_rolling *r, int at) {
  if (r->loaded || at == 0 || r->kernel->step[at - 1].kind != PLAN_LOAD ||
      r->kernel->step[at].kind == PLAN_LOAD)
    return;
  r->loaded = true;
  for (int i = 0; i < r->kernel->n_steps; i++) {
    const rolled_run *run = rolled_run_of_load(&r->found, i);
    if (run) load_first(e, r, run, i);
  }
}

static bool load_late(emitter *e, emit_rolling *r, int at) {
  const rolled_run *run = rolled_run_of_load(&r->found, at);
  if (run && !r->loaded) load_first(e, r, run, at);
  return run != NULL;
}

/* Values that lie in their places. */
static void take_placed(emitter *e, const emit_rolling *r, const rolled_run *run) {
  for (int i = 0; i < run->n_in; i++) {
    int value = run->in[i];
    if (r->in[i]) continue;
    emit_placed_words(e, &r->places, value, e->iteration, words_of(r->kernel, value) >> run->bits,
                      e->value[value]);
    e->halves[value] = 0;
    e->lazy[value] = NULL;
  }
}

/* The turn's results, behind those of the turns before. */
static void join_made(emitter *e, const plan_step *step, moved *keys, moved *positions) {
  for (int i = 0; i < keys->part; i++) {
    emit_pair before = {keys->now[i], positions ? positions->now[i] : NULL};
    emit_pair made = {keys->next[i], positions ? positions->next[i] : NULL};
    made = emit_join(e, step, before, made);
    keys->next[i] = made.key;
    if (positions) positions->next[i] = made.index;
  }
}

/* The turn's part of a value goes to its place. */
static void place_made(emitter *e, emit_rolling *r, int value, int part) {
  emit_words words;
  for (int i = 0; i < part; i++) words[i] = word_now(e, value, i);
  emit_place_words(e, &r->places, value, e->iteration, part, words);
}

static void take_all_made(emitter *e, emit_rolling *r, const rolled_run *run) {
  moved *m = &r->moved[r->n_joined];
  for (int i = 0; i < run->n_out; i++) {
    if (r->out[i]) take_made(e, r->out[i], run->out[i]);
    else place_made(e, r, run->out[i], words_of(r->kernel, run->out[i]) >> run->bits);
  }
  for (int i = 0; i < run->n_turn; i++) {
    const plan_step *step = &r->kernel->step[run->turn[i]];
    if (!rolled_joins(r->kernel, run, step)) continue;
    moved *keys = m++, *positions = step->pairs ? m++ : NULL;
    take_made(e, keys, step->out);
    if (positions) take_made(e, positions, step->index_out);
    if (keys->part == keys->n) join_made(e, step, keys, positions);
  }
}

static void close_moves(emit_rolling *r, LLVMBasicBlockRef latch) {
  for (int i = 0; i < r->n_moved; i++)
    for (int k = 0; k < r->moved[i].n; k++)
      LLVMAddIncoming(r->moved[i].now[k], &r->moved[i].next[k], &latch, 1);
}

/* What the run leaves under numbers of values. */
static void leave(emitter *e, emit_rolling *r, const rolled_run *run) {
  const moved *m = &r->moved[r->n_joined];
  for (int i = 0; i < run->n_out; i++) {
    r->places.stored[run->out[i]] = !r->out[i];
    if (!r->out[i]) continue; /* turns alone use it */
    memcpy(e->value[run->out[i]], r->out[i]->now, (size_t)r->out[i]->n * sizeof *m->now);
  }
  for (int i = 0; i < run->n_turn; i++) {
    const plan_step *step = &r->kernel->step[run->turn[i]];
    if (!rolled_joins(r->kernel, run, step)) continue;
    join_all(e, step, m, step->pairs ? m + 1 : NULL, m->part == m->n ? 0 : run->bits);
    m += step->pairs ? 2 : 1;
  }
}

/* The loop is asked for its end in front of a turn: what is behind it finds all words where the
 * next turn would, and none has to be kept beside them. */
static void emit_turns(emitter *e, emit_rolling *r, const rolled_run *run) {
  LLVMBuilderRef b = e->builder;
  LLVMValueRef zero = emit_i32(e, 0);
  turn_values(r, run);
  touch_all(e, r, run);
  take_whole(e, r, run);
  LLVMBasicBlockRef before = LLVMGetInsertBlock(b), head = emit_new_block(e, "turns"),
                    body = emit_new_block(e, "turn"), done = emit_new_block(e, "turned");
  LLVMBuildBr(b, head);
  LLVMPositionBuilderAtEnd(b, head);
  LLVMValueRef turn = LLVMBuildPhi(b, e->i32, "turn");
  open_moves(e, r, run, before);
  LLVMBuildCondBr(b, emit_less(e, turn, emit_i32(e, 1 << run->bits)), body, done);
  LLVMPositionBuilderAtEnd(b, body);
  e->iteration = LLVMBuildZExt(b, turn, e->i64, "");
  e->in_front = before;
  load_ahead(e, r, run);
  take_placed(e, r, run);
  e->kernel = &r->turn;
  for (int i = 0; i < run->n_turn; i++) emit_steps(e, run->turn[i], 1);
  take_all_made(e, r, run);
  e->kernel = r->kernel;
  e->iteration = NULL;
  e->in_front = NULL;
  LLVMValueRef next = emit_add(e, turn, emit_i32(e, 1));
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(b);
  emit_keep_rolled(e, LLVMBuildBr(b, head));
  LLVMAddIncoming(turn, &zero, &before, 1);
  LLVMAddIncoming(turn, &next, &latch, 1);
  close_moves(r, latch);
  LLVMPositionBuilderAtEnd(b, done);
  put_back(e, r);
  leave(e, r, run);
}

/* ---- turns one behind the other ---- */

static moved *hold_words(emit_rolling *r, int n, int part) {
  moved *m = &r->moved[r->n_moved++];
  m->n = n;
  m->part = part;
  return m;
}

static bool is_placed(const emit_rolling *r, int value, int turn) {
  return has_place(r, value) && turn < r->places.given.turns[value];
}

/* Of values that are there, made or not, those words that lie in registers; room for those that
 * turns make, and for what they join. */
static void hold_all(emitter *e, emit_rolling *r, const rolled_run *run) {
  r->n_moved = 0;
  for (int i = 0; i < run->n_in; i++) {
    int value = run->in[i], n = words_of(r->kernel, value);
    moved *m = r->in[i] = hold_words(r, n, n >> run->bits);
    for (int k = 0; k < n; k++)
      if (!is_placed(r, value, k / m->part)) m->now[k] = word_now(e, value, k);
  }
  for (int i = 0; i < run->n_out; i++) {
    int n = words_of(r->kernel, run->out[i]);
    r->out[i] = hold_words(r, n, n >> run->bits);
  }
  r->n_joined = r->n_moved;
  for (int i = 0; i < run->n_turn; i++) {
    const plan_step *step = &r->kernel->step[run->turn[i]];
    int n = words_of(r->kernel, step->out);
    if (rolled_joins(r->kernel, run, step)) hold_words(r, n << run->bits, n);
  }
}

static void take_held(emitter *e, const emit_rolling *r, const rolled_run *run, int turn) {
  for (int i = 0; i < run->n_in; i++) {
    int value = run->in[i], part = r->in[i]->part;
    if (is_placed(r, value, turn))
      emit_placed_words(e, &r->places, value, e->iteration, part, e->value[value]);
    else memcpy(e->value[value], &r->in[i]->now[turn * part], (size_t)part * sizeof(LLVMValueRef));
    e->halves[value] = 0;
    e->lazy[value] = NULL;
  }
}

static void hold_made(emitter *e, emit_rolling *r, const rolled_run *run, int turn) {
  for (int i = 0; i < run->n_out; i++) {
    moved *m = r->out[i];
    if (is_placed(r, run->out[i], turn)) place_made(e, r, run->out[i], m->part);
    else
      for (int k = 0; k < m->part; k++) m->now[turn * m->part + k] = word_now(e, run->out[i], k);
  }
  moved *m = &r->moved[r->n_joined];
  for (int i = 0; i < run->n_turn; i++) {
    const plan_step *step = &r->kernel->step[run->turn[i]];
    if (!rolled_joins(r->kernel, run, step)) continue;
    for (int k = 0; k < m->part; k++) m->now[turn * m->part + k] = word_now(e, step->out, k);
    m++;
  }
}

static void leave_held(emitter *e, const emit_rolling *r, const rolled_run *run) {
  const moved *m = &r->moved[r->n_joined];
  for (int i = 0; i < run->n_out; i++)
    memcpy(e->value[run->out[i]], r->out[i]->now, (size_t)r->out[i]->n * sizeof(LLVMValueRef));
  for (int i = 0; i < run->n_turn; i++) {
    const plan_step *step = &r->kernel->step[run->turn[i]];
    if (rolled_joins(r->kernel, run, step)) join_all(e, step, m++, NULL, run->bits);
  }
}

/* Each run takes elements out of words in a way of its own: what one took out waits in no register
 * for the next. */
static void emit_straight(emitter *e, emit_rolling *r, const rolled_run *run) {
  turn_values(r, run);
  touch_all(e, r, run);
  hold_all(e, r, run);
  e->straight = run;
  e->taking = (int)(run - r->found.run);
  for (int t = 0; t < 1 << run->bits; t++) {
    e->iteration = emit_i64(e, t);
    take_held(e, r, run, t);
    e->kernel = &r->turn;
    for (int i = 0; i < run->n_turn; i++) emit_steps(e, run->turn[i], 1);
    hold_made(e, r, run, t);
    e->kernel = r->kernel;
  }
  e->iteration = NULL;
  e->taking = 0;
  e->straight = NULL;
  put_back(e, r);
  leave_held(e, r, run);
}

int emit_rolled(emitter *e, int first) {
  emit_rolling *r = e->rolling;
  if (!r || e->iteration) return 0;
  load_early(e, r, first);
  if (load_late(e, r, first)) return 1;
  const rolled_run *run = run_at(r, first);
  if (!run) return 0;
  for (int i = 0; i < run->n_before; i++) emit_steps(e, run->before[i], 1);
  if (r->found.straight) emit_straight(e, r, run);
  else emit_turns(e, r, run);
  for (int i = 0; i < run->n_behind; i++) emit_steps(e, run->behind[i], 1);
  return run->end - run->first;
}
