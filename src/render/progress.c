/* progress.c - see progress.h. */
#include "render/progress.h"
#include "base/clock.h"
#include "base/mem.h"
#include "render/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { REDRAW_NS = 90000000, USUAL_ROWS = 24, NAME_COLUMNS = 20, TRAIL_COLUMNS = 12 };

struct progress {
	int fd;
	enum progress_mode mode;
	struct render_options options;
	int lines; /* drawn by the last redraw, above the cursor */
	uint64_t drawn_ns;
	unsigned frame;
};

struct progress *progress_new(int fd, enum progress_mode mode, const struct render_options *options)
{
	struct progress *progress = mem_alloc(sizeof(*progress));
	*progress = (struct progress){.fd = fd, .mode = mode, .options = *options};
	return progress;
}

static void emit(const struct progress *progress, const struct str *text)
{
	/* The view is a convenience: whoever closed stderr does not want it. */
	ssize_t ignored = write(progress->fd, str_text(text), text->len);
	(void)ignored;
}

static int terminal_rows(int fd)
{
	struct winsize size;
	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 4 ? size.ws_row : USUAL_ROWS;
}

/* `text` cut or padded to `columns`. */
static void append_fitted(const char *text, size_t columns, struct str *out)
{
	size_t at = 0, used = 0, count = strlen(text);
	while (at < count) {
		size_t length = str_utf8_length(text + at, count - at);
		char point[5] = {0};
		memcpy(point, length ? text + at : "?", length ? length : 1);
		size_t width = str_columns(point);
		if (used + width > columns)
			break;
		str_append(out, point);
		used += width;
		at += length ? length : 1;
	}
	for (; used < columns; used++)
		str_append_char(out, ' ');
}

