/*
 * machine_cache.h - a measured machine as a file, so that it is measured once.
 *
 * One file per host fingerprint, in $XDG_CACHE_HOME/pitot or ~/.cache/pitot. Lines of fields with tabs between them:
 *
 *	pitot-machine	1
 *	host	FINGERPRINT  UTC_NS  TOOK_S  EFFORT  THREADS
 *	rate	KIND WHAT HOW NON_TEMPORAL THREADS SIZE KNOWN RUNS BEST MEDIAN WORST LOW HIGH LEVEL SOURCE REASON
 *	point	BYTES BEST
 *	note	TEXT
 *	end	SUM                                       FNV-1a of all that stands before this line
 *
 * It may vanish or be damaged at any time: what does not read back whole is an error and is measured again.
 */
#ifndef PITOT_MODEL_MACHINE_CACHE_H
#define PITOT_MODEL_MACHINE_CACHE_H

#include "base/str.h"
#include "model/machine.h"

char *machine_cache_path(const char *fingerprint); /* owned by the caller */

void machine_write(const struct machine *machine, struct str *out);
/* ERR_INPUT with the reason; `out` is then empty. */
int machine_parse(const char *text, size_t size, struct machine *out, struct err *err);

/* ERR_UNAVAILABLE where there is none, ERR_INPUT where it is damaged or of another machine. */
int machine_cache_load(const char *fingerprint, struct machine *out, struct err *err);
int machine_cache_store(const struct machine *machine, struct err *err);

#endif
