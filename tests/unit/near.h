/* near.h - equality of computed numbers, which Debian's cmocka has for float only. */
#ifndef PITOT_TESTS_NEAR_H
#define PITOT_TESTS_NEAR_H

#include <math.h>

#define assert_near(got, expected, within)                                                                             \
	do {                                                                                                           \
		double got_ = (got), expected_ = (expected);                                                           \
		if (!(fabs(got_ - expected_) <= (within)))                                                             \
			fail_msg("%s is %.17g, expected %.17g", #got, got_, expected_);                                \
	} while (0)

#endif
