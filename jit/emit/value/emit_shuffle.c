/* PLAN_SHUFFLE, one round (the algebra: plan_shuffle_round in jit/plan/draft/draft.h,
 * docs/exchange.md).
 *
 * GPU. One shuffle instruction lets every lane read one lane, every lane being read once. Where the
 * lane map of a single result register is not invertible (a register and a lane bit change places),
 * two results are made together by two shuffles: with lane functional f, the first brings result a
 * to lanes with f = 0 and result b to those with f = 1, the second the other way round. Each sender
 * selects the register that its reader wants. Where a vector of the word is one of the lanes
 * afterwards, parts of words change places instead (jit/plan/facts/word_lane_swap.h), or turn in
 * their lane (jit/plan/facts/lane_byte_permute.h). Host. One two-input shufflevector a result
 * register. */
#include "jit/emit/core/builder.h"
#include "jit/emit/memory/emit_memory.h"
#include "jit/emit/value/emit_value.h"

#include "base/bits.h"
#include "jit/plan/facts/shuffle_round.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/facts/word_lane_swap.h"
#include "jit/plan/facts/lane_byte_permute.h"
#include "layout/f2.h"

typedef struct shuffler {
  emitter *e;
  plan_shuffle_round round;
  int word; /* log2 elements in a word: register indices below count elements */
  LLVMValueRef *in, *out;
} shuffler;

static LLVMValueRef *word_at(const shuffler *s, LLVMValueRef *words, uint64_t index) {
  return &words[index >> s->word];
}

static uint64_t source_register(const shuffler *s, uint64_t index) {
  return f2_apply(s->round.register_of_register, index);
}

static uint64_t source_lane(const shuffler *s, uint64_t index) {
  return f2_apply(s->round.lane_of_register, index);
}

/* ---- GPU ---- */

LLVMValueRef emit_shuffle_word(emitter *e, LLVMValueRef word, LLVMValueRef lane) {
  if (LLVMTypeOf(word) != e->i64) return e->ops->shuffle(e, word, lane);
  LLVMValueRef low = LLVMBuildTrunc(e->builder, word, e->i32, "");
  LLVMValueRef high = LLVMBuildLShr(e->builder, word, emit_i64(e, 32), "");
  high = LLVMBuildTrunc(e->builder, high, e->i32, "");
  low = LLVMBuildZExt(e->builder, e->ops->shuffle(e, low, lane), e->i64, "");
  high = LLVMBuildZExt(e->builder, e->ops->shuffle(e, high, lane), e->i64, "");
  return LLVMBuildOr(e->builder, low, LLVMBuildShl(e->builder, high, emit_i64(e, 32), ""), "");
}

/* The functional that a sender evaluates: its reader's, where lane l is read by
 * sender_inverse(l ^ from). */
static LLVMValueRef reader_chooses(const shuffler *s, uint64_t from) {
  uint64_t mask = 0;
  for (int i = 0; i < s->round.n_lanes; i++)
    if (bits_parity(s->round.sender_inverse[i] & s->round.chooser)) mask |= 1ull << i;
  LLVMValueRef chosen = emit_functional(s->e, s->e->lane, mask);
  return bits_parity(mask & from) ? LLVMBuildNot(s->e->builder, chosen, "") : chosen;
}

/* Lane sender(l) ^ from, for the reader. */
static LLVMValueRef lane_to_read(const shuffler *s, uint64_t from) {
  LLVMValueRef lane = emit_linear(s->e, s->e->lane, s->round.sender, s->round.n_lanes);
  return LLVMBuildXor(s->e->builder, lane, emit_i32(s->e, (int64_t)from), "");
}

/* One shuffle: readers with functional 0 get register `zero`, those with 1 get `one`, from lane
 * sender(l) ^ from. */
static LLVMValueRef send(const shuffler *s, uint64_t zero, uint64_t one, uint64_t from,
                         bool stays) {
  LLVMValueRef word = *word_at(s, s->in, zero);
  if (s->round.chooser)
    word =
        LLVMBuildSelect(s->e->builder, reader_chooses(s, from), *word_at(s, s->in, one), word, "");
  return stays ? word : emit_shuffle_word(s->e, word, lane_to_read(s, from));
}

