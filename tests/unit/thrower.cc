/*
 * thrower.cc - C++ that test_agent_unwind loads: an exception that passes through frames with destructors, each of which runs
 * while it is in flight.
 */
#include <stdexcept>
#include <string>

namespace
{
struct witness {
	void (*look)(void);
	~witness()
	{
		if (look)
			look();
	}
};

__attribute__((noinline)) int descend(int depth, void (*look)(void))
{
	witness here{depth == 1 ? look : nullptr};
	if (depth == 0)
		throw std::runtime_error(std::string("thrown"));
	return descend(depth - 1, look) + 1;
}
} // namespace

extern "C" __attribute__((visibility("default"))) int thrower_run(int depth, void (*look)(void))
{
	try {
		return descend(depth, look);
	} catch (const std::exception &caught) {
		return static_cast<int>(std::string(caught.what()).size());
	}
}
