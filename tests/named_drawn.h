/* How many named storages, from the first, the conformance suite and the draws take theirs from. A
 * name behind them has tests of its own, and leaves the cases and seeds of those as they were. */
#ifndef LLRT_TESTS_NAMED_DRAWN_H
#define LLRT_TESTS_NAMED_DRAWN_H

#define NAMED_DRAWN 127

#endif