/* A result whose lane map is invertible by itself. */
static void single(const shuffler *s, uint64_t index) {
  uint64_t zero = source_register(s, index);
  *word_at(s, s->out, index) =
      send(s, zero, zero ^ s->round.drawn, source_lane(s, index), s->round.stays);
}

/* `yes` where the reader's functional is 1, else `no`: by a product where the target has that, so
 * that this select and the other one of its pair keep two units busy. */
static LLVMValueRef select_by_product(emitter *e, LLVMValueRef chosen, LLVMValueRef yes,
                                      LLVMValueRef no) {
  if (e->ops->select_by_product && LLVMTypeOf(yes) == e->i32)
    return e->ops->select_by_product(e, chosen, yes, no);
  return LLVMBuildSelect(e->builder, chosen, yes, no, "");
}

/* Results a and b = a ^ e_pair by two shuffles. Where the first moves nothing, what a lane has of
 * it is one of its own registers, which its own functional names. */
static void pair(const shuffler *s, uint64_t a) {
  emitter *e = s->e;
  uint64_t b = a | 1ull << s->round.pair, drawn = s->round.drawn;
  uint64_t from_a = source_register(s, a), from_b = source_register(s, b);
  LLVMValueRef first[2] = {*word_at(s, s->in, from_a), *word_at(s, s->in, from_b ^ drawn)};
  if (!s->round.stays)
    first[0] = first[1] = send(s, from_a, from_b ^ drawn, source_lane(s, a), false);
  LLVMValueRef second = send(s, from_b, from_a ^ drawn, source_lane(s, b), false);
  LLVMValueRef chosen = emit_functional(e, e->lane, s->round.chooser);
  *word_at(s, s->out, a) = select_by_product(e, chosen, second, first[0]);
  *word_at(s, s->out, b) = LLVMBuildSelect(e->builder, chosen, first[1], second, "");
}

static void shuffle_gpu(const shuffler *s) {
  for (uint64_t index = 0; index < 1ull << s->round.n_registers; index += 1ull << s->word) {
    if (!s->round.paired) single(s, index);
    else if (!(index >> s->round.pair & 1)) pair(s, index);
  }
}

/* ---- a vector of the word and one of the lanes ---- */

/* One of two selectors by the lane's bit. */
static LLVMValueRef select_by_lane(emitter *e, LLVMValueRef bit, const int zero[4],
                                   const int one[4]) {
  return LLVMBuildSelect(e->builder, bit, emit_i32(e, e->ops->selector(one)),
                         emit_i32(e, e->ops->selector(zero)), "");
}

/* What all words of a swap share. */
typedef struct word_swapper {
  emitter *e;
  LLVMValueRef partner, send, keep[2], whole; /* a lane, selectors */
} word_swapper;

static word_swapper word_swapper_of(emitter *e, const plan_word_lane_swap *swap) {
  plan_word_selectors of[2];
  for (int b = 0; b < 2; b++) plan_word_select(swap, b, &of[b]);
  LLVMValueRef bit = emit_functional(e, e->lane, 1ull << swap->lane);
  return (word_swapper){.e = e,
                        .partner =
                            LLVMBuildXor(e->builder, e->lane, emit_i32(e, 1 << swap->lane), ""),
                        .send = select_by_lane(e, bit, of[0].send, of[1].send),
                        .keep = {select_by_lane(e, bit, of[0].keep[0], of[1].keep[0]),
                                 select_by_lane(e, bit, of[0].keep[1], of[1].keep[1])},
                        .whole = select_by_lane(e, bit, of[0].whole, of[1].whole)};
}

