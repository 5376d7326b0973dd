/*
 * code_cpp ROUNDS - C++: a member of a template class, a lambda, and exceptions that unwind through several frames,
 * so that samples fall into the unwinder itself. Tells how many were thrown and caught.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <vector>

#define KEPT __attribute__((noinline))

namespace shapes {

template <typename T> class Mixer {
public:
	KEPT T stir(T state, int rounds) const
	{
		for (int i = 0; i < rounds; i++)
			state = state / 3 + 0xfffffffffffff; /* hottest */
		return state;
	}
};

struct Late : std::runtime_error {
	using std::runtime_error::runtime_error;
};

struct Held {
	std::vector<int> some = std::vector<int>(8);
	KEPT ~Held() { some[0]++; }
};

KEPT int thrower(int depth)
{
	Held held;
	if (depth == 0)
		throw Late("late");
	int got = thrower(depth - 1);
	return got + held.some[0];
}

KEPT int catcher(int depth)
{
	try {
		return thrower(depth);
	} catch (const Late &late) {
		return late.what()[0] == 'l';
	}
}

} // namespace shapes

static double cpu_s()
{
	timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	int rounds = argc == 2 ? std::atoi(argv[1]) : 0, caught = 0;
	shapes::Mixer<uint64_t> mixer;
	uint64_t state = 1;
	double stir_s = 0, throw_s = 0;
	auto both = [&](int round) KEPT {
		double start = cpu_s();
		state = mixer.stir(state + round, 300000);
		double between = cpu_s();
		for (int i = 0; i < 40; i++)
			caught += shapes::catcher(10);
		stir_s += between - start;
		throw_s += cpu_s() - between;
	};
	for (int i = 0; i < rounds; i++)
		both(i);
	std::printf("truth caught %d\ntruth stir_s %.9f\ntruth throw_s %.9f\n", caught, stir_s, throw_s);
	timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	std::printf("truth cpu_s %.9f\n", now.tv_sec + now.tv_nsec / 1e9);
	return state == 0;
}
