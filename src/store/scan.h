/*
 * scan.h - which run files a history folder holds, by name, size and time. Internal to store/.
 */
#ifndef PITOT_STORE_SCAN_H
#define PITOT_STORE_SCAN_H

#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define RUN_FILE_ENDING ".pitot"

/* A run file in the folder. */
struct found {
	char *file; /* without the folder */
	bool has_log;
	uint64_t bytes, changed_ns; /* the write-ahead log included */
};

struct finds {
	VEC(struct found) items; /* in the order of strcmp */
};

/* A folder that is not there holds nothing: no error. */
int scan_folder(const char *dir, struct finds *finds, struct err *err);
void finds_fini(struct finds *finds);

uint64_t scan_mtime_ns(const struct stat *status);

#endif
