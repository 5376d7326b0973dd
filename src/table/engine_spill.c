/*
 * engine_spill.c - see engine_inside.h: a chunk that is too large for the memory limit, as a CSV file of its cleaned and derived columns.
 *
 * The file begins with the chunk's first part and grows with each; it is never read back by the engine itself.
 */
#include "table/engine_inside.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { SPILL_BUFFER = 64 << 10 };

static void spill_put_cell(struct str *out, struct span cell)
{
	bool quoted = false;
	for (uint32_t i = 0; i < cell.length; i++)
		quoted |= cell.text[i] == '"' || cell.text[i] == ',' || cell.text[i] == '\n' || cell.text[i] == '\r';
	if (!quoted) {
		str_append_bytes(out, cell.text, cell.length);
		return;
	}
	str_append_char(out, '"');
	for (uint32_t i = 0; i < cell.length; i++) {
		if (cell.text[i] == '"')
			str_append_char(out, '"');
		str_append_char(out, cell.text[i]);
	}
	str_append_char(out, '"');
}

static int spill_flush(int fd, struct str *text, const char *path, struct err *err)
{
	size_t done = 0;
	while (done < text->len) {
		ssize_t count = write(fd, text->text + done, text->len - done);
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return err_set_errno(err, ERR_IO, "cannot write '%s'", path);
		done += (size_t)count;
	}
	str_clear(text);
	return 0;
}

static int spill_rows(int fd, const struct engine_chunk *at, bool fresh, struct err *err)
{
	const struct frame *frame = at->frame;
	struct str text = {0};
	char buffer[COLUMN_FORMAT_SIZE];
	int code = 0;
	for (size_t i = 0; i < frame->count && fresh; i++) {
		const char *name = frame->columns[i].name;
		str_append(&text, i ? "," : "");
		spill_put_cell(&text, (struct span){name, (uint32_t)strlen(name)});
	}
	str_append(&text, fresh ? "\n" : "");
	for (size_t row = 0; row < frame->rows && !code; row++) {
		for (size_t i = 0; i < frame->count; i++) {
			str_append(&text, i ? "," : "");
			spill_put_cell(&text, column_format(&frame->columns[i], row, buffer));
		}
		str_append_char(&text, '\n');
		if (text.len >= SPILL_BUFFER)
			code = spill_flush(fd, &text, at->spill_path, err);
	}
	if (!code)
		code = spill_flush(fd, &text, at->spill_path, err);
	str_fini(&text);
	return code;
}

int engine_spill(struct engine_work *work, struct err *err)
{
	struct engine_chunk *at = &work->at;
	bool fresh = !at->spill_path;
	if (fresh) {
		char *name = mem_printf("chunk_%06zu.csv", at->id);
		at->spill_path = file_join(work->engine->spill_dir, name);
		free(name);
		int made = file_make_dirs(work->engine->spill_dir, err);
		if (made)
			return made;
	}
	int fd = open(at->spill_path, O_WRONLY | O_CREAT | O_CLOEXEC | (fresh ? O_TRUNC : O_APPEND), 0666);
	if (fd < 0)
		return err_set_errno(err, ERR_IO, "cannot write '%s'", at->spill_path);
	int code = spill_rows(fd, at, fresh, err);
	if (close(fd) != 0 && !code)
		code = err_set_errno(err, ERR_IO, "cannot write '%s'", at->spill_path);
	return code;
}
