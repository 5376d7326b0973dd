# With PITOT_DISABLE no library is needed.
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
${CC:-cc} -std=c99 -Wall -Wextra -Wpedantic -Werror -DPITOT_DISABLE -I"$ROOT/include" t.c -o t && ./t
