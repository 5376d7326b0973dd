/*
 * kernel_file.h - small files of /proc and /sys: opened once, read again and again from their start.
 *
 * A read that fails says so; it never looks like the number 0.
 */
#ifndef PITOT_PROBE_KERNEL_FILE_H
#define PITOT_PROBE_KERNEL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The path is the format; a descriptor that children do not inherit, or -errno. */
int kernel_open(const char *format, ...) __attribute__((format(printf, 1, 2)));
void kernel_close(int fd); /* takes what kernel_open gave, also a failure */

/* From the start of the file, terminated; the length, or -errno. */
ssize_t kernel_pread(int fd, char *out, size_t size);
bool kernel_pread_u64(int fd, uint64_t *out);

/* One-time reads of what lies at the path that the format makes; false where it cannot be read or is not a number. */
bool kernel_text(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool kernel_u64(uint64_t *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The number behind "key" at the start of a line ("MemTotal:", "some"), or behind `field` later in that line
 * ("total="); `field` NULL: right behind the key. */
bool kernel_find_u64(const char *text, const char *key, const char *field, uint64_t *out);

/* Walks a list like "0-3,8": false at its end. */
bool kernel_list_next(const char **at, int *first, int *last);

#endif
