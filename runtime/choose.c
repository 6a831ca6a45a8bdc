#include "runtime/choose.h"

#include "base/hash.h"
#include "base/status.h"
#include "runtime/choice.h"
#include "runtime/context.h"
#include "runtime/key.h"
#include "runtime/policy.h"
#include "runtime/promise.h"

#include <string.h>

#define MAX_RELATIVES 64
#define MAX_CLASSES 3       /* of one description, beyond which none is made for speed alone */
#define WORTH_A_KERNEL 0.95 /* of the time of a kernel that is there */

/* Whether another class's kernel gives the same bits. */
static bool may_share(const op_description *desc) {
  return desc->kind == LLRT_OP_CONVERT && !desc->in_place;
}

static llrt_op *loosen(llrt_op *op) {
  llrt_op_release(op);
  return op;
}

static llrt_op *find(const choice *c, llrt_hash key) {
  return loosen(llrt_cache_find(c->cache, key));
}

llrt_status llrt_choice_keep(const choice *c, llrt_op *own, const op_description *desc,
                             llrt_op **op) {
  llrt_status status = llrt_cache_keep(c->cache, own, desc, c->set, op);
  loosen(*op);
  return status;
}

void llrt_choice_reject(llrt_op *own) {
  if (own->planned) llrt_disk_store(own, false);
  llrt_op_release(own);
}

/* ---- relatives ---- */

/* The fastest planned operation whose promises `kept` keeps, or NULL. compiled: with a kernel for
 * the call's shape. */
static llrt_op *find_relative(const choice *c, const llrt_tensor_promise *kept, bool compiled) {
  llrt_op *relative[MAX_RELATIVES], *best = NULL;
  int n = llrt_cache_relatives(c->cache, c->device, c->desc, c->set, relative, MAX_RELATIVES);
  double least = 0;
  for (int i = 0; i < n; i++) {
    double clocks = llrt_choice_clocks(c, relative[i]);
    if (clocks < 0 || (best && clocks >= least)) continue;
    if (compiled && llrt_op_pick_compiled(relative[i], &c->call->tensor[0]) < 0) continue;
    if (!llrt_promises_imply(kept, relative[i]->desc.promises, c->set->n, c->set->rank)) continue;
    best = relative[i];
    least = clocks;
  }
  return best;
}

/* Whether no open extents could do better: it has a shape compiled in, or promises all that the
 * class does. */
static bool is_as_good(const choice *c, const llrt_op *there) {
  return llrt_promises_fix_extents(&there->desc, c->set->rank) ||
         llrt_promises_imply(there->desc.promises, c->desc->promises, c->set->n, c->set->rank);
}

/* The class's own operation where it is worth a kernel beside `relative`, which serves else;
 * planned for that, and kept only then. */
static llrt_status own_or(const choice *c, llrt_op *relative, llrt_op **op) {
  llrt_op *own, *others[MAX_CLASSES];
  *op = relative;
  if (is_as_good(c, relative) || llrt_cache_relatives(c->cache, c->device, c->desc, c->set, others,
                                                      MAX_CLASSES) == MAX_CLASSES)
    return LLRT_OK;
  LLRT_TRY(llrt_op_make(c->device, c->desc, c->set, &own));
  double clocks = llrt_op_plan(own) == LLRT_OK ? llrt_choice_clocks(c, own) : -1;
  if (clocks >= 0 && clocks < WORTH_A_KERNEL * llrt_choice_clocks(c, relative))
    return llrt_choice_keep(c, own, c->desc, op);
  llrt_choice_reject(own);
  return LLRT_OK;
}

/* ---- what the disk has ---- */

/* The operation of the description, kept, where the disk has a kernel of it for the call. *op =
 * NULL: it has none. */
static llrt_status take_stored(const choice *c, const op_description *desc, llrt_op **op) {
  llrt_op *own;
  *op = NULL;
  LLRT_TRY(llrt_op_make(c->device, desc, c->set, &own));
  int variant = llrt_disk_fetch(own) ? llrt_op_pick(own, &c->call->tensor[0]) : -1;
  if (variant >= 0 && llrt_op_has_code(own, variant)) return llrt_choice_keep(c, own, desc, op);
  llrt_op_release(own);
  return LLRT_OK;
}

/* An operation of the call's class that serves it with what the disk has: the one for its shape, or
 * the one for all. *op = NULL: neither. */
