# The header asks for no more than C99, and the static library stands alone.
cat >t.c <<'END'
#include <pitot.h>
#include <stdio.h>
int main(void)
{
	pitot_mark("start");
	pitot_metric("score", 0.5);
	printf("%d %s\n", pitot_active(), pitot_version());
	return 0;
}
END
${CC:-cc} -std=c99 -Wall -Wextra -Wpedantic -Werror -I"$ROOT/include" t.c "$BUILD/libpitot.a" -pthread -o t && ./t
