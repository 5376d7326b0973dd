# args: --cpu
# Small blocks are taken and given back, in no order, and nothing is written into them.
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cat > "$folder/churn.c" <<'END'
#include <stdlib.h>
#include <time.h>
int main(void)
{
	static void *volatile blocks[4096];
	unsigned next = 1;
	while (clock() < 1200000)
		for (int i = 0; i < 100000; i++) {
			next = next * 1103515245 + 12345;
			free(blocks[next >> 20]);
			blocks[next >> 20] = malloc(16 + (next >> 8 & 4095));
		}
	return 0;
}
END
cc -O1 -o "$folder/churn" "$folder/churn.c"
"$folder/churn"
