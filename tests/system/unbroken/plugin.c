/*
 * plugin - a shared library that is loaded and unloaded all the time; NUMBER makes one of several.
 */
int plugin_run(int turns);

int plugin_run(int turns)
{
	volatile unsigned state = NUMBER;
	for (int i = 0; i < turns; i++)
		state = state * 5 + NUMBER;
	return NUMBER;
}