static llrt_status find_stored(const choice *c, llrt_op **op) {
  op_description wide = *c->desc;
  *op = NULL;
  if (!llrt_disk_cache_is_on(&c->device->context->disk)) return LLRT_OK;
  if (!may_share(c->desc)) return take_stored(c, c->desc, op);
  LLRT_TRY(llrt_choice_of_stored_shape(c, op));
  if (*op) return LLRT_OK;
  llrt_promises_widen(c->set, &wide);
  LLRT_TRY(take_stored(c, &wide, op));
  if (*op) llrt_cache_alias(c->cache, c->key, *op);
  return LLRT_OK;
}

/* ---- operations of the call's own ---- */

/* With extents as they are, of operations that cannot be planned for all, and of contexts that ask
 * for it. *op = NULL where the storages have as many of these as they may. Held. */
static llrt_status find_fixed(const choice *c, llrt_op **op) {
  op_description fixed = *c->desc;
  llrt_promises_coarse(c->call, c->set, &fixed);
  if (!llrt_promises_fix_extents(&fixed, c->set->rank)) {
    *op = NULL;
    return LLRT_OK;
  }
  return llrt_cache_get_fixed_op(c->cache, c->device, &fixed, c->set, op);
}

/* Planned with any extents; else, where that cannot be, with these. */
static llrt_status planned_or_fixed(const choice *c, llrt_op **op) {
  llrt_op *fixed;
  llrt_status status = atomic_load(&(*op)->refused) ? LLRT_UNSUPPORTED : llrt_op_plan(*op);
  if (status != LLRT_UNSUPPORTED) return status;
  LLRT_TRY(find_fixed(c, &fixed));
  if (fixed) *op = loosen(fixed);
  return LLRT_OK; /* should it be refused as well, making it ready says why */
}

static llrt_status make_wide(const choice *c, llrt_op **op) {
  op_description wide = *c->desc;
  if (may_share(&wide)) llrt_promises_widen(c->set, &wide);
  LLRT_TRY(llrt_cache_get_op(c->cache, c->device, &wide, c->set, op));
  llrt_cache_alias(c->cache, c->key, loosen(*op));
  return planned_or_fixed(c, op);
}

/* Where nothing is there that serves. */
static llrt_status choose_first(const choice *c, llrt_op **op) {
  LLRT_TRY(find_stored(c, op));
  if (*op) return LLRT_OK;
  if (may_share(c->desc) && llrt_choice_may_gain(c, NULL))
    LLRT_TRY(llrt_choice_of_shape(c, NULL, op));
  return *op ? LLRT_OK : make_wide(c, op);
}

static bool serves(const llrt_op *op, const op_call *call) {
  return op && !atomic_load_explicit(&op->refused, memory_order_relaxed) &&
         llrt_op_pick_compiled(op, &call->tensor[0]) >= 0;
}

/* An operation with a kernel for this very call, whatever others of its class do; NULL: none. */
static llrt_op *find_compiled(const choice *c) {
  op_description exact = *c->desc;
  if (!may_share(c->desc)) return NULL;
  llrt_promises_coarse(c->call, c->set, &exact);
  llrt_promises_exact(c->call, exact.promises);
  return find_relative(c, exact.promises, true);
}

/* The one of two that is there for which the model expects less time; either may be NULL. */
static llrt_op *faster(const choice *c, llrt_op *one, llrt_op *other) {
  if (!one || !other) return one ? one : other;
  double clocks = llrt_choice_clocks(c, one), others = llrt_choice_clocks(c, other);
  return clocks < 0 || (others >= 0 && others < clocks) ? other : one;
}

/* Of a convert whose class or shape is new: what is there, beside which one for the class is made,
 * or one for the shape, if the model sees enough in it. ready: compiled, the fastest that takes the
 * call; common: the class's; either may be NULL. */
static llrt_status choose_shared(const choice *c, llrt_op *ready, llrt_op *common, llrt_op **op,
                                 llrt_op **alternative) {
  llrt_op *own = NULL;
  if (!common) common = find_relative(c, c->desc->promises, false);
  llrt_op *there = faster(c, ready, common);
  if (!there) return choose_first(c, op);
  LLRT_TRY(own_or(c, there, op));
  if (llrt_choice_may_gain(c, *op)) LLRT_TRY(llrt_choice_of_shape(c, *op, &own));
  if (own) *op = own;
  if (*op != there) *alternative = there;
  else if (llrt_promises_imply(c->desc->promises, there->desc.promises, c->set->n, c->set->rank))
    llrt_cache_alias(c->cache, c->key, there);
  return atomic_load_explicit(&(*op)->refused, memory_order_relaxed) ? planned_or_fixed(c, op)
                                                                     : LLRT_OK;
}

