# args: --memory
# Takes a small block and gives it back at once, millions of times.
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cat > "$folder/churn.c" <<'END'
#include <stdlib.h>
#include <time.h>
static void *volatile block;
static void step(void)
{
	block = malloc(48);
	free(block);
}
int main(void)
{
	while (clock() < 1200000)
		for (int i = 0; i < 100000; i++)
			step();
	return 0;
}
END
cc -g -O1 -o "$folder/churn" "$folder/churn.c"
"$folder/churn"
