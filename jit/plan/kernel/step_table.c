/* See step_table.h. */
#include "jit/plan/kernel/step_table.h"

#include <stddef.h>

#define IN PLAN_USES_IN
#define WITH PLAN_USES_WITH
#define SECOND PLAN_USES_SECOND

static const plan_step_row rows[PLAN_STEP_KINDS] = {
    [PLAN_LOAD] = {"load", PLAN_OF_MEMORY, .cost = PLAN_COUNTED, .moves = true},
    [PLAN_STORE] = {"store", PLAN_OF_MEMORY, .cost = PLAN_COUNTED, .uses = IN, .moves = true},
    [PLAN_STAGE] = {"stage", PLAN_OF_MEMORY, .cost = PLAN_FREE, .warps = true, .moves = true},
    [PLAN_COPY] = {"copy", PLAN_OF_MEMORY, .cost = PLAN_COUNTED},
    [PLAN_COPIED] = {"copied", PLAN_OF_MEMORY, .cost = PLAN_FREE},
    [PLAN_COLLECT] = {"collect", PLAN_OF_MEMORY, .cost = PLAN_FREE, .owns = true},
    [PLAN_PREFETCH] = {"prefetch", PLAN_OF_MEMORY, .cost = PLAN_FREE},
    [PLAN_REPORT] = {"report", PLAN_OF_MEMORY, .cost = PLAN_FREE, .moves = true},

    [PLAN_REGISTERS] = {"registers", PLAN_OF_EXCHANGE, .cost = PLAN_COUNTED, .uses = IN,
                        .moves = true},
    [PLAN_SHUFFLE] = {"shuffle", PLAN_OF_EXCHANGE, .cost = PLAN_COUNTED, .uses = IN, .warps = true,
                      .moves = true},
    [PLAN_SHARED_STORE] = {"shared store", PLAN_OF_EXCHANGE, .cost = PLAN_COUNTED, .uses = IN,
                           .moves = true},
    [PLAN_BARRIER] = {"barrier", PLAN_OF_EXCHANGE, .cost = PLAN_COUNTED, .warps = true,
                      .moves = true},
    [PLAN_SHARED_LOAD] = {"shared load", PLAN_OF_EXCHANGE, .cost = PLAN_COUNTED, .moves = true},
    [PLAN_MAP] = {"map", PLAN_OF_EXCHANGE, .cost = PLAN_COUNTED, .uses = IN, .moves = true},
    [PLAN_PICK] = {"pick", PLAN_OF_EXCHANGE, .cost = PLAN_PER_DROPPED, .uses = IN},
    [PLAN_GATHER] = {"gather", PLAN_OF_EXCHANGE, .cost = PLAN_COUNTED, .uses = IN | SECOND,
                     .warps = true, .parts = true},
    [PLAN_OPAQUE] = {"opaque", PLAN_OF_EXCHANGE, .cost = PLAN_FREE, .uses = IN},

    [PLAN_IF_INTERIOR] = {"if interior", PLAN_OF_CONTROL, .cost = PLAN_FREE, .owns = true,
                          .moves = true},
    [PLAN_IF_PRESENT] = {"if present", PLAN_OF_CONTROL, .cost = PLAN_FREE, .owns = true,
                         .moves = true},
    [PLAN_LOOP] = {"loop", PLAN_OF_CONTROL, .cost = PLAN_FREE, .owns = true, .loops = true,
                   .moves = true},
    [PLAN_REPEAT] = {"repeat", PLAN_OF_CONTROL, .cost = PLAN_FREE, .owns = true, .loops = true},
    [PLAN_AHEAD] = {"ahead", PLAN_OF_CONTROL, .cost = PLAN_FREE, .owns = true},

    [PLAN_DOT] = {"dot", PLAN_OF_PRODUCTS, .cost = PLAN_COUNTED, .uses = IN | WITH | SECOND,
                  .warps = true, .multiplies = true},
    [PLAN_MULTIPLIED] = {"multiplied", PLAN_OF_PRODUCTS,
                         .cost = PLAN_FREE}, /* its `in` is under way until then */
    [PLAN_ROLES] = {"roles", PLAN_OF_PRODUCTS, .cost = PLAN_FREE},
    [PLAN_PRODUCE] = {"produce", PLAN_OF_PRODUCTS, .cost = PLAN_FREE, .owns = true},
    [PLAN_LANDED] = {"landed", PLAN_OF_PRODUCTS, .cost = PLAN_FREE, .warps = true},
    [PLAN_FILLED] = {"filled", PLAN_OF_PRODUCTS, .cost = PLAN_FREE},
    [PLAN_RELEASE] = {"release", PLAN_OF_PRODUCTS, .cost = PLAN_FREE},
    [PLAN_SEND] = {"send", PLAN_OF_PRODUCTS, .cost = PLAN_FREE, .warps = true},
    [PLAN_SENT] = {"sent", PLAN_OF_PRODUCTS, .cost = PLAN_FREE, .warps = true},
    [PLAN_SETTLE] = {"settle", PLAN_OF_PRODUCTS, .cost = PLAN_FREE, .uses = IN, .owns = true},

    [PLAN_SCAN] = {"scan", PLAN_OF_COMBINING, .cost = PLAN_COUNTED, .uses = IN, .warps = true},
    [PLAN_PREFIX] = {"prefix", PLAN_OF_COMBINING, .cost = PLAN_PER_ELEMENT, .uses = IN | SECOND},
    [PLAN_PUBLISH] = {"publish", PLAN_OF_COMBINING, .cost = PLAN_FREE, .uses = IN},
    [PLAN_PEEK] = {"peek", PLAN_OF_COMBINING, .cost = PLAN_FREE},
    [PLAN_AWAIT] = {"await", PLAN_OF_COMBINING, .cost = PLAN_FREE, .uses = IN, .warps = true},
    [PLAN_FILL] = {"fill", PLAN_OF_COMBINING, .cost = PLAN_FREE},
    [PLAN_JOIN] = {"join", PLAN_OF_COMBINING, .cost = PLAN_COUNTED, .uses = IN | WITH},
    [PLAN_FOLD] = {"fold", PLAN_OF_COMBINING, .cost = PLAN_COUNTED, .uses = IN},
    [PLAN_FOLD_LANES] = {"fold lanes", PLAN_OF_COMBINING, .cost = PLAN_COUNTED, .uses = IN,
                         .warps = true},
    [PLAN_SPREAD] = {"spread", PLAN_OF_COMBINING, .cost = PLAN_PER_DROPPED, .uses = IN},
    [PLAN_POSITION] = {"position", PLAN_OF_COMBINING, .cost = PLAN_FREE},
    [PLAN_POSITION_ADD] = {"position add", PLAN_OF_COMBINING, .cost = PLAN_FREE, .uses = IN},
    [PLAN_APPLY] = {"apply", PLAN_OF_COMBINING, .cost = PLAN_COUNTED, .uses = IN | WITH | SECOND},
    [PLAN_CARRY] = {"carry", PLAN_OF_COMBINING, .cost = PLAN_FREE, .uses = IN | WITH},
    [PLAN_WALK] = {"walk", PLAN_OF_COMBINING, .cost = PLAN_FREE, .owns = true, .loops = true},
};

const plan_step_row *plan_step_row_of(int kind) {
  return kind > 0 && kind < PLAN_STEP_KINDS && rows[kind].name ? &rows[kind] : NULL;
}
