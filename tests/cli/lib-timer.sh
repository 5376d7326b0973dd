# The timer needs C99, the static library and libm; without pitot around it too. With PITOT_DISABLE it needs no library.
cat >t.c <<'END'
#include <pitot.h>
#include <stdio.h>
int main(void)
{
	struct pitot_timer_options options = {0};
	struct pitot_timing timing;
	struct pitot_timer *timer;
	volatile unsigned sum = 0;
	unsigned i, calls = 0;
	options.budget_s = 0.01;
	options.most_runs = 70;
	options.least_runs = 70;
	timer = pitot_timer_new(&options);
	while (pitot_timer_next(timer)) {
		calls++;
		for (i = 0; i < 10000; i++)
			sum += i;
	}
	if (pitot_timer_result(timer, &timing) != 0)
		printf("no result, %u call\n", calls);
	else
		printf("%lu runs, %s, p90 %s, p95 %s\n", timing.runs, calls == timing.runs + timing.warmup_runs ? "all called" : "?",
		       timing.p90_ns > 0 ? "known" : "n/a", timing.p95_ns > 0 ? "known" : "n/a");
	pitot_timer_free(timer);
	return 0;
}
END
strict="-std=c99 -Wall -Wextra -Wpedantic -Werror"
# shellcheck disable=SC2086  # flags are words
${CC:-cc} $strict -I"$ROOT/include" t.c "$BUILD/libpitot.a" -lm -pthread -o t && ./t
# shellcheck disable=SC2086
${CC:-cc} $strict -DPITOT_DISABLE -I"$ROOT/include" t.c -o t && ./t
