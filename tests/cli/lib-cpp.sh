# The header is C++ too, and the symbols are found.
cat >t.cpp <<'END'
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
${CXX:-c++} -std=c++11 -Wall -Wextra -Wpedantic -Werror -I"$ROOT/include" t.cpp -L"$BUILD" -lpitot -o t &&
	ln -s "$BUILD/libpitot.so" libpitot.so.0 &&
	LD_LIBRARY_PATH=. ./t
