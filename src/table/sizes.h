/*
 * sizes.h - how many rows are worked on at a time under limits of memory and compute.
 *
 *	scale = clamp(memory in MiB / 1024, 0.1, 1) × clamp(compute, 0.1, 1)
 *	rows  = max(16, asked × scale), at most the table's
 */
#ifndef PITOT_TABLE_SIZES_H
#define PITOT_TABLE_SIZES_H

#include <stddef.h>
#include <stdint.h>

enum { SIZES_LEAST = 16 };

/* A limit of 0 or below is none, and scales by 1. */
double sizes_scale(double max_memory_mb, double max_compute);
/* `table_rows` 0: not known. */
size_t sizes_rows(size_t asked, double scale, uint64_t table_rows);

#endif
