/* tell.c - a program that reports through libpitot: two marks, a metric with a last word, one from a forked child. */
#include <math.h>
#include <pitot.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	printf("active %d\n", pitot_active());
	fflush(stdout);
	pitot_mark("begin");
	pitot_metric("loss", 0.5);
	pitot_metric("loss", 0.25);
	pitot_metric("not_a_number", NAN);
	pid_t child = fork();
	if (child == 0) {
		pitot_metric("from_child", 7);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	pitot_mark("end");
	return 0;
}
