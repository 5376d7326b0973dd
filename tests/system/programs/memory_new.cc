// memory_new.cc - C++ that counts its own allocations: every operator new and delete there is. Prints bytes, calls, live bytes.
#include <cstdint>
#include <cstdio>
#include <new>
#include <vector>

static long long bytes, calls, live;

struct alignas(64) Wide {
	char room[192];
};

static void gained(std::size_t size)
{
	bytes += static_cast<long long>(size);
	live += static_cast<long long>(size);
	calls++;
}

// The compiler may leave out pairs of new and delete that it can see through.
static void *volatile sink;

int main(int argc, char **)
{
	for (int i = 0; i < 1000; i++) {
		sink = ::operator new(40);
		gained(40);
		::operator delete(sink);
		live -= 40;
		sink = ::operator new[](56, std::nothrow);
		gained(56);
		::operator delete[](sink, std::nothrow);
		live -= 56;
		sink = ::operator new(72);
		gained(72);
		::operator delete(sink, static_cast<std::size_t>(72));
		live -= 72;
		Wide *wide = new Wide;
		sink = wide;
		gained(sizeof(Wide));
		if (i % 4) {
			delete wide;
			live -= static_cast<long long>(sizeof(Wide));
		}
		long *many = new long[30];
		sink = many;
		gained(30 * sizeof(long));
		delete[] many;
		live -= 30 * static_cast<long long>(sizeof(long));
	}
	volatile std::size_t too_much = PTRDIFF_MAX;
	int caught = 0;
	try {
		if (argc > 1) // allocators without exceptions end the program there
			throw std::bad_alloc();
		sink = ::operator new(too_much);
	} catch (const std::bad_alloc &) {
		caught = 1;
	}
	sink = ::operator new(24);
	gained(24);
	std::printf("%lld %lld %lld %d\n", bytes, calls, live, caught);
	return 0;
}
