/*
 * telemetry.h - what the machine and this process did between two moments: CPU, memory, energy, I/O, faults.
 *
 * Energy is that of RAPL where there is one; else the mode's usual power (45 W batch, 30 W streaming) times the elapsed time,
 * and marked as estimated. The peak of the resident set is the kernel's high-water mark; where the kernel lets it be set back,
 * it is that of this stretch alone, else of the process since its start, and the source says which. All values are those of
 * the metric registry, so the run file takes them as they are.
 */
#ifndef PITOT_TABLE_TELEMETRY_H
#define PITOT_TABLE_TELEMETRY_H

#include "base/metric.h"
#include "probe/probe.h"

#include <stdint.h>

#define TELEMETRY_WATTS_BATCH     45.0
#define TELEMETRY_WATTS_STREAMING 30.0

struct telemetry;

/* `probes` is borrowed until telemetry_stop. */
struct telemetry *telemetry_start(struct probe_set *probes);
/* Fills an array that is indexed by metric, and frees. `watts`: of the fallback. */
void telemetry_stop(struct telemetry *telemetry, double watts, struct metric_value values[METRIC_COUNT]);

/* Of this process now, in bytes; 0 where /proc does not tell. */
uint64_t telemetry_rss(void);
/* The high-water mark of its resident set. */
uint64_t telemetry_rss_peak(void);

#endif
