/*
 * check.h - doctor's rows for what the run layer itself relies on: control groups and exit records.
 */
#ifndef PITOT_RUN_CHECK_H
#define PITOT_RUN_CHECK_H

#include "probe/check.h"

void run_check_all(struct probe_check_list *out);

#endif
