/* tag.c - see tag.h. */
#include "store/tag.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

static const char head[] = "# pitot tags 1";

enum { NAME_MOST = 64, FILE_LIMIT = 16 << 20, LOCK_STEP_NS = 20000000, LOCK_STEPS = 250 };

bool tag_name_is_valid(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	size_t length = strlen(name);
	return length >= 1 && length <= NAME_MOST && strchr(letters, name[0]) &&
	       name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/")] == '\0';
}

static void tag_fini(struct tag *tag)
{
	free(tag->name);
	free(tag->uuid);
	free(tag->file);
}

void tag_list_fini(struct tag_list *list)
{
	for (size_t i = 0; i < list->items.len; i++)
		tag_fini(&list->items.items[i]);
	vec_fini(&list->items);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct tag *)a)->name, ((const struct tag *)b)->name);
}

static bool parse_line(const char *line, struct tag_list *out)
{
	const char *first = strchr(line, '\t'), *second = first ? strchr(first + 1, '\t') : NULL;
	if (!second || !second[1] || strchr(second + 1, '/'))
		return false;
	struct tag tag = {.name = mem_strndup(line, (size_t)(first - line)),
			  .uuid = mem_strndup(first + 1, (size_t)(second - first - 1)),
			  .file = mem_strdup(second + 1)};
	if (tag_name_is_valid(tag.name)) {
		vec_push(&out->items, tag);
		return true;
	}
	tag_fini(&tag);
	return false;
}

static int parse(const char *path, char *text, struct tag_list *out, struct err *err)
{
	size_t number = 0;
	for (char *line = text, *end; *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		number++;
		bool good = number == 1 ? strcmp(line, head) == 0 : line[0] == '\0' || parse_line(line, out);
		if (!good)
			return err_set(err, ERR_INPUT, "'%s', line %zu: not a tag (mend or remove that file)", path,
				       number);
	}
	if (out->items.len)
		qsort(out->items.items, out->items.len, sizeof(struct tag), by_name);
	for (size_t i = 1; i < out->items.len; i++)
		if (by_name(&out->items.items[i - 1], &out->items.items[i]) == 0)
			return err_set(err, ERR_INPUT, "'%s' has the tag '%s' twice (remove one of the lines)", path,
				       out->items.items[i].name);
	return 0;
}

int tag_list_read(const char *dir, struct tag_list *out, struct err *err)
{
	char *path = file_join(dir, "tags"), *text = NULL;
	struct tag_list list = {0};
	size_t size = 0;
	int code = 0;
	if (access(path, F_OK) == 0 || errno != ENOENT)
		code = file_read(path, FILE_LIMIT, &text, &size, err);
	if (!code && text && strlen(text) != size)
		code = err_set(err, ERR_INPUT, "'%s': not a file of tags (mend or remove it)", path);
	if (!code && text)
		code = parse(path, text, &list, err);
	if (code)
		tag_list_fini(&list);
	else
		*out = list;
	free(text);
	free(path);
	return code;
}

const struct tag *tag_find(const struct tag_list *list, const char *name)
{
	struct tag wanted = {.name = (char *)name};
	return list->items.len ? bsearch(&wanted, list->items.items, list->items.len, sizeof(wanted), by_name) : NULL;
}

/* On a file that is never replaced: a lock on `tags` itself would be a lock on what the next writer throws away. */
int tag_lock(const char *dir, int *lock, struct err *err)
{
	char *path = file_join(dir, "tags.lock");
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	int code = fd < 0 ? err_set_errno(err, ERR_IO, "cannot lock the tags: '%s'", path) : 0;
	for (int step = 0; !code && flock(fd, LOCK_EX | LOCK_NB) != 0; step++) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			code = err_set_errno(err, ERR_IO, "cannot lock the tags: '%s'", path);
		else if (step == LOCK_STEPS)
			code = err_set(err, ERR_UNAVAILABLE, "another pitot has been holding '%s' for %d s; try again",
				       path, LOCK_STEPS * (LOCK_STEP_NS / 1000000) / 1000);
		else
			nanosleep(&(struct timespec){.tv_nsec = LOCK_STEP_NS}, NULL);
	}
	if (code && fd >= 0)
		close(fd);
	if (!code)
		*lock = fd;
	free(path);
	return code;
}

