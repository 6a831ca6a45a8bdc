/* A plan in memory, and the functions that make it. */
#ifndef LLRT_RECIPE_PLAN_H
#define LLRT_RECIPE_PLAN_H

#include "recipe/image.h"
#include "recipe/recipe.h"

#include <llrt/compute.h>
#include <llrt/convert.h>
#include <llrt/op.h>

/* What all moves of one pair of storages, shape and types have in common. */
typedef struct repack_class {
  llrt_storage source, destination;
  llrt_dtype from, to;
  int32_t rank, n_maps;
  int64_t shape[LLRT_MAX_RANK];
  llrt_map map[LLRT_MAX_MAPS];
  int32_t source_alignment, destination_alignment; /* bytes that divide the parts' offsets */
  int32_t in_place;
  int32_t refused; /* in place: no kernel does it */
  uint64_t hash;   /* of what is before it, but for `refused` */
  llrt_op *op;     /* NULL without a device */
  llrt_op *many;   /* the same for lists of tensors (recipe/lists.c); NULL: none, or no device */
  int32_t lists;   /* class_lists */
  int32_t alike; /* the first class that differs in no more than alignments of 16 bytes and more */
} repack_class;

typedef enum class_lists { LISTS_UNKNOWN, LISTS_SERVED, LISTS_REFUSED } class_lists;

#define PLAN_MOST_ARGS RECIPE_MOST_COMPUTED

/* What all runs of one expression on tensors of one kind have in common; inputs first. */
typedef struct repack_program {
  const char *text;            /* the expression's; borrowed */
  llrt_expr *expr, *list_expr; /* the second has an axis more, the number in lists */
  int32_t n, lists;            /* class_lists */
  const char *name[PLAN_MOST_ARGS];
  llrt_dtype dtype[PLAN_MOST_ARGS];
  int32_t rank[PLAN_MOST_ARGS], alignment[PLAN_MOST_ARGS]; /* bytes that divide addresses */
  int64_t shape[PLAN_MOST_ARGS][LLRT_MAX_RANK];
  llrt_storage storage[PLAN_MOST_ARGS];
  llrt_op *op, *many; /* NULL: no device, or no lists */
} repack_program;

/* Instead of the number of a tensor: the workspace from its begin on, and the part of it that runs
 * of programs hand numbers over in, where each has a place of its own. */
enum { REPACK_WORKSPACE = -1, REPACK_WORDS = -2 };

/* One tensor of a run of a program. */
typedef struct repack_arg {
  int32_t tensor; /* of the plan's inputs, or outputs; or REPACK_WORDS */
  bool output;
  int64_t offset; /* bytes */
} repack_arg;

typedef enum repack_kind {
  REPACK_CONVERT, /* one kernel, of a class */
  REPACK_COPY,    /* `bytes` bytes; nothing where both addresses are one */
  REPACK_SET,     /* `bytes` bytes to `value` */
  REPACK_FILL,    /* all elements to `number` */
  REPACK_COMPUTE  /* a run of program `of_class` on `args` */
} repack_kind;

/* What a run queues, in order. */
typedef struct repack_move {
  int32_t kind, of_class;
  int32_t in, out;               /* of the plan's inputs and outputs */
  int64_t in_offset, out_offset; /* bytes */
  int64_t bytes;
  double number;
  int32_t value;
  int32_t args;  /* the first of plan.args */
  int32_t stage; /* of a program: 0, or above what writes the words that it reads */
} repack_move;

typedef struct plan_array {
  void *data;
  int n, capacity;
} plan_array;

#define PLAN_AT(array, type, i) (((type *)(array).data) + (i))

/* Moves that a run does next: one, or several of a class by one launch. */
typedef struct repack_lot {
  int32_t first, n; /* plan.order[first .. first + n - 1] */
  int32_t lists;    /* of n addresses each, for one launch; 0: one move by itself */
} repack_lot;

/* What a run of a step, or of the whole plan, does in order. In the workspace lists of addresses
 * follow `scratch` bytes, and `words` bytes follow those: the plan's words from first_word on. */
typedef struct repack_schedule {
  int first, n;  /* plan.lots */
  int addresses; /* in lists */
  size_t scratch;
  size_t first_word, words; /* bytes */
} repack_schedule;

/* Where a step's parts of the plan's lists begin. */
typedef struct step_range {
  int used, made, move;
  repack_schedule schedule;
} step_range;

/* Host memory for the addresses of a captured run (recipe/captured.c). */
typedef struct captured_lists captured_lists;