static const char *mark_of(const struct progress *progress, const struct stage_view *stage)
{
	static const char *const spinner[] = {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
	bool unicode = progress->options.unicode;
	if (stage->state == VIEW_PENDING)
		return unicode ? "·" : ".";
	if (stage->state == VIEW_RUNNING)
		return unicode ? spinner[progress->frame % 10] : ">";
	switch (stage->status) {
	case STATUS_OK:
		return unicode ? "✓" : "+";
	case STATUS_SKIPPED:
	case STATUS_MANUAL:
		return "-";
	default:
		return unicode ? "✗" : "x";
	}
}

static const char *color_of(const struct progress *progress, const struct stage_view *stage)
{
	if (!progress->options.color)
		return "";
	if (stage->state == VIEW_RUNNING)
		return "\033[36m";
	if (stage->state == VIEW_PENDING || stage->status == STATUS_SKIPPED || stage->status == STATUS_MANUAL)
		return "\033[2m";
	return stage->status == STATUS_OK ? "\033[32m" : "\033[31m";
}

static void append_expectation(const struct stage_view *stage, struct str *out)
{
	char text[FORMAT_SIZE];
	if (!stage->expected_ns)
		return;
	if (stage->elapsed_ns >= stage->expected_ns) {
		format_seconds((double)stage->expected_ns / 1e9, text);
		str_appendf(out, "  usually %s", text);
		return;
	}
	format_seconds((double)(stage->expected_ns - stage->elapsed_ns) / 1e9, text);
	str_appendf(out, "  ~%s left", text);
}

static void append_load(const struct progress *progress, const struct stage_view *stage, struct str *out)
{
	char memory[FORMAT_SIZE], io[FORMAT_SIZE];
	format_bytes(stage->memory_bytes, memory);
	format_bytes(stage->io_bytes_s, io);
	str_appendf(out, "  %4.0f%% cpu  %9s  %9s/s", stage->cpu_percent, memory, io);
	if (stage->gpu_percent >= 0)
		str_appendf(out, "  %3.0f%% gpu", stage->gpu_percent);
	int shown = stage->trail_count < TRAIL_COLUMNS ? stage->trail_count : TRAIL_COLUMNS;
	if (shown > 1) {
		double top = 100;
		for (int i = stage->trail_count - shown; i < stage->trail_count; i++)
			top = stage->trail[i] > top ? stage->trail[i] : top;
		str_append(out, "  ");
		format_sparkline(stage->trail + stage->trail_count - shown, (size_t)shown, top,
				 progress->options.unicode, out);
	}
	append_expectation(stage, out);
	if (stage->lingering)
		str_appendf(out, "  waiting for %d left behind", stage->processes);
}

static void append_outcome(const struct stage_view *stage, struct str *out)
{
	char memory[FORMAT_SIZE];
	format_bytes(stage->memory_bytes, memory);
	str_appendf(out, "  %4.0f%% cpu  %9s", stage->cpu_percent, memory);
}

static void append_stage(const struct progress *progress, const struct stage_view *stage, struct str *out)
{
	struct str line = {0};
	char elapsed[FORMAT_SIZE] = "";
	if (stage->elapsed_ns)
		format_seconds((double)stage->elapsed_ns / 1e9, elapsed);
	append_fitted(stage->name, NAME_COLUMNS, &line);
	str_appendf(&line, " %9s", elapsed);
	if (stage->state == VIEW_RUNNING)
		append_load(progress, stage, &line);
	else if (stage->state == VIEW_DONE && stage->status == STATUS_OK)
		append_outcome(stage, &line);
	else if (stage->state == VIEW_DONE)
		str_appendf(&line, "  %s%s%s", status_name(stage->status), stage->reason[0] ? ": " : "", stage->reason);
	const char *color = color_of(progress, stage);
	str_appendf(out, "\r\033[K%s%s ", color, mark_of(progress, stage));
	append_fitted(str_text(&line), (size_t)progress->options.columns - 3, out);
	str_appendf(out, "%s\n", color[0] ? "\033[0m" : "");
	str_fini(&line);
}

static void append_head(const struct run_view *view, struct str *out)
{
	char elapsed[FORMAT_SIZE], left[FORMAT_SIZE];
	size_t done = 0;
	double left_s = 0;
	bool all_known = true;
	for (size_t i = 0; i < view->count; i++) {
		const struct stage_view *stage = &view->stages[i];
		done += stage->state == VIEW_DONE;
		if (stage->state == VIEW_DONE)
			continue;
		all_known &= stage->expected_ns != 0;
		if (stage->expected_ns > stage->elapsed_ns)
			left_s += (double)(stage->expected_ns - stage->elapsed_ns) / 1e9;
	}
	format_seconds((double)view->elapsed_ns / 1e9, elapsed);
	format_seconds(left_s, left);
	str_appendf(out, "\r\033[K%s  %s  stage %zu of %zu", view->name, elapsed, done < view->count ? done + 1 : done,
		    view->count);
	if (view->repetitions > 1)
		str_appendf(out, "  %s %d of %d", view->warmup ? "warm-up" : "repetition", view->repetition + 1,
			    view->repetitions);
	if (all_known && left_s > 0)
		str_appendf(out, "  about %s left", left);
	str_appendf(out, "%s\n", view->stopping ? "  stopping" : "");
}

/* The window of stages that fits: around the first that is not done. */
static void pick_window(const struct run_view *view, size_t room, size_t *first, size_t *count)
{
	size_t focus = 0;
	while (focus < view->count && view->stages[focus].state == VIEW_DONE)
		focus++;
	*count = view->count < room ? view->count : room;
	*first = focus > *count / 2 ? focus - *count / 2 : 0;
	if (*first + *count > view->count)
		*first = view->count - *count;
}

static void redraw(struct progress *progress, const struct run_view *view)
{
	struct str out = {0};
	size_t first, count;
	pick_window(view, (size_t)terminal_rows(progress->fd) - 3, &first, &count);
	if (progress->lines)
		str_appendf(&out, "\033[%dA", progress->lines);
	append_head(view, &out);
	for (size_t i = first; i < first + count; i++)
		append_stage(progress, &view->stages[i], &out);
	str_append(&out, "\033[J");
	emit(progress, &out);
	progress->lines = (int)count + 1;
	progress->drawn_ns = clock_mono_ns();
	progress->frame++;
	str_fini(&out);
}

static void plain_line(struct progress *progress, const struct run_view *view, const struct stage_view *stage,
		       size_t at)
{
	struct str out = {0};
	char elapsed[FORMAT_SIZE];
	if (stage->state == VIEW_RUNNING)
		str_appendf(&out, "[%zu/%zu] %s ...\n", at + 1, view->count, stage->name);
	if (stage->state == VIEW_DONE) {
		format_seconds((double)stage->elapsed_ns / 1e9, elapsed);
		str_appendf(&out, "[%zu/%zu] %s %s", at + 1, view->count, stage->name, status_name(stage->status));
		if (stage->elapsed_ns)
			str_appendf(&out, " %s", elapsed);
		if (stage->status == STATUS_OK)
			append_outcome(stage, &out);
		str_appendf(&out, "%s%s\n", stage->reason[0] ? ": " : "", stage->reason);
	}
	emit(progress, &out);
	str_fini(&out);
}

static void on_changed(void *context, const struct run_view *view, size_t at)
{
	struct progress *progress = context;
	if (progress->mode == PROGRESS_LIVE)
		redraw(progress, view);
	else if (progress->mode == PROGRESS_PLAIN)
		plain_line(progress, view, &view->stages[at], at);
}

static void on_tick(void *context, const struct run_view *view)
{
	struct progress *progress = context;
	if (progress->mode == PROGRESS_LIVE && clock_mono_ns() - progress->drawn_ns >= REDRAW_NS)
		redraw(progress, view);
}

static void on_note(void *context, const char *text)
{
	struct progress *progress = context;
	struct str out = {0};
	if (progress->mode == PROGRESS_NONE)
		return;
	/* Above the block, which is then drawn anew below it. */
	if (progress->mode == PROGRESS_LIVE && progress->lines)
		str_appendf(&out, "\033[%dA\r\033[J", progress->lines);
	str_appendf(&out, "%s%s\n", progress->mode == PROGRESS_NOTES ? "pitot: " : "", text);
	emit(progress, &out);
	progress->lines = 0;
	str_fini(&out);
}

struct run_observer progress_observer(struct progress *progress)
{
	return (struct run_observer){.context = progress, .changed = on_changed, .tick = on_tick, .note = on_note};
}

void progress_free(struct progress *progress)
{
	struct str gap = {0};
	str_append(&gap, "\n");
	if (progress->mode == PROGRESS_PLAIN || progress->mode == PROGRESS_LIVE)
		emit(progress, &gap);
	str_fini(&gap);
	free(progress);
}
