/*
 * csv_inside.h - what csv.c (opening, cutting blocks) and csv_split.c (taking them apart) share.
 */
#ifndef PITOT_TABLE_CSV_INSIDE_H
#define PITOT_TABLE_CSV_INSIDE_H

#include "table/csv.h"
#include "table/scan.h"
#include "table/source.h"

#include <pthread.h>

struct csv {
	char *path;
	struct csv_settings settings;
	struct memory *memory;
	struct source *source;
	const struct scan_kernel *scan;
	char **names;
	size_t columns;
	char *carry; /* text that was read but not yet cut */
	size_t carry_size, carry_room;
	bool source_ended, ended;
	pthread_mutex_t lock; /* of `counts`, which every thread that splits adds to */
	struct csv_counts counts;
};

struct csv_block {
	struct csv *csv;
	char *text; /* `room` bytes and SCAN_SLACK */
	size_t size, room;
	uint64_t first_line;
	uint64_t input_bytes;
	bool quoted;
	size_t rows;
	struct scan_index index;
	size_t most_cells, most_records;  /* by the tally of the block */
	size_t cell_room, record_room[5]; /* index.cells; index.records and the arrays below */
	uint32_t *starts;                 /* where each row's record begins in `text` */
	uint32_t *first_cells;            /* of `index.cells` */
	uint32_t *widths;                 /* cells of each row, at most the table's columns; only set where `ragged` */
	uint32_t *quoted_rows;            /* rows with quotes in them */
	bool ragged;
	struct span *cells; /* of the wanted columns, `rows` each, one column after the other */
	size_t cells_room;
	uint32_t *places; /* by column: which of the wanted ones it is, or UINT32_MAX */
	char *side;       /* cells that had doubled quotes */
	size_t side_size, side_room;
};

/* Removes a cell's outer quotes and halves the doubled ones, in place where it can; `side` is where it cannot. */
struct span csv_unquote(struct span cell, char *side, size_t *side_size);
/* Grows a buffer of the block; ERR_UNAVAILABLE with the limit in the message. */
int csv_no_memory(const struct csv *csv, size_t bytes, struct err *err);

#endif
