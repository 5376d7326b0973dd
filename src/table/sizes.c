/* sizes.c - see sizes.h. */
#include "table/sizes.h"

static double clamp(double value, double low, double high)
{
	return value < low ? low : value > high ? high : value;
}

double sizes_scale(double max_memory_mb, double max_compute)
{
	double memory = max_memory_mb > 0 ? clamp(max_memory_mb / 1024, 0.1, 1) : 1;
	double compute = max_compute > 0 ? clamp(max_compute, 0.1, 1) : 1;
	return memory * compute;
}

size_t sizes_rows(size_t asked, double scale, uint64_t table_rows)
{
	size_t rows = (size_t)((double)asked * scale);
	rows = rows < SIZES_LEAST ? SIZES_LEAST : rows;
	return table_rows && rows > table_rows ? (size_t)table_rows : rows;
}
