/* Ranges of numbers, and what an expression's operators make of them. */
#ifndef LLRT_BENCHMARKS_COMPUTE_RANGES_H
#define LLRT_BENCHMARKS_COMPUTE_RANGES_H

#include "expression/expression.h"

/* A number is in [low, high], or is NaN for certain, or may be anything. */
typedef struct range {
  double low, high;
  bool nan, any;
} range;

/* Types in the order in which they meet; LITERAL ones follow. */
enum { LITERAL_INTEGER, LITERAL_REAL, TRUTH, WHOLE, WIDE_WHOLE, SINGLE, DOUBLE };

range range_exactly(double x);
range range_anything(void);

/* What a rounded operation with an error of so many units in the last place leaves. */
range range_rounded(range x, int type, double ulps);

/* Of a sum or product of whole numbers: anything where a double may not have it exactly. */
range range_whole(range x);

/* The hull of f at the corners. */
range range_corners(double (*f)(double, double), range a, range b);
double range_plus(double a, double b);
double range_minus(double a, double b);
double range_larger(double a, double b);
double range_smaller(double a, double b);

/* Whether it is no single number, and may be zero with either sign. */
bool range_around_zero(range x);
range range_quotient(range a, range b);
range range_product(range a, range b);

/* Operators with one argument, in the type that they have. */
range range_function(int op, range a, int type);

/* 1 certainly, 0 certainly, or -1; and as a range. */
int range_truth(range a);
range range_of_truth(int known);
range range_compared(int op, range a, range b);
range range_chosen(range c, range a, range b);

range range_cast(llrt_dtype type, range x, int rounding);

#endif