struct llrt_repack {
  llrt_device *device;
  bool inverse, in_place, on_host;
  plan_array inputs, outputs; /* llrt_repack_tensor */
  plan_array steps;           /* llrt_repack_step */
  plan_array ranges;          /* step_range, of each */
  plan_array used, made;      /* int32_t: numbers of the checkpoint's tensors, of the engine's */
  plan_array moves;           /* repack_move */
  plan_array classes;         /* repack_class * */
  plan_array programs;        /* repack_program * */
  plan_array args;            /* repack_arg */
  plan_array texts;           /* char *: names */
  plan_array fills;           /* llrt_op * */
  plan_array lots;            /* repack_lot */
  plan_array order;           /* int32_t: numbers of moves */
  size_t words;               /* bytes that runs of programs hand over in the workspace */
  repack_schedule whole;      /* all steps at once */
  captured_lists *captured;   /* NULL: a captured run has no lists */
  llrt_expr *fill;            /* NULL: nothing is filled */
  llrt_repack_info info;
};

/* The tensors of the checkpoint, and those of the engine. */
static inline plan_array *plan_checkpoint(llrt_repack *plan) {
  return plan->inverse ? &plan->outputs : &plan->inputs;
}
static inline plan_array *plan_engine(llrt_repack *plan) {
  return plan->inverse ? &plan->inputs : &plan->outputs;
}

/* Appends `bytes` zeroed bytes; NULL where there is no memory. */
void *plan_append(plan_array *array, size_t bytes);

/* A copy of the text that lives as long as the plan; NULL where there is no memory. */
const char *plan_text(llrt_repack *plan, span text);

/* The class's number, which is made where there is none like it. Errors: as llrt_op_prepare. */
llrt_status plan_class(llrt_repack *plan, const repack_class *wanted, int32_t *number);

/* Source and destination of a class's moves; one tensor with all elements of an output. */
void repack_tensors(const llrt_repack *plan, const repack_class *of, void *source,
                    void *destination, llrt_tensor tensors[2]);
void repack_fill_tensor(const llrt_repack *plan, const llrt_repack_tensor *out, void *data,
                        llrt_tensor *tensor);

/* ---- lists of tensors (recipe/lists.c) ---- */

enum {
  LISTS_ALIGNMENT = 16,      /* bytes that divide the addresses in lists, at most */
  WORKSPACE_ALIGNMENT = 256, /* bytes */
  LISTS_MOST = 1 << 24,      /* tensors that go together */
  LISTS_AT_ONCE = 4096       /* addresses that one copy brings into the workspace */
};

/* Source and destination of n of a class's moves, whose addresses stand in two lists. `indices` are
 * theirs, as long as they are used. */
typedef struct repack_listed {
  llrt_tensor tensor[2];
  llrt_index index[2];
  llrt_storage storage[2];
} repack_listed;

void repack_list_tensors(const llrt_repack *plan, const repack_class *of, const uint64_t *sources,
                         const uint64_t *destinations, int64_t n, repack_listed *listed);

/* An index that takes each tensor's address from a list, along axis 0, which the storage gets. */
llrt_index list_index(int32_t alignment, const uint64_t *addresses);
void list_axis(llrt_storage *storage);

/* Orders the moves of every step and of the whole plan: those that are alike and independent of the
 * rest go together. Sets workspaces, and counts launches. */
llrt_status plan_schedule(llrt_repack *plan);

/* Where the schedule's lists and words begin in the workspace, and how many bytes it needs of that.
 */
size_t schedule_lists(const repack_schedule *schedule);
size_t schedule_words(const repack_schedule *schedule);
size_t schedule_workspace(const repack_schedule *schedule);

/* Room for so many addresses; NULL where a device or the memory is not for that. */
captured_lists *captured_lists_make(llrt_device *device, int addresses);
void captured_lists_destroy(llrt_device *device, captured_lists *lists);

/* Whether the move does nothing: a tensor that is kept where it is. */
bool plan_stays(const llrt_repack *plan, const repack_move *move);

/* ---- programs (recipe/programs.c) ---- */

/* The arguments of a run, which are the call's. */
typedef struct program_call {
  llrt_arg arg[PLAN_MOST_ARGS];
  llrt_tensor tensor[PLAN_MOST_ARGS];
  llrt_index index[PLAN_MOST_ARGS];
  llrt_storage storage[PLAN_MOST_ARGS];
} program_call;

void program_args(const llrt_repack *plan, const repack_program *of, void *const *addresses,
                  program_call *call);

/* The same of n runs, whose addresses stand in program.n lists behind each other. */
void program_list_args(const llrt_repack *plan, const repack_program *of, const uint64_t *lists,
                       int64_t n, program_call *call);

/* Runs the program, or with `lists` its kernel of lists, on a call's arguments: by what was
 * prepared, where the addresses keep its promises. */
llrt_status program_run(const repack_program *program, const program_call *call, bool lists,
                        void *stream);

llrt_status program_prepare_lists(const llrt_repack *plan, repack_program *program);
void program_destroy(repack_program *program);

/* Bytes that a run reads, or writes. */
uint64_t program_bytes(const repack_program *program, bool read, const repack_arg *args);

/* ---- names (recipe/names.c) ---- */

#define NAMES_MAX 6

