#include "runtime/choose.h"

#include "base/hash.h"
#include "base/status.h"
#include "runtime/context.h"
#include "runtime/key.h"
#include "runtime/policy.h"
#include "runtime/promise.h"

#include <string.h>

#define MAX_RELATIVES 64
#define MAX_CLASSES 3       /* of one description, beyond which none is made for speed alone */
#define WORTH_A_KERNEL 0.95 /* of the time of a kernel that is there */
#define WORTH_A_SHAPE 0.5   /* of the time of a kernel for all shapes */

/* One call's way to its operation. */
typedef struct choice {
  llrt_device *device;
  kernel_cache *cache;
  op_description *desc; /* with the promises of the call's class */
  storage_set *set;
  const op_call *call;
  llrt_hash key; /* of the class */
} choice;

/* Whether another class's kernel gives the same bits. */
static bool may_share(const op_description *desc) {
  return desc->kind == LLRT_OP_CONVERT && !desc->in_place;
}

/* Borrowed from here on: while `choosing` is held, the cache keeps what it has. */
static llrt_op *loosen(llrt_op *op) {
  llrt_op_release(op);
  return op;
}

static llrt_op *find(const choice *c, llrt_hash key) {
  return loosen(llrt_cache_find(c->cache, key));
}

static llrt_status keep(const choice *c, llrt_op *own, const op_description *desc, llrt_op **op) {
  llrt_status status = llrt_cache_keep(c->cache, own, desc, c->set, op);
  loosen(*op);
  return status;
}

/* Of an operation that was planned and is not kept: the next process need not plan it. */
static void store_plan(llrt_op *own) {
  if (own->planned) llrt_disk_store(own, false);
}

/* ---- relatives ---- */

/* Clocks a byte of the variant that the call's shape takes; -1 where there is none. */
static double clocks_of(const llrt_op *op, const op_call *call) {
  int variant = llrt_op_pick(op, &call->tensor[0]);
  return variant < 0 ? -1 : op->variant[variant].clocks;
}

/* The fastest planned operation whose promises `kept` keeps, or NULL. compiled: with a kernel for
 * the call's shape. */
static llrt_op *find_relative(const choice *c, const llrt_tensor_promise *kept, bool compiled) {
  llrt_op *relative[MAX_RELATIVES], *best = NULL;
  int n = llrt_cache_relatives(c->cache, c->device, c->desc, c->set, relative, MAX_RELATIVES);
  double least = 0;
  for (int i = 0; i < n; i++) {
    double clocks = clocks_of(relative[i], c->call);
    if (clocks < 0 || (best && clocks >= least)) continue;
    if (compiled && llrt_op_pick_compiled(relative[i], &c->call->tensor[0]) < 0) continue;
    if (!llrt_promises_imply(kept, relative[i]->desc.promises, c->set->n, c->set->rank)) continue;
    best = relative[i];
    least = clocks;
  }
  return best;
}

/* The class's own operation where it is worth a kernel beside `relative`, which serves else;
 * planned for that, and kept only then. */
static llrt_status own_or(const choice *c, llrt_op *relative, llrt_op **op) {
  llrt_op *own, *others[MAX_CLASSES];
  *op = relative;
  if (llrt_cache_relatives(c->cache, c->device, c->desc, c->set, others, MAX_CLASSES) ==
      MAX_CLASSES)
    return LLRT_OK;
  LLRT_TRY(llrt_op_make(c->device, c->desc, c->set, &own));
  bool planned = llrt_op_plan(own) == LLRT_OK;
  double clocks = planned ? clocks_of(own, c->call) : -1;
  if (clocks >= 0 && clocks < WORTH_A_KERNEL * clocks_of(relative, c->call))
    return keep(c, own, c->desc, op);
  store_plan(own);
  llrt_op_release(own);
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
  if (variant >= 0 && llrt_op_has_code(own, variant)) return keep(c, own, desc, op);
  llrt_op_release(own);
  return LLRT_OK;
}

/* An operation of the call's class that serves it with what the disk has: the one with the call's
 * extents compiled in, or the one for all. *op = NULL: neither. */
