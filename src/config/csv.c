/* csv.c - see csv.h. */
#include "config/csv.h"
#include "base/str.h"
#include "base/vec.h"

#include <string.h>

struct csv_reader {
	const char *text;
	size_t size;
	size_t at;
	struct str cell;
	bool ends_record; /* the cell just read was its record's last */
	bool unclosed;    /* the text ended within quotes */
};

static void read_quoted(struct csv_reader *reader)
{
	for (; reader->at < reader->size; reader->at++) {
		char byte = reader->text[reader->at];
		if (byte != '"') {
			str_append_char(&reader->cell, byte);
			continue;
		}
		if (reader->at + 1 == reader->size || reader->text[reader->at + 1] != '"') {
			reader->at++;
			return;
		}
		str_append_char(&reader->cell, '"');
		reader->at++;
	}
	reader->unclosed = true;
}

static bool ends_cell(char byte)
{
	return byte == ',' || byte == '\r' || byte == '\n';
}

static void read_cell(struct csv_reader *reader)
{
	str_clear(&reader->cell);
	while (reader->at < reader->size && reader->text[reader->at] == ' ')
		reader->at++;
	if (reader->at < reader->size && reader->text[reader->at] == '"') {
		reader->at++;
		read_quoted(reader);
	}
	while (reader->at < reader->size && !ends_cell(reader->text[reader->at]))
		str_append_char(&reader->cell, reader->text[reader->at++]);
	while (reader->cell.len && reader->cell.text[reader->cell.len - 1] == ' ')
		reader->cell.text[--reader->cell.len] = '\0';
	char end = reader->at < reader->size ? reader->text[reader->at++] : '\n';
	reader->ends_record = end != ',';
	if (end == '\r' && reader->at < reader->size && reader->text[reader->at] == '\n')
		reader->at++;
}

static int find_column(struct csv_reader *reader, const char *name, size_t *out, struct err *err)
{
	VEC(char *) names = {0};
	size_t found = SIZE_MAX;
	if (reader->size >= 3 && memcmp(reader->text, "\xEF\xBB\xBF", 3) == 0)
		reader->at = 3;
	do {
		read_cell(reader);
		if (found == SIZE_MAX && strcmp(str_text(&reader->cell), name) == 0)
			found = names.len;
		vec_push(&names, mem_strdup(str_text(&reader->cell)));
	} while (!reader->ends_record);
	const char *suggestion = str_suggest(name, (const char *const *)names.items, names.len);
	int code = 0;
	if (found == SIZE_MAX && suggestion)
		code = err_set(err, ERR_INPUT, "it has no column '%s'; did you mean '%s'?", name, suggestion);
	else if (found == SIZE_MAX)
		code = err_set(err, ERR_INPUT, "it has no column '%s'", name);
	*out = found;
	for (size_t i = 0; i < names.len; i++)
		free(names.items[i]);
	vec_fini(&names);
	return code;
}

static int add_cell(const struct csv_reader *reader, size_t record, struct csv_column *out, struct err *err)
{
	double value;
	if (reader->cell.len == 0)
		return 0;
	if (!str_to_double(reader->cell.text, &value))
		return err_set(err, ERR_INPUT, "record %zu has '%.60s', which is not a finite number", record,
			       reader->cell.text);
	if (out->count == 0)
		out->first = out->min = out->max = value;
	out->last = value;
	out->min = value < out->min ? value : out->min;
	out->max = value > out->max ? value : out->max;
	out->sum += value;
	out->count++;
	return 0;
}

int csv_read_column(const char *text, size_t size, const char *name, struct csv_column *out, struct err *err)
{
	struct csv_reader reader = {.text = text, .size = size};
	size_t wanted, column = 0, record = 2;
	*out = (struct csv_column){0};
	int code = find_column(&reader, name, &wanted, err);
	while (!code && reader.at < size) {
		read_cell(&reader);
		if (column++ == wanted)
			code = add_cell(&reader, record, out, err);
		if (reader.ends_record) {
			column = 0;
			record++;
		}
	}
	if (!code && reader.unclosed)
		code = err_set(err, ERR_INPUT, "a quote is not closed");
	if (!code && out->count == 0)
		code = err_set(err, ERR_INPUT, "column '%s' has no value", name);
	str_fini(&reader.cell);
	return code;
}
