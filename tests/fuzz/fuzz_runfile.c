/*
 * fuzz_runfile.c - any bytes as a run file: the readers answer with a record or with an error, in bounded time and
 * memory, and the page is made of what could be read.
 *
 * SQLite reads files, not buffers, so each input is written to one file in memory-backed /dev/shm (or /tmp). The
 * seeds in corpus/runfile are finished runs with something in every table; make_runfile_seed.c made them, small.pitot when the
 * schema had version 1.
 */
#include "base/mem.h"
#include "render/model.h"
#include "render/page.h"
#include "store/model.h"
#include "store/profile.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* A fresh folder for every input, so that nothing is left behind whenever the fuzzer is stopped. */
static void make_folder(char *dir, size_t size)
{
	static const char *const roots[] = {"/dev/shm", "/tmp"};
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		snprintf(dir, size, "%s/pitot-fuzz-XXXXXX", roots[i]);
		if (mkdtemp(dir))
			return;
	}
	abort();
}

static void remove_folder(const char *dir, const char *path)
{
	static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		char *name = mem_printf("%s%s", path, endings[i]);
		unlink(name);
		free(name);
	}
	rmdir(dir);
}

static uint64_t kept; /* so that no reading can be left out */

/* What was loaded can be walked without checks: an id that is wrong would be found by the sanitizer. */
static uint64_t walk_profile(const struct profile_data *data)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < data->samples.len; i++) {
		const struct profile_sample *sample = &data->samples.items[i];
		const struct profile_thread *thread = &data->threads.items[sample->thread_id - 1];
		sum += sample->weight_ns + (uint64_t)data->processes.items[thread->process_id - 1].pid;
		sum += sample->task_id ? strlen(data->tasks.items[sample->task_id - 1]) : 0;
		for (int64_t id = sample->stack_id; id && i < 100; id = data->stacks.items[id - 1].parent)
			sum += strlen(data->frames.items[data->stacks.items[id - 1].frame_id - 1].function);
	}
	return sum;
}

/* What was loaded is shown without checks of its own. */
static void load_models(const char *path)
{
	struct model_profile *models = NULL;
	const struct render_options options = {.columns = 80, .verbose = true};
	struct err err;
	struct str text = {0};
	if (store_model_load(path, &models, &err) == 0) {
		struct model_view view = {.profile = models};
		model_term(&view, &options, &text);
		model_json(&view, &options, &text);
		model_csv(&view, &options, &text);
		model_svg(&view, &options, &text);
	}
	str_fini(&text);
	model_profile_free(models);
}

static void load_profile(const char *path)
{
	struct profile_data *data = NULL;
	struct err err = {0};
	bool exists = false;
	(void)store_profile_exists(path, &exists, &err);
	if (store_profile_load(path, &data, &err) == 0)
		kept += walk_profile(data);
	profile_data_free(data);
}

/* Whatever can be read becomes a model of the page. */
static void make_page(const char *path)
{
	struct str model = {0};
	struct err err = {0};
	(void)page_run_json(path, &model, &err);
	str_fini(&model);
}

static void put(const char *path, const uint8_t *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char dir[64];
	make_folder(dir, sizeof(dir));
	char *path = mem_printf("%s/a.pitot", dir);
	struct err err = {0};
	struct run_record *record = NULL;
	struct series_list series = {0};
	struct process_list processes = {0};
	put(path, bytes, size);
	if (store_load(path, &record, &err) == 0)
		for (size_t i = 0; i < record->stages.len && i < 3; i++) {
			(void)store_series(path, record->stages.items[i].row.id, 10, &series, &err);
			series_list_fini(&series);
		}
	(void)store_series(path, 1, 7, &series, &err);
	(void)store_processes(path, 0, 10, &processes, &err);
	load_profile(path);
	load_models(path);
	make_page(path);
	series_list_fini(&series);
	process_list_fini(&processes);
	run_record_free(record);
	remove_folder(dir, path);
	free(path);
	return 0;
}
