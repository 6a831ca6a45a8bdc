/* What the library said about the call that just failed, for people who called none of its
 * functions: without the function's name. Borrowed, as llrt_last_error. */
#ifndef LLRT_TOOLS_COMMON_LIBRARY_SAYS_H
#define LLRT_TOOLS_COMMON_LIBRARY_SAYS_H

const char *library_says(void);

#endif
