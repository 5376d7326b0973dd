/*
 * features_input.c - see features.h: the input as something that can be read more than once, and its SHA-256.
 *
 * Standard input, pipes and devices are copied to a temporary file first, because every mode and every benchmark run reads the
 * table from its beginning. The sum is taken of the file as it is, compressed or not, in a pass of its own so that it is
 * not part of any measured time.
 */
#include "base/file.h"
#include "base/mem.h"
#include "cmd/features.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COPY_BYTES = 1 << 18 };

/* Reads `fd` to its end into the sum and, where `to` is not negative, into that file. */
static int drink(struct features_job *job, int fd, int to, struct sha256 *sha, struct err *err)
{
	char *buffer = mem_alloc(COPY_BYTES);
	int code = 0;
	for (;;) {
		ssize_t got = read(fd, buffer, COPY_BYTES);
		if (got < 0 && errno == EINTR && !*job->stop)
			continue;
		if (*job->stop)
			code = err_set(err, ERR_INTERRUPTED, "interrupted while '%s' was read", job->args->input);
		else if (got < 0)
			code = err_set_errno(err, ERR_IO, "cannot read '%s'", job->args->input);
		else if (got > 0 && to >= 0 && file_write_all(to, buffer, (size_t)got) != 0)
			code = err_set_errno(err, ERR_IO, "cannot copy the input to '%s'", job->spool_path);
		if (code || got == 0)
			break;
		sha256_add(sha, buffer, (size_t)got);
		job->input_bytes += (uint64_t)got;
	}
	free(buffer);
	return code;
}

static int copy_input(struct features_job *job, int fd, struct sha256 *sha, struct err *err)
{
	const char *name = job->args->input, *slash = strrchr(name, '/');
	job->temp_dir = file_make_temp_dir(err);
	if (!job->temp_dir)
		return ERR_IO;
	/* The ending says what is inside: keep it. */
	char *base = strcmp(name, "-") == 0 ? mem_strdup("stdin") : mem_strdup(slash ? slash + 1 : name);
	job->spool_path = file_join(job->temp_dir, base);
	free(base);
	int to = open(job->spool_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (to < 0)
		return err_set_errno(err, ERR_IO, "cannot copy the input to '%s'", job->spool_path);
	features_progress_phase(job, "copying the input");
	int code = drink(job, fd, to, sha, err);
	if (close(to) != 0 && !code)
		code = err_set_errno(err, ERR_IO, "cannot copy the input to '%s'", job->spool_path);
	job->settings.path = job->spool_path;
	job->settings.name = strcmp(name, "-") == 0 ? "standard input" : name;
	sha256_hex(sha, job->sha256);
	return code;
}

int features_input_prepare(struct features_job *job, struct err *err)
{
	const char *path = job->args->input;
	struct stat status;
	struct sha256 sha;
	bool standard = strcmp(path, "-") == 0;
	job->settings.path = path;
	if (!standard && stat(path, &status) != 0)
		return err_set_errno(err, ERR_INPUT, "cannot read '%s'", path);
	if (!standard && S_ISDIR(status.st_mode))
		return err_set(err, ERR_INPUT, "'%s' is a folder; give a CSV file", path);
	if (!standard && S_ISREG(status.st_mode))
		return 0;
	if (standard && isatty(STDIN_FILENO) == 1)
		return err_set(err, ERR_USAGE, "standard input is a terminal; give a file, or a table through a pipe");
	int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set_errno(err, ERR_INPUT, "cannot read '%s'", path);
	sha256_init(&sha);
	int code = copy_input(job, fd, &sha, err);
	if (!standard)
		close(fd);
	return code;
}

int features_input_fingerprint(struct features_job *job, struct err *err)
{
	struct sha256 sha;
	if (job->sha256[0])
		return 0;
	int fd = open(job->settings.path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set_errno(err, ERR_INPUT, "cannot read '%s'", job->settings.path);
	features_progress_phase(job, "fingerprint");
	sha256_init(&sha);
	int code = drink(job, fd, -1, &sha, err);
	close(fd);
	if (!code)
		sha256_hex(&sha, job->sha256);
	return code;
}

void features_input_drop(struct features_job *job)
{
	if (job->spool_path)
		unlink(job->spool_path);
	if (job->temp_dir)
		rmdir(job->temp_dir);
	free(job->spool_path);
	free(job->temp_dir);
	job->spool_path = job->temp_dir = NULL;
}
