/*
 * format.h - numbers as people read them, and the bars and sparklines that term, md and the live view share.
 *
 * Every `out` has FORMAT_SIZE bytes. The text is UTF-8 ("µs", "≥"); text_clean in text.h spells it in ASCII.
 */
#ifndef PITOT_RENDER_FORMAT_H
#define PITOT_RENDER_FORMAT_H

#include "base/metric.h"
#include "base/str.h"

enum { FORMAT_SIZE = 32 };

void format_seconds(double seconds, char *out); /* "850 µs" "12.3 ms" "4.21 s" "3m 05s" "2h 10m" */
void format_bytes(double bytes, char *out);     /* "512 B" "1.4 MiB" "8.2 GiB" */
void format_count(double count, char *out);     /* "7" "12.3 k" "4.56 M" */
void format_percent(double percent, char *out); /* "0.4 %" "98 %" */
void format_metric(enum metric_unit unit, double value, char *out);
/* The value, "n/a" where it is absent, with "~" in front where estimated and "≥" where a lower bound. */
void format_value(int metric, const struct metric_value *value, char *out);

/* `fraction` 0 to 1 of `width` columns, in eighths of a block where unicode; padded to `width`. */
void format_bar(double fraction, int width, bool unicode, struct str *out);
/* One column per value, `top` being the full height: the largest value where it is not positive. NaN leaves a gap. */
void format_sparkline(const double *values, size_t count, double top, bool unicode, struct str *out);

#endif
