# What a program tells through the library arrives in its run.
cat >t.c <<'END'
#include <pitot.h>
int main(void)
{
	pitot_mark("half way");
	pitot_metric("score", 0.25);
	return !pitot_active();
}
END
${CC:-cc} -I"$ROOT/include" t.c "$BUILD/libpitot.a" -pthread -o t &&
	pitot run --quiet --no-report -- ./t &&
	pitot report --format json | python3 -c 'import json, sys; print(json.load(sys.stdin)["quality_metrics"])'
