/*
 * burn MILLISECONDS - works for that long and says so.
 */
#include "unbroken.h"

int main(int argc, char **argv)
{
	work_ms(argc >= 2 ? atof(argv[1]) : 0);
	puts("burnt");
	return 0;
}
