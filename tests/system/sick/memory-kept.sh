# args: --memory=exact
# Frees all but every tenth of many small blocks, and goes on with what is left.
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cat > "$folder/kept.c" <<'END'
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
enum { BLOCKS = 200000, BYTES = 600 };
static char *blocks[BLOCKS];
int main(void)
{
	long (*snapshot)(void) = (long (*)(void))dlsym(RTLD_DEFAULT, "pitot_agent_snapshot");
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = memset(malloc(BYTES), 1, BYTES);
	for (int i = 0; i < BLOCKS; i++)
		if (i % 10)
			free(blocks[i]);
	/* Too large for the holes: memory grows although most of it is free. */
	char *volatile large = memset(malloc(40 << 20), 1, 40 << 20);
	return snapshot() < 0 || large[0] == 0;
}
END
cc -g -O1 -o "$folder/kept" "$folder/kept.c"
"$folder/kept"