static void swap_pair(const word_swapper *s, const LLVMValueRef *in, LLVMValueRef *out) {
  emitter *e = s->e;
  LLVMValueRef received = e->ops->shuffle(e, e->ops->permute(e, in[0], in[1], s->send), s->partner);
  for (int k = 0; k < 2; k++) out[k] = e->ops->permute(e, in[k], received, s->keep[k]);
}

static void swap_words(emitter *e, const plan_word_lane_swap *swap, int n_words, LLVMValueRef *in,
                       LLVMValueRef *out) {
  word_swapper s = word_swapper_of(e, swap);
  for (int w = 0; w < n_words; w++) {
    if (!plan_word_lane_swap_packs(e->kernel->target.tuning, swap, w))
      out[w] = e->ops->permute(e, in[w], e->ops->shuffle(e, in[w], s.partner), s.whole);
    else if (w % 2 == 0) swap_pair(&s, &in[w], &out[w]);
  }
}

/* ---- elements inside a word ---- */

/* Selectors of both vendors number bytes by bits of their own, so places that are XORed are
 * selectors that are. */
static void turn_words(emitter *e, const plan_lane_byte_permute *turn, int n_words,
                       LLVMValueRef *in, LLVMValueRef *out) {
  static const int same[4] = {0, 1, 2, 3};
  uint64_t of_lane[PLAN_SHUFFLE_LANES];
  for (int i = 0; i < turn->n_lanes; i++) {
    int places[4];
    for (int b = 0; b < 4; b++) places[b] = b ^ turn->byte[i];
    of_lane[i] = (uint64_t)(e->ops->selector(places) ^ e->ops->selector(same));
  }
  LLVMValueRef selector = emit_linear(e, e->lane, of_lane, turn->n_lanes);
  selector = LLVMBuildXor(e->builder, selector, emit_i32(e, e->ops->selector(same)), "");
  for (int w = 0; w < n_words; w++) out[w] = e->ops->permute(e, in[w], in[w], selector);
}

/* ---- host ---- */

static LLVMValueRef shuffle_lanes(const shuffler *s, uint64_t index) {
  emitter *e = s->e;
  LLVMValueRef mask[64], zero = *word_at(s, s->in, source_register(s, index));
  LLVMValueRef one = *word_at(s, s->in, source_register(s, index) ^ s->round.drawn);
  emit_ahead_some(e);
  if (LLVMGetTypeKind(LLVMTypeOf(zero)) != LLVMVectorTypeKind) return zero;
  unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(zero));
  for (unsigned l = 0; l < lanes; l++) {
    uint64_t from = source_lane(s, index) ^ f2_apply(s->round.lane_of_lane, l);
    mask[l] = emit_i32(e, (int64_t)from + (bits_parity(l & s->round.chooser) ? lanes : 0));
  }
  LLVMValueRef moved =
      LLVMBuildShuffleVector(e->builder, zero, one, LLVMConstVector(mask, lanes), "");
  return e->ops->opaque(e, moved);
}

void emit_shuffle_step(emitter *e, const plan_step *step) {
  const plan_value *in = &e->kernel->value[step->in], *out = &e->kernel->value[step->out];
  plan_word_lane_swap swap;
  plan_lane_byte_permute turn;
  int n_words = 1 << (plan_value_bits(out, PLAN_REGISTER) - out->word);
  if (!emit_is_host(e) && plan_lane_byte_permute_of(in, out, &turn)) {
    turn_words(e, &turn, n_words, e->value[step->in], e->value[step->out]);
    return;
  }
  if (!emit_is_host(e) && plan_word_lane_swap_of(in, out, &swap)) {
    swap_words(e, &swap, n_words, e->value[step->in], e->value[step->out]);
    return;
  }
  shuffler s = {.e = e, .word = out->word, .in = e->value[step->in], .out = e->value[step->out]};
  plan_shuffle_round_of(in, out, &s.round);
  if (!emit_is_host(e)) {
    shuffle_gpu(&s);
    return;
  }
  for (uint64_t index = 0; index < 1ull << s.round.n_registers; index += 1ull << s.word)
    *word_at(&s, s.out, index) = shuffle_lanes(&s, index);
}
