/*
 * csv.h - records of a CSV input, block by block: RFC 4180 and what is found in the wild.
 *
 *	source (plain, gzip, zstd, standard input)  ->  blocks that end with a record  ->  cells, column by column
 *
 * Cutting blocks is sequential and cheap: it reads, counts quotes, and looks for the last line end that is outside of quotes. Taking
 * a block apart needs nothing but the block, so several threads do that side by side. Memory is bounded by the blocks in flight;
 * nothing is mapped, so that the page cache is never charged to the process.
 *
 * What counts as what:
 *	line end        LF, CRLF, or a CR without LF; any mixture
 *	quote           toggles quoting wherever it stands; a cell that begins with one loses its outer quotes and halves the doubled
 *	                ones; in a cell that does not, quotes are kept as they are
 *	blank line      no record, unless the table has one column: then it is a missing value
 *	ragged record   an error with its line, or padded (cells too many are dropped), or skipped; counted
 *	not UTF-8       an error with its line, or bad bytes replaced by U+FFFD and counted
 *	NUL byte        an error with its line: such a file is UTF-16 or damaged
 *	open quote      at the end of the input: an error with the line where the record begins
 *	empty input     an error; a header alone is a table without rows
 *	twice the name  the second becomes NAME_2, and so on; an empty name becomes column_N; counted as renamed
 *	BOM             passed over
 *	a long record   the block grows until it holds the record, as far as the memory budget and CSV_MOST_RECORD allow
 */
#ifndef PITOT_TABLE_CSV_H
#define PITOT_TABLE_CSV_H

#include "base/err.h"
#include "table/memory.h"

#include <stdint.h>

enum {
	CSV_MOST_COLUMNS = 1 << 16,
	CSV_MOST_RECORD = 1 << 30,
};

enum csv_ragged { CSV_RAGGED_ERROR, CSV_RAGGED_PAD, CSV_RAGGED_SKIP };
enum csv_encoding { CSV_ENCODING_ERROR, CSV_ENCODING_REPLACE };

/* Sees every byte of the input file as it was read, in order: for a fingerprint. */
typedef void csv_watch_fn(void *context, const char *bytes, size_t count);

struct csv_settings {
	char delimiter; /* 0: `,`; `\t` where the name ends in .tsv, before .gz or .zst */
	enum csv_ragged ragged;
	enum csv_encoding encoding;
	bool no_header;      /* the columns are column_1, column_2, … */
	size_t block_bytes;  /* 0: the default */
	csv_watch_fn *watch; /* or NULL */
	void *watch_context;
	const char *name; /* that messages have for the file, where it is a copy; or NULL */
};

/* What the reader met; complete at the end of the input. */
struct csv_counts {
	uint64_t file_bytes; /* read from the file so far, compressed or not */
	uint64_t text_bytes; /* of CSV text so far */
	uint64_t records;    /* without the header, without skipped ones */
	uint64_t padded;     /* too short */
	uint64_t truncated;  /* too long */
	uint64_t skipped;
	uint64_t replaced; /* bytes that were not UTF-8 */
	uint64_t renamed;  /* columns */
	uint64_t line;     /* lines ended so far */
};

struct csv;

/* `path` "-" is standard input. Reads as far as the header. */
int csv_open(const char *path, const struct csv_settings *settings, struct memory *memory, struct csv **out,
	     struct err *err);
void csv_close(struct csv *csv);
size_t csv_column_count(const struct csv *csv);
const char *csv_column_name(const struct csv *csv, size_t column);
const char *csv_path(const struct csv *csv);
/* Of the file; 0 where that is unknown (a pipe). With counts.file_bytes it tells how far the reading is. */
uint64_t csv_file_size(const struct csv *csv);
void csv_count(struct csv *csv, struct csv_counts *out);

/* A cell: borrowed from its block. Empty is empty, whether quoted or not. CSV_READABLE bytes from where a cell of a block begins can be
 * read, however short it is. */
enum { CSV_READABLE = 16 };

struct span {
	const char *text;
	uint32_t length;
};

struct csv_block;
struct csv_block *csv_block_new(struct csv *csv, struct err *err);
void csv_block_free(struct csv_block *block);
/* The next block of whole records: 1, 0 at the end, or an error. One thread at a time; the order of calls is the order of records. */
int csv_block_cut(struct csv *csv, struct csv_block *block, struct err *err);
/* Takes it apart. Columns that `wanted` (a bool for each, or NULL: all) does not name are passed over. Any thread. */
int csv_block_split(struct csv *csv, struct csv_block *block, const bool *wanted, struct err *err);
size_t csv_block_rows(const struct csv_block *block);
uint64_t csv_block_bytes(const struct csv_block *block);
/* The cells of a column, one per row; NULL where it was not wanted, or the block was never split. */
const struct span *csv_block_cells(const struct csv_block *block, size_t column);
/* Line in the file where the row's record begins. */
uint64_t csv_block_line(const struct csv_block *block, size_t row);

#endif