/* What the names in braces of a row's texts stand for. */
typedef struct row_names {
  int n;
  struct {
    span name, value;
  } entry[NAMES_MAX];
} row_names;

span names_find(const row_names *names, span name); /* text NULL: not there */
bool names_add(row_names *names, span name, span value);

/* Whether `text` is `pattern`, in which {X} stands for any text that is not empty, but for those
 * that `known` has; then what the others stand for is added to it. {each} is the row's. */
llrt_status names_match(span pattern, span each, span text, row_names *known, bool *matches);

/* The pattern with all names filled in. Errors: INVALID_ARGUMENT for a name that is not known. */
llrt_status names_expand(span pattern, span each, const row_names *known, llrt_text *out);

/* ---- binding ---- */

typedef struct given_tensors {
  const llrt_named_tensor *tensor;
  int n;
  int32_t *sorted; /* by name */
  int32_t *step;   /* that uses it; -1: none yet */
} given_tensors;

/* The number of the tensor of that name; -1. */
int checkpoint_find(const given_tensors *checkpoint, const char *name);

typedef struct recipe_binder {
  const llrt_recipe *recipe;
  given_tensors given;
  json_tree config;
  int64_t tp, rank;
  int depth; /* of `let` inside of `let` */
  llrt_repack *plan;
} recipe_binder;

/* One step of a row: names are known (recipe/bind_step.c). */
llrt_status bind_step(recipe_binder *binder, int row, const row_names *known);

/* Whether a file's type is the recipe's: bN is any of N bits. */
bool bind_type_fits(llrt_dtype wanted, llrt_dtype found);

/* Sets *value to the value of a name of the config, of `let`, of tp and rank; as number_scope.find.
 */
int bind_find(void *binder, const char *name, size_t length, int64_t *value);

/* ---- making steps (recipe/steps.c): in the direction from the checkpoint to the engine ---- */

/* Begins a step; what is added from now on is of it. */
llrt_status plan_step_begin(llrt_repack *plan, int row);

/* The step reads (of an inverse: writes) tensor `number` of the checkpoint. */
llrt_status plan_step_uses(llrt_repack *plan, int number);

/* Adds a tensor of the engine, which the step makes (of an inverse: reads). *number is its number.
 */
llrt_status plan_step_makes(llrt_repack *plan, const llrt_repack_tensor *tensor, int *number);

/* What moves between a checkpoint's tensor and one of the engine's. */
typedef struct plan_pair {
  int checkpoint, engine; /* numbers */
  storage_image from, to;
  llrt_dtype from_dtype, to_dtype;
  int rank;
  int64_t shape[LLRT_MAX_RANK];
  const recipe_maps *maps; /* NULL: none */
  bool whole;              /* of both tensors, and no other pair has them */
} plan_pair;

llrt_status plan_step_moves(llrt_repack *plan, const plan_pair *pair);

/* Adds moves that make the class's conversion in place by parts through the workspace, of which
 * they need *workspace bytes; *done: false where its tensors cannot be cut so (recipe/parts.c). */
llrt_status plan_in_parts(llrt_repack *plan, const repack_class *of, int in, int out,
                          size_t *workspace, bool *done);

/* A run of an expression: tensors as it sees them, the checkpoint's first. */
typedef struct plan_arg_image {
  span name;
  int tensor;     /* number; or REPACK_WORDS */
  int64_t offset; /* of words: bytes */
  bool output;
  storage_image image;
  llrt_dtype dtype;
  int rank;
  int64_t shape[LLRT_MAX_RANK];
} plan_arg_image;

typedef struct plan_computed {
  const recipe_expression *expression;
  int of;    /* the checkpoint's tensor that it is for */
  int stage; /* as repack_move.stage */
  int n;
  plan_arg_image arg[PLAN_MOST_ARGS];
} plan_computed;

llrt_status plan_step_computes(llrt_repack *plan, const plan_computed *computed);

/* Gives an argument that has its name, type and shape room in the workspace, in rows. */
llrt_status plan_step_words(llrt_repack *plan, plan_arg_image *arg);

/* Adds the move of an argument in the workspace to one of the same type and shape, whose pads are
 * set: behind all that computes. */
llrt_status plan_step_brings(llrt_repack *plan, const plan_arg_image *from,
                             const plan_arg_image *to);

/* All bytes of a tensor of the engine to `value`, all its elements to `number`: nothing in an
 * inverse. */
llrt_status plan_step_sets(llrt_repack *plan, int engine, int value);
llrt_status plan_step_fills(llrt_repack *plan, int engine, double number);

/* A step of its own: the tensor comes out as it is. */
llrt_status plan_keeps(llrt_repack *plan, int number);

/* Ends the step: counts. */
void plan_step_end(llrt_repack *plan);

/* Ends the plan: its lists, its sums. Errors: INVALID_ARGUMENT for two outputs of one name. */
llrt_status plan_seal(llrt_repack *plan);

#endif
