/*
 * shortest.h - a double as decimal text that reads back as the same double, fast: for files with millions of numbers.
 *
 * The text is as short as it can be, in all but about one of a thousand cases, where it has a digit more. json_format_number
 * is always shortest and twenty times slower.
 */
#ifndef PITOT_BASE_SHORTEST_H
#define PITOT_BASE_SHORTEST_H

#include <stddef.h>
#include <stdint.h>

enum { SHORTEST_SIZE = 32 };

/* Terminated; the length. Zero of either sign is "0"; "nan", "inf", "-inf". */
size_t shortest_format(double value, char out[SHORTEST_SIZE]);

#endif