static llrt_status find_stored(const choice *c, llrt_op **op) {
  op_description fixed = *c->desc, wide = *c->desc;
  *op = NULL;
  if (!llrt_disk_cache_is_on(&c->device->context->disk)) return LLRT_OK;
  if (!may_share(c->desc)) return take_stored(c, c->desc, op);
  llrt_promises_coarse(c->call, c->set, &fixed);
  if (llrt_promises_fix_extents(&fixed, c->set->rank)) LLRT_TRY(take_stored(c, &fixed, op));
  if (*op) {
    atomic_fetch_add(&c->set->tried_fixed, 1);
    atomic_store(&c->set->prepared, true); /* calls look for their shape's own first */
    return LLRT_OK;
  }
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

/* An operation with the call's small extents compiled in, where a tile ends with an axis, if that
 * is worth a kernel beside the one for all extents: for the first shape of a pair of storages 0.95
 * of its time, for 15 more half of it. *op = NULL: it is not. c->desc: with open extents. */
static llrt_status shapes_own(const choice *c, llrt_op **op) {
  op_description fixed = *c->desc;
  llrt_op *own, *open;
  *op = NULL;
  if (!may_share(c->desc)) return LLRT_OK;
  int tried = atomic_fetch_add(&c->set->tried_fixed, 1);
  if (tried >= STORAGE_SET_FIXED_OPS) {
    atomic_fetch_sub(&c->set->tried_fixed, 1);
    return LLRT_OK;
  }
  llrt_promises_coarse(c->call, c->set, &fixed);
  if (!llrt_promises_fix_extents(&fixed, c->set->rank)) return LLRT_OK;
  LLRT_TRY(llrt_op_make(c->device, c->desc, c->set, &open));
  llrt_status status = llrt_op_make(c->device, &fixed, c->set, &own);
  if (status == LLRT_OK) {
    double clocks = llrt_op_plan(own) == LLRT_OK ? clocks_of(own, c->call) : -1;
    double any = llrt_op_plan(open) == LLRT_OK ? clocks_of(open, c->call) : -1;
    bool worth = clocks >= 0 && clocks < (tried == 0 ? WORTH_A_KERNEL : WORTH_A_SHAPE) * any;
    if (worth) status = keep(c, own, &fixed, op);
    if (!worth) store_plan(own);
    if (!worth) llrt_op_release(own);
    if (*op)
      atomic_store(&c->set->prepared,
                   true); /* from now on calls look for their shape's own first */
  }
  store_plan(open);
  llrt_op_release(open);
  return status;
}

static llrt_status choose_new(const choice *c, llrt_op **op, llrt_op **alternative) {
  llrt_op *relative = may_share(c->desc) ? find_relative(c, c->desc->promises, false) : NULL;
  if (!relative) {
    LLRT_TRY(find_stored(c, op));
    if (*op) return LLRT_OK;
    if (atomic_load(&c->set->tried_fixed) == 0) LLRT_TRY(shapes_own(c, op));
    else *op = NULL;
    return *op ? LLRT_OK : make_wide(c, op);
  }
  LLRT_TRY(own_or(c, relative, op));
  if (*op == relative) {
    llrt_cache_alias(c->cache, c->key, relative);
  } else {
    *alternative = relative;
  }
  return LLRT_OK;
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

/* By the call's class, which is in c->desc from here on. */
static llrt_status choose_by_class(choice *c, bool prepared, llrt_op **op, llrt_op **alternative) {
  *op = prepared ? find_compiled(c) : NULL;
  if (*op) return LLRT_OK;
  if (!c->desc->in_place) llrt_promises_open_extents(c->desc, c->set->rank);
  llrt_promises_classes(c->set, c->desc);
  c->key = llrt_op_key(c->device, c->desc, c->set);
  llrt_op *common = find(c, c->key);
  if (prepared && llrt_policy_of(c->device->context) != LLRT_COMPILE_NEVER) {
    LLRT_TRY(shapes_own(c, op));
    if (*op) *alternative = serves(common, c->call) ? common : NULL;
    if (*op) return LLRT_OK;
  }
  *op = common;
  if (llrt_policy_of(c->device->context) == LLRT_COMPILE_NEVER && !serves(*op, c->call)) {
    *op = find_compiled(c);
    if (!*op) LLRT_TRY(find_stored(c, op));
    return *op ? LLRT_OK : llrt_not_prepared(c->desc, c->set, "the policy is never to compile");
  }
  if (!*op) return choose_new(c, op, alternative);
  return atomic_load_explicit(&(*op)->refused, memory_order_relaxed) ? planned_or_fixed(c, op)
                                                                     : LLRT_OK;
}

/* Whether what the call's very promises found is to be taken: another thread may be compiling it.
 */
static bool is_settled(const choice *c, const llrt_op *op, llrt_hash key) {
  if (serves(op, c->call)) return true;
  bool own = op && llrt_hash_equal(op->key, key) && !atomic_load(&op->refused);
  return own && llrt_policy_of(c->device->context) != LLRT_COMPILE_NEVER;
}

/* Of storages for which something was prepared: by the promises as llrt_op_promise_coarse gives
 * them, under which the operation that served the first such call is found as well. */
static llrt_status choose_prepared(choice *c, llrt_op **op, llrt_op **alternative) {
  llrt_hash coarse = llrt_op_key(c->device, c->desc, c->set);
  *op = find(c, coarse);
  if (is_settled(c, *op, coarse)) return LLRT_OK;
  bool known = *op != NULL;
  LLRT_TRY(choose_by_class(c, true, op, alternative));
  if (!known && *op && !*alternative) llrt_cache_alias(c->cache, coarse, *op);
  return LLRT_OK;
}

static llrt_status choose(choice *c, llrt_op **op, llrt_op **alternative) {
  if (atomic_load(&c->set->prepared)) return choose_prepared(c, op, alternative);
  return choose_by_class(c, false, op, alternative);
}

/* By one lookup, without planning anything; held. NULL: that takes more. */
static llrt_op *find_at_once(const choice *c) {
  op_description *desc = c->desc;
  bool prepared = atomic_load_explicit(&c->set->prepared, memory_order_relaxed);
  if (!prepared && !desc->in_place) llrt_promises_open_extents(desc, c->set->rank);
  if (!prepared) llrt_promises_classes(c->set, desc);
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
