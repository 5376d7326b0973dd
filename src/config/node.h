/*
 * node.h - YAML text as a tree of nodes that know their line.
 *
 * What comes out is bounded whatever goes in: depth, number of nodes and bytes of text are limited with aliases already
 * expanded, so a file that would unfold to gigabytes ends in an error after the first few thousand nodes. Keys are
 * unique within their map and no text holds a NUL, so the rest of config/ can work on plain C strings.
 */
#ifndef PITOT_CONFIG_NODE_H
#define PITOT_CONFIG_NODE_H

#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>

enum node_kind { NODE_SCALAR, NODE_LIST, NODE_MAP };

struct node;

struct node_pair {
	struct node *key; /* always a scalar */
	struct node *value;
};

struct node {
	enum node_kind kind;
	int line;
	char *text;  /* of a scalar */
	bool quoted; /* the scalar was written in quotes, as a block, or with !!str: it is text, whatever it looks like
		      */
	bool forced; /* it was written with !!str */
	VEC(struct node *) items;
	VEC(struct node_pair) pairs;
};

struct node_tree {
	struct node *root;
	VEC(struct node *) all;
};

/* `path` only names the text in messages. */
int node_parse(const char *text, size_t size, const char *path, struct node_tree **out, struct err *err);
void node_tree_free(struct node_tree *tree);

/* The value of `key`, or NULL; also NULL where `map` is no map. */
const struct node *node_get(const struct node *map, const char *key);
/* Nothing was written: an empty value, `~` or `null`. */
bool node_is_null(const struct node *node);
/* What a message calls the node: "a list", "nothing", "'soon'". */
void node_describe(const struct node *node, char *out, size_t size);

#endif
