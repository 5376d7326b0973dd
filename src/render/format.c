/*
 * format.c - see format.h.
 *
 * The unit is chosen by the rounded number, not by the number: 999.7 ms is "1.00 s", never "1000 ms".
 */
#include "render/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void put(char *out, const char *text)
{
	snprintf(out, FORMAT_SIZE, "%s", text);
}

/* Three digits; `value` is below 999.5. */
static void put_three(char *out, double value, const char *unit)
{
	double size = fabs(value);
	int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
	snprintf(out, FORMAT_SIZE, "%.*f%s%s", decimals, value, *unit ? " " : "", unit);
}

/* What is not a number says so; true where that was the case. */
static bool put_unreal(char *out, double value)
{
	if (isfinite(value))
		return false;
	put(out, isnan(value) ? "n/a" : value > 0 ? "inf" : "-inf");
	return true;
}

static void put_pair(char *out, const char *sign, double high, const char *high_unit, double low, const char *low_unit)
{
	if (high >= 1e9)
		snprintf(out, FORMAT_SIZE, "%s%.3g%s", sign, high, high_unit);
	else
		snprintf(out, FORMAT_SIZE, "%s%.0f%s %02.0f%s", sign, high, high_unit, low, low_unit);
}

static void put_long_time(char *out, const char *sign, double seconds)
{
	double minutes = round(seconds / 60), hours = round(seconds / 3600);
	if (seconds < 3599.5)
		put_pair(out, sign, floor(round(seconds) / 60), "m", fmod(round(seconds), 60), "s");
	else if (minutes < 24 * 60)
		put_pair(out, sign, floor(minutes / 60), "h", fmod(minutes, 60), "m");
	else
		put_pair(out, sign, floor(hours / 24), "d", fmod(hours, 24), "h");
}

void format_seconds(double seconds, char *out)
{
	static const struct {
		double below, scale;
		const char *unit;
	} steps[] = {{999.5e-9, 1e9, "ns"}, {999.5e-6, 1e6, "µs"}, {999.5e-3, 1e3, "ms"}, {59.95, 1, "s"}};
	double size = fabs(seconds);
	if (put_unreal(out, seconds))
		return;
	if (seconds == 0) {
		put(out, "0 s");
		return;
	}
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (size < steps[i].below) {
			put_three(out, seconds * steps[i].scale, steps[i].unit);
			return;
		}
	put_long_time(out, seconds < 0 ? "-" : "", size);
}

void format_bytes(double bytes, char *out)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	enum { LAST = sizeof(units) / sizeof(units[0]) - 1 };
	if (put_unreal(out, bytes))
		return;
	int unit = 0;
	while (fabs(bytes) >= 1023.5 && unit < LAST) {
		bytes /= 1024;
		unit++;
	}
	if (fabs(bytes) >= 1e6)
		snprintf(out, FORMAT_SIZE, "%.3g %s", bytes, units[unit]);
	else
		snprintf(out, FORMAT_SIZE, "%.*f %s", unit > 0 && fabs(bytes) < 99.95 ? 1 : 0, bytes, units[unit]);
}

/* `steps` ends with a NULL name; the last one takes whatever is left. */
static void put_thousands(char *out, double value, const char *const *steps, const char *unit)
{
	char name[8];
	while (fabs(value) >= 999.5 && steps[1]) {
		value /= 1000;
		steps++;
	}
	snprintf(name, sizeof(name), "%s%s", *steps, unit);
	if (fabs(value) >= 1e6)
		snprintf(out, FORMAT_SIZE, "%.3g %s", value, name);
	else
		put_three(out, value, name);
}

void format_count(double count, char *out)
{
	static const char *const steps[] = {"", "k", "M", "G", "T", NULL};
	if (put_unreal(out, count))
		return;
	/* Up to four digits a person reads the number itself; a median of two counts may end in .5. */
	if (fabs(count) < 9999.5)
		snprintf(out, FORMAT_SIZE, "%.*f", count == floor(count) || fabs(count) >= 999.95 ? 0 : 1, count);
	else
		put_thousands(out, count, steps, "");
}

void format_percent(double percent, char *out)
{
	if (put_unreal(out, percent))
		return;
	if (percent > 0 && percent < 0.05)
		put(out, "<0.1 %");
	else if (percent == 0)
		put(out, "0 %");
	else if (fabs(percent) >= 1e7)
		snprintf(out, FORMAT_SIZE, "%.3g %%", percent);
	else
		snprintf(out, FORMAT_SIZE, "%.*f %%", fabs(percent) < 9.95 ? 1 : 0, percent);
}

static void format_si(double value, const char *unit, char *out)
{
	static const char *const steps[] = {"m", "", "k", "M", "G", NULL};
	if (put_unreal(out, value))
		return;
	if (value == 0)
		snprintf(out, FORMAT_SIZE, "0 %s", unit);
	else
		put_thousands(out, value * 1000, steps, unit);
}

void format_metric(enum metric_unit unit, double value, char *out)
{
	switch (unit) {
	case UNIT_SECONDS:
		format_seconds(value, out);
		break;
	case UNIT_BYTES:
		format_bytes(value, out);
		break;
	case UNIT_COUNT:
		format_count(value, out);
		break;
	case UNIT_PERCENT:
		format_percent(value, out);
		break;
	case UNIT_JOULES:
		format_si(value, "J", out);
		break;
	case UNIT_WATTS:
		format_si(value, "W", out);
		break;
	case UNIT_RATIO:
		if (!put_unreal(out, value))
			snprintf(out, FORMAT_SIZE, fabs(value) < 1e6 ? "%.2f" : "%.3g", value);
		break;
	}
}

void format_value(int metric, const struct metric_value *value, char *out)
{
	char number[FORMAT_SIZE];
	if (value->state != METRIC_KNOWN) {
		put(out, "n/a");
		return;
	}
	format_metric(metrics[metric].unit, value->value, number);
	const char *mark = value->method == METHOD_ESTIMATED ? "~" : "";
	snprintf(out, FORMAT_SIZE, "%s%s%.26s", mark, value->lower_bound ? "≥" : "", number);
}

void format_bar(double fraction, int width, bool unicode, struct str *out)
{
	static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	int steps = unicode ? 8 : 1;
	double part = isnan(fraction) ? 0 : fmin(fmax(fraction, 0), 1);
	int filled = (int)lround(part * width * steps);
	/* Something is never drawn as nothing. */
	if (filled == 0 && part > 0 && width > 0)
		filled = 1;
	int full = filled / steps, rest = filled % steps;
	for (int i = 0; i < full; i++)
		str_append(out, unicode ? "█" : "#");
	str_append(out, eighths[rest]);
	for (int i = full + (rest > 0); i < width; i++)
		str_append_char(out, ' ');
}

void format_sparkline(const double *values, size_t count, double top, bool unicode, struct str *out)
{
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const letters[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
	bool chosen = top > 0;
	for (size_t i = 0; !chosen && i < count; i++)
		top = isfinite(values[i]) && !(values[i] <= top) ? values[i] : top;
	for (size_t i = 0; i < count; i++) {
		if (!isfinite(values[i])) {
			str_append_char(out, ' ');
			continue;
		}
		double part = top > 0 ? fmin(fmax(values[i] / top, 0), 1) : 0;
		int level = (int)lround(part * 7);
		str_append(out, unicode ? blocks[level] : letters[level]);
	}
}
