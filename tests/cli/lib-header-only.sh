# With PITOT_HEADER_ONLY nothing has to be linked, in C99 and in C++, also into a static program.
cat >t.c <<'END'
#include <pitot.h>
#include <stdio.h>
int main(void)
{
	pitot_span span = pitot_span_begin("main");
	pitot_mark("start");
	pitot_metric("score", 0.5);
	pitot_chunk_begin(1);
	pitot_work(1, 2);
	pitot_counter("rows", 1);
	pitot_gauge("queue", 2);
	pitot_chunk_end(1, -1, -1);
	pitot_snapshot("end");
	pitot_span_end(span);
	printf("%d %s\n", pitot_active(), pitot_version());
	return 0;
}
END
cp t.c t.cpp
${CC:-cc} -std=c99 -Wall -Wextra -Wpedantic -Werror -DPITOT_HEADER_ONLY -I"$ROOT/include" t.c -o t && ./t
${CXX:-c++} -std=c++11 -Wall -Wextra -Wpedantic -Werror -DPITOT_HEADER_ONLY -I"$ROOT/include" t.cpp -o t && ./t
${CC:-cc} -std=c99 -static -DPITOT_HEADER_ONLY -I"$ROOT/include" t.c -o t 2>/dev/null && ./t
${CC:-cc} -std=c99 -Wall -Wextra -Wpedantic -Werror -DPITOT_DISABLE -I"$ROOT/include" t.c -o t && ./t
