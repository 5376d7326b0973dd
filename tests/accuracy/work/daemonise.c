/*
 * daemonise CPU_SECONDS FILE - leaves a daemon behind as daemons do it (fork, setsid, fork, no descriptors kept), ends
 * at once, and the daemon uses CPU_SECONDS and then writes to FILE what the kernel says that it used.
 */
#include "truth.h"

#include <unistd.h>

static void daemon_main(double seconds, const char *path)
{
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	burn_user_s(seconds);
	FILE *file = fopen(path, "we");
	if (file)
		fprintf(file, "truth daemon_cpu_s %.17g\n", clock_s(CLOCK_PROCESS_CPUTIME_ID));
	_exit(file && fclose(file) == 0 ? 0 : 1);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 64;
	if (fork() == 0) {
		setsid();
		if (fork() == 0)
			daemon_main(atof(argv[1]), argv[2]);
		_exit(0);
	}
	wait_for_all();
	return 0;
}
