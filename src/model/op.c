/* op.c - the tables of operators and functions: see op.h. */
#include "model/op.h"

static const struct {
	const char *name;
	enum op_class class;
} kinds[] = {
#define OP_ROW(id, name, class) [OP_##id] = {name, class},
	OP_LIST(OP_ROW)
#undef OP_ROW
};

static const struct {
	const char *name;
	int cost;
} unaries[] =
	{
#define UNARY_ROW(id, name, cost) [UNARY_##id] = {name, cost},
		UNARY_LIST(UNARY_ROW)
#undef UNARY_ROW
},
  binaries[] = {
#define BINARY_ROW(id, name, cost) [BINARY_##id] = {name, cost},
	  BINARY_LIST(BINARY_ROW)
#undef BINARY_ROW
};

const char *op_kind_name(enum op_kind kind)
{
	return kinds[kind].name;
}

enum op_class op_kind_class(enum op_kind kind)
{
	return kinds[kind].class;
}

const char *unary_name(enum unary_fn fn)
{
	return unaries[fn].name;
}

int unary_cost(enum unary_fn fn)
{
	return unaries[fn].cost;
}

const char *binary_name(enum binary_fn fn)
{
	return binaries[fn].name;
}

int binary_cost(enum binary_fn fn)
{
	return binaries[fn].cost;
}