/* Where the policy is never to compile. */
static llrt_status choose_ready(const choice *c, llrt_op *ready, llrt_op *common, llrt_op **op) {
  *op = serves(common, c->call) ? common : ready;
  if (!*op) LLRT_TRY(find_stored(c, op));
  return *op ? LLRT_OK : llrt_not_prepared(c->desc, c->set, "the policy is never to compile");
}

/* By the call's class, which is in c->desc from here on. */
static llrt_status choose_by_class(choice *c, llrt_op **op, llrt_op **alternative) {
  llrt_op *ready = find_compiled(c);
  if (ready && atomic_load(&c->set->prepared)) {
    *op = ready;
    return LLRT_OK;
  }
  if (!c->desc->in_place) llrt_promises_open_extents(c->desc, c->set->rank);
  llrt_promises_classes(c->set, c->desc);
  c->key = llrt_op_key(c->device, c->desc, c->set);
  llrt_op *common = find(c, c->key);
  if (llrt_policy_of(c->device->context) == LLRT_COMPILE_NEVER)
    return choose_ready(c, ready, common, op);
  if (may_share(c->desc)) return choose_shared(c, ready, common, op, alternative);
  *op = common;
  if (!*op) return choose_first(c, op);
  return atomic_load_explicit(&(*op)->refused, memory_order_relaxed) ? planned_or_fixed(c, op)
                                                                     : LLRT_OK;
}

/* Whether what the call's very promises found is to be taken: it serves, or another thread is
 * compiling it, the operation of these promises or the one with this shape compiled in. */
static bool is_settled(const choice *c, const llrt_op *op, llrt_hash key) {
  if (serves(op, c->call)) return true;
  if (!op || atomic_load(&op->refused)) return false;
  bool own = llrt_hash_equal(op->key, key) || llrt_promises_fix_extents(&op->desc, c->set->rank);
  return own && llrt_policy_of(c->device->context) != LLRT_COMPILE_NEVER;
}

/* Whether calls are looked for by all that they promise, small extents as they are, and not by
 * their class: of converts, whose shape decides, and where somebody prepared operations. */
static bool goes_by_shape(const op_description *desc, const storage_set *set) {
  return may_share(desc) || atomic_load_explicit(&set->prepared, memory_order_relaxed);
}

/* By the promises as llrt_op_promise_coarse gives them, under which the operation that served the
 * first such call is found as well. */
static llrt_status choose_by_shape(choice *c, llrt_op **op, llrt_op **alternative) {
  llrt_hash coarse = llrt_op_key(c->device, c->desc, c->set);
  *op = find(c, coarse);
  if (is_settled(c, *op, coarse)) return LLRT_OK;
  bool known = *op != NULL;
  LLRT_TRY(choose_by_class(c, op, alternative));
  if (!known && *op && !*alternative) llrt_cache_alias_shape(c->cache, coarse, *op);
  return LLRT_OK;
}

static llrt_status choose(choice *c, llrt_op **op, llrt_op **alternative) {
  return goes_by_shape(c->desc, c->set) ? choose_by_shape(c, op, alternative)
                                        : choose_by_class(c, op, alternative);
}

/* By one lookup, without planning anything; held. NULL: that takes more. */
static llrt_op *find_at_once(const choice *c) {
  op_description *desc = c->desc;
  bool by_class = !goes_by_shape(desc, c->set);
  if (by_class && !desc->in_place) llrt_promises_open_extents(desc, c->set->rank);
  if (by_class) llrt_promises_classes(c->set, desc);
  llrt_op *op = llrt_cache_find(c->cache, llrt_op_key(c->device, desc, c->set));
  if (serves(op, c->call)) return op;
  llrt_op_release(op);
  return NULL;
}

llrt_status llrt_choose(op_description *desc, storage_set *set, const op_call *call, llrt_op **op,
                        llrt_op **alternative) {
  llrt_device *device = desc->tensors[0].device;
  choice c = {device, &device->context->cache, desc, set, call, {0, 0}};
  *alternative = NULL;
  if (!desc->in_place && device->context->fix_extents) {
    LLRT_TRY(find_fixed(&c, op));
    if (*op) return LLRT_OK;
  }
  *op = find_at_once(&c);
  if (*op) return LLRT_OK;
  pthread_mutex_lock(&c.cache->choosing);
  llrt_promises_coarse(call, set, desc);
  llrt_status status = choose(&c, op, alternative);
  if (status == LLRT_OK) llrt_op_retain(*op);
  if (status == LLRT_OK && *alternative) llrt_op_retain(*alternative);
  pthread_mutex_unlock(&c.cache->choosing);
  return status;
}
