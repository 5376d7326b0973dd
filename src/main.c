/* main.c - finds the command and hands over. */
#include "cmd/cmd.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	/* A reader that goes away (pitot report | head) is no reason to die in the middle of cleaning up. */
	signal(SIGPIPE, SIG_IGN);
	/* Nor is a limit on file sizes: the write fails with words of its own. Stages get the default action back. */
	signal(SIGXFSZ, SIG_IGN);
	return cmd_main(argc, argv);
}
