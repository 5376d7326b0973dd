/* sql.c - see sql.h. */
#include "store/sql.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

char *sql_path(const char *path)
{
	return path[0] == '/' ? mem_strdup(path) : mem_printf("./%s", path);
}

int sql_step(sqlite3_stmt *statement)
{
	errno = 0;
	return sqlite3_step(statement);
}

int sql_exec(sqlite3 *db, const char *sql)
{
	errno = 0;
	return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

int64_t sql_int(sqlite3 *db, const char *sql, int64_t otherwise)
{
	sqlite3_stmt *statement = NULL;
	int64_t value = otherwise;
	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
		value = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return value;
}

const char *sql_words(sqlite3 *db)
{
	if (!db)
		return strerror(ENOMEM);
	int code = sqlite3_errcode(db) & 0xFF;
	int system = sqlite3_system_errno(db) ? sqlite3_system_errno(db) : errno;
	if (code == SQLITE_FULL)
		return strerror(ENOSPC);
	if ((code == SQLITE_IOERR || code == SQLITE_CANTOPEN) && system)
		return strerror(system);
	return sqlite3_errmsg(db);
}

void sql_put_null(struct sql_row *row)
{
	sqlite3_bind_null(row->statement, ++row->at);
}

void sql_put_int(struct sql_row *row, int64_t value)
{
	sqlite3_bind_int64(row->statement, ++row->at, value);
}

void sql_put_uint(struct sql_row *row, uint64_t value)
{
	sql_put_int(row, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

void sql_put_real(struct sql_row *row, double value)
{
	sqlite3_bind_double(row->statement, ++row->at, value);
}

static bool is_clean(const char *bytes, size_t size)
{
	for (size_t at = 0; at < size;) {
		size_t length = str_utf8_length(bytes + at, size - at);
		if (length == 0 || bytes[at] == '\0')
			return false;
		at += length;
	}
	return true;
}

/* A NUL is valid UTF-8, but everything that reads the text back as a C string would stop at it. */
static char *cleaned(const char *bytes, size_t size)
{
	struct str out = {0};
	for (size_t at = 0; at <= size;) {
		size_t part = strnlen(bytes + at, size - at);
		char *text = str_utf8_clean(bytes + at, part);
		str_append(&out, text);
		free(text);
		at += part;
		if (at < size)
			str_append(&out, "\xEF\xBF\xBD");
		at++;
	}
	return str_take(&out);
}

void sql_put_bytes(struct sql_row *row, const char *bytes, size_t size)
{
	if (is_clean(bytes, size)) {
		sqlite3_bind_text64(row->statement, ++row->at, bytes, size, SQLITE_STATIC, SQLITE_UTF8);
		return;
	}
	char *text = cleaned(bytes, size);
	sqlite3_bind_text64(row->statement, ++row->at, text, strlen(text), free, SQLITE_UTF8);
}

void sql_put_text(struct sql_row *row, const char *text)
{
	if (text)
		sql_put_bytes(row, text, strlen(text));
	else
		sql_put_null(row);
}
