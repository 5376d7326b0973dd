/*
 * host_number.h - facts about the machine as numbers, from a run's record.
 */
#ifndef PITOT_ANALYZE_HOST_NUMBER_H
#define PITOT_ANALYZE_HOST_NUMBER_H

#include "store/record.h"

/* The fact as a number; NaN where the record does not have it or it is none. */
double host_number(const struct run_record *record, const char *key);
/* Cores that a stage could use: those allowed, or fewer where a quota gives less. NaN where not known. */
double host_usable_cores(const struct run_record *record);

#endif
