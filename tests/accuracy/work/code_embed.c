/*
 * code_embed SECONDS - a C program with a Python interpreter inside: C calls Python, which works and calls back into
 * C, which calls Python again.
 */
#include <Python.h>

static PyObject *call_back(PyObject *self, PyObject *callable)
{
	PyObject *result = PyObject_CallNoArgs(callable);
	/* Work after the call, so that it is no jump. */
	Py_XINCREF(self);
	Py_XDECREF(self);
	return result;
}

static PyMethodDef methods[] = {{"call_back", call_back, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "host", NULL, -1, methods, NULL, NULL, NULL, NULL};

static PyObject *make_module(void)
{
	return PyModule_Create(&module);
}

static const char program[] = "import host, time\n"
			      "def inner():\n"
			      "    n = 0\n"
			      "    for i in range(2000):\n"
			      "        n += i ^ 3\n"
			      "    return n\n"
			      "def outer(seconds):\n"
			      "    end = time.thread_time() + seconds\n"
			      "    while time.thread_time() < end:\n"
			      "        host.call_back(inner)\n";

__attribute__((noinline)) static int embedded_run(const char *seconds)
{
	char call[160];
	snprintf(call, sizeof(call), "outer(%s)\nprint('truth cpu_s', time.process_time(), flush=True)", seconds);
	return PyRun_SimpleString(program) || PyRun_SimpleString(call);
}

int main(int argc, char **argv)
{
	PyImport_AppendInittab("host", make_module);
	Py_Initialize();
	int failed = embedded_run(argc == 2 ? argv[1] : "0");
	return Py_FinalizeEx() || failed;
}
