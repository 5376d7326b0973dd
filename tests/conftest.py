import signal

import pytest

import harness

# A shell that starts the tests in the background has these ignored, and programs would begin so: with pitot they do not.
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


def pytest_configure(config):
    config.addinivalue_line("markers", "waits: sleeps most of its time; tools/run_pytest gives it no place of its own")


@pytest.fixture
def pitot():
    """A pitot in a fresh folder; the test fails where something of its runs is left when it is over."""
    one = harness.Pitot()
    yield one
    one.close()


@pytest.fixture(params=harness.TIERS)
def tier(request):
    """Options for each of the two ways to measure."""
    return harness.TIERS[request.param]


@pytest.fixture
def lean():
    """For claims about size: a sanitizer's shadow memory is not pitot's."""
    with open(harness.PROGRAM, "rb") as file:
        if b"__asan_init" in file.read():
            pytest.skip("built with sanitizers")


@pytest.fixture
def root():
    if not harness.is_root():
        pytest.skip("needs root")
