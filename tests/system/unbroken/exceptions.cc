/*
 * exceptions - thrown through many frames in four threads at once, with destructors on the way, rethrown, carried
 * over to another thread; and a thread that is cancelled inside of it.
 */
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static thread_local int alive;

struct Held {
	std::string text = "something long enough for the heap, surely";
	Held() { alive++; }
	~Held() { alive--; }
};

__attribute__((noinline)) static int throwing(int depth)
{
	Held held;
	if (depth == 0)
		throw std::runtime_error(held.text);
	return throwing(depth - 1) + static_cast<int>(held.text.size());
}

static int caught_in_thread()
{
	int caught = 0;
	for (int i = 0; i < 3000; i++) {
		try {
			try {
				throwing(25);
			} catch (...) {
				throw;
			}
		} catch (const std::exception &) {
			caught++;
		}
	}
	return alive == 0 ? caught : -1;
}

int main()
{
	std::vector<int> results(4);
	std::vector<std::thread> threads;
	for (int &result : results)
		threads.emplace_back([&result] { result = caught_in_thread(); });
	for (std::thread &thread : threads)
		thread.join();
	std::exception_ptr carried;
	std::thread([&carried] {
		try {
			throwing(5);
		} catch (...) {
			carried = std::current_exception();
		}
	}).join();
	bool arrived = false;
	try {
		std::rethrow_exception(carried);
	} catch (const std::runtime_error &) {
		arrived = true;
	}
	for (int result : results)
		std::printf("%d\n", result);
	return !arrived;
}