void tag_unlock(int lock)
{
	close(lock);
}

static int write_list(const char *dir, const struct tag_list *list, struct err *err)
{
	struct str text = {0};
	str_appendf(&text, "%s\n", head);
	for (size_t i = 0; i < list->items.len; i++) {
		const struct tag *tag = &list->items.items[i];
		str_appendf(&text, "%s\t%s\t%s\n", tag->name, tag->uuid, tag->file);
	}
	char *path = file_join(dir, "tags");
	int code = file_write_atomic(path, text.text, text.len, err);
	free(path);
	str_fini(&text);
	return code;
}

static bool same_run(const struct tag *a, const struct tag *b)
{
	return a->uuid[0] || b->uuid[0] ? strcmp(a->uuid, b->uuid) == 0 : strcmp(a->file, b->file) == 0;
}

static int put(struct tag_list *list, const struct tag *tag, bool move, struct err *err)
{
	struct tag *old = (struct tag *)tag_find(list, tag->name);
	if (old && !move && !same_run(old, tag))
		return err_set(err, ERR_INPUT, "'%s' already names %s; --force moves it", tag->name, old->file);
	struct tag copy = {.name = mem_strdup(tag->name), .uuid = mem_strdup(tag->uuid), .file = mem_strdup(tag->file)};
	if (old) {
		tag_fini(old);
		*old = copy;
		return 0;
	}
	vec_push(&list->items, copy);
	qsort(list->items.items, list->items.len, sizeof(struct tag), by_name);
	return 0;
}

int tag_set(const char *dir, const struct tag *tag, bool move, struct err *err)
{
	if (!tag_name_is_valid(tag->name))
		return err_set(err, ERR_USAGE,
			       "'%s' cannot be a tag: up to %d letters, digits and . _ - /, beginning with a letter or"
			       " a digit",
			       tag->name, NAME_MOST);
	if (strpbrk(tag->file, "\n") || strpbrk(tag->uuid, "\t\n"))
		return err_set(err, ERR_INPUT, "the run's file name has a line end in it; rename the file first");
	struct tag_list list = {0};
	int lock, code = tag_lock(dir, &lock, err);
	if (code)
		return code;
	code = tag_list_read(dir, &list, err);
	if (!code)
		code = put(&list, tag, move, err);
	if (!code)
		code = write_list(dir, &list, err);
	tag_unlock(lock);
	tag_list_fini(&list);
	return code;
}

static int unknown(const struct tag_list *list, const char *name, struct err *err)
{
	VEC(const char *) names = {0};
	for (size_t i = 0; i < list->items.len; i++)
		vec_push(&names, list->items.items[i].name);
	const char *meant = names.len ? str_suggest(name, names.items, names.len) : NULL;
	int code = meant ? err_set(err, ERR_INPUT, "no tag '%s'; did you mean '%s'?", name, meant)
			 : err_set(err, ERR_INPUT, "no tag '%s' (pitot history tag lists them)", name);
	vec_fini(&names);
	return code;
}

int tag_remove(const char *dir, const char *name, struct err *err)
{
	struct tag_list list = {0};
	int lock, code = access(dir, F_OK) == 0 ? tag_lock(dir, &lock, err) : unknown(&list, name, err);
	if (code)
		return code;
	code = tag_list_read(dir, &list, err);
	struct tag *tag = code ? NULL : (struct tag *)tag_find(&list, name);
	if (!code && !tag)
		code = unknown(&list, name, err);
	if (tag) {
		tag_fini(tag);
		memmove(tag, tag + 1, (size_t)(list.items.items + list.items.len - (tag + 1)) * sizeof(*tag));
		list.items.len--;
		code = write_list(dir, &list, err);
	}
	tag_unlock(lock);
	tag_list_fini(&list);
	return code;
}

int tag_missing(const char *dir, const char *name, struct err *err)
{
	struct tag_list list = {0};
	int code = tag_list_read(dir, &list, err);
	const struct tag *tag = code ? NULL : tag_find(&list, name);
	if (tag)
		code = err_set(err, ERR_INPUT, "tag '%s' names %s, which is no longer in the history", name, tag->file);
	else if (!code)
		code = unknown(&list, name, err);
	tag_list_fini(&list);
	return code;
}
