/* roof.c - see roof.h. */
#include "model/roof.h"

#include <math.h>
#include <stddef.h>

static bool is_limit(double rate)
{
	return isfinite(rate) && rate > 0;
}

double roof_ridge(const struct roof *roof)
{
	return is_limit(roof->peak_flops) && is_limit(roof->memory_bytes) ? roof->peak_flops / roof->memory_bytes : NAN;
}

double roof_attainable(const struct roof *roof, double intensity)
{
	if (isnan(roof_ridge(roof)) || isnan(intensity) || intensity < 0)
		return NAN;
	return fmin(roof->peak_flops, intensity * roof->memory_bytes);
}

static enum roof_bound bound_of(double intensity, double ridge)
{
	if (isnan(intensity) || isnan(ridge))
		return ROOF_BOUND_UNKNOWN;
	if (intensity < ridge / ROOF_NEAR)
		return ROOF_BOUND_MEMORY;
	return intensity > ridge * ROOF_NEAR ? ROOF_BOUND_COMPUTE : ROOF_BOUND_RIDGE;
}

static enum roof_doubt doubt_of(const struct roof *roof, const struct roof_place *place)
{
	if (is_limit(roof->peak_flops) && place->flops > roof->peak_flops * ROOF_TOLERANCE)
		return ROOF_ABOVE_PEAK;
	if (is_limit(roof->fastest_bytes) && place->bytes > roof->fastest_bytes * ROOF_TOLERANCE)
		return ROOF_ABOVE_CACHE;
	if (is_limit(roof->memory_bytes) && place->bytes > roof->memory_bytes * ROOF_TOLERANCE)
		return ROOF_ABOVE_MEMORY;
	return ROOF_SOUND;
}

/* Of the two limits the one that is used up further is the one that binds. */
static double efficiency_of(const struct roof *roof, const struct roof_place *place)
{
	double of_peak = is_limit(roof->peak_flops) ? place->flops / roof->peak_flops : NAN;
	double of_memory = is_limit(roof->memory_bytes) ? place->bytes / roof->memory_bytes : NAN;
	if (isnan(place->bytes))
		return of_peak;
	return isnan(of_peak) || isnan(of_memory) ? NAN : fmax(of_peak, of_memory);
}

void roof_place(const struct roof *roof, double flops, double bytes, double seconds, struct roof_place *out)
{
	*out = (struct roof_place){.flops = NAN, .bytes = NAN, .intensity = NAN, .attainable_flops = NAN};
	out->efficiency = NAN;
	out->ridge = roof_ridge(roof);
	bool counted = !isnan(bytes);
	if (!(seconds > 0) || !isfinite(seconds) || !isfinite(flops) || flops < 0 ||
	    (counted && (!isfinite(bytes) || bytes < 0))) {
		out->doubt = ROOF_NOT_A_RATE;
		return;
	}
	out->flops = flops / seconds;
	if (counted) {
		out->bytes = bytes / seconds;
		out->intensity = bytes > 0 ? flops / bytes : flops > 0 ? INFINITY : NAN;
	}
	out->bound = bound_of(out->intensity, out->ridge);
	out->attainable_flops = roof_attainable(roof, out->intensity);
	out->efficiency = efficiency_of(roof, out);
	out->doubt = doubt_of(roof, out);
}

bool roof_is_impossible(enum roof_doubt doubt)
{
	return doubt == ROOF_ABOVE_PEAK || doubt == ROOF_ABOVE_CACHE || doubt == ROOF_NOT_A_RATE;
}

const char *roof_bound_words(enum roof_bound bound)
{
	static const char *const words[] = {
		[ROOF_BOUND_UNKNOWN] = "unknown",
		[ROOF_BOUND_COMPUTE] = "compute-bound",
		[ROOF_BOUND_MEMORY] = "memory-bound",
		[ROOF_BOUND_RIDGE] = "near the ridge",
	};
	return words[bound];
}

const char *roof_doubt_words(enum roof_doubt doubt)
{
	static const char *const words[] = {
		[ROOF_SOUND] = NULL,
		[ROOF_ABOVE_MEMORY] = "more bytes than memory gives: they came from a cache, or were counted twice",
		[ROOF_ABOVE_CACHE] = "impossible: more bytes than the fastest cache gives",
		[ROOF_ABOVE_PEAK] = "impossible: more operations than the measured peak",
		[ROOF_NOT_A_RATE] = "not a rate: a count or the time is not a positive number",
	};
	return words[doubt];
}
