/*
 * node.c - see node.h. Built on libyaml's events: its document API keeps no limit on depth and shares aliased nodes.
 */
#include "config/node.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

enum { MAX_DEPTH = 64, MAX_NODES = 200000, MAX_ANCHORS = 1000, MAX_TEXT_BYTES = 32 << 20 };

struct anchor {
	char *name;
	struct node *node;
};

struct builder {
	yaml_parser_t parser;
	struct node_tree *tree;
	size_t text_bytes;
	VEC(struct anchor) anchors;
	const char *path;
	struct err *err;
};

static int line_of(yaml_mark_t mark)
{
	return (int)mark.line + 1;
}

static int fail_syntax(struct builder *b)
{
	const yaml_parser_t *parser = &b->parser;
	if (parser->error == YAML_MEMORY_ERROR)
		return err_set(b->err, ERR_INTERNAL, "%s: out of memory", b->path);
	if (parser->error == YAML_READER_ERROR)
		return err_set(b->err, ERR_INPUT, "%s: not a text file in UTF-8: %s (byte %zu)", b->path,
			       parser->problem, parser->problem_offset);
	const char *problem = parser->problem ? parser->problem : "cannot be parsed";
	bool tab = strstr(problem, "cannot start any token") != NULL;
	char context[160] = "";
	if (parser->context)
		snprintf(context, sizeof(context), " (%s that began in line %d)", parser->context,
			 line_of(parser->context_mark));
	return err_set(b->err, ERR_INPUT, "%s:%d: not valid YAML: %s%s%s", b->path, line_of(parser->problem_mark),
		       problem, context,
		       tab ? "; quote values that begin with @ ` or %, and indent with spaces, not tabs" : "");
}

static int fail(struct builder *b, int line, const char *words)
{
	return err_set(b->err, ERR_INPUT, "%s:%d: %s", b->path, line, words);
}

static int next_event(struct builder *b, yaml_event_t *event)
{
	return yaml_parser_parse(&b->parser, event) ? 0 : fail_syntax(b);
}

static int new_node(struct builder *b, enum node_kind kind, int line, struct node **out)
{
	if (b->tree->all.len >= MAX_NODES)
		return fail(b, line, "too large: more than 200000 values once aliases are expanded");
	struct node *node = mem_alloc(sizeof(*node));
	node->kind = kind;
	node->line = line;
	vec_push(&b->tree->all, node);
	*out = node;
	return 0;
}

static int set_text(struct builder *b, struct node *node, const char *text, size_t length)
{
	b->text_bytes += length;
	if (b->text_bytes > MAX_TEXT_BYTES)
		return fail(b, node->line, "too large: more than 32 MiB of text once aliases are expanded");
	if (memchr(text, '\0', length))
		return fail(b, node->line, "a text must not contain the NUL character (\\0)");
	node->text = mem_strndup(text, length);
	return 0;
}

static int copy_node(struct builder *b, const struct node *from, int depth, struct node **out)
{
	if (depth > MAX_DEPTH)
		return fail(b, from->line, "nested more than 64 levels deep");
	struct node *copy;
	int code = new_node(b, from->kind, from->line, &copy);
	if (!code && from->text)
		code = set_text(b, copy, from->text, strlen(from->text));
	if (code)
		return code;
	copy->quoted = from->quoted;
	copy->forced = from->forced;
	*out = copy;
	for (size_t i = 0; i < from->items.len && !code; i++)
		code = copy_node(b, from->items.items[i], depth + 1, vec_add(&copy->items));
	for (size_t i = 0; i < from->pairs.len && !code; i++) {
		struct node_pair *pair = vec_add(&copy->pairs);
		code = copy_node(b, from->pairs.items[i].key, depth + 1, &pair->key);
		if (!code)
			code = copy_node(b, from->pairs.items[i].value, depth + 1, &pair->value);
	}
	return code;
}

static int build_alias(struct builder *b, const yaml_event_t *event, int depth, struct node **out)
{
	const char *name = (const char *)event->data.alias.anchor;
	/* The last definition before the alias counts. An anchor is only known once its node is complete, so a node
	 * cannot contain itself. */
	for (size_t i = b->anchors.len; i-- > 0;)
		if (strcmp(b->anchors.items[i].name, name) == 0)
			return copy_node(b, b->anchors.items[i].node, depth, out);
	return err_set(b->err, ERR_INPUT, "%s:%d: alias '*%.64s' has no anchor '&%.64s' before it", b->path,
		       line_of(event->start_mark), name, name);
}

static int keep_anchor(struct builder *b, const char *name, struct node *node)
{
	if (!name)
		return 0;
	if (b->anchors.len >= MAX_ANCHORS)
		return fail(b, node->line, "too large: more than 1000 anchors");
	struct anchor *anchor = vec_add(&b->anchors);
	anchor->name = mem_strdup(name);
	anchor->node = node;
	return 0;
}

static int build_scalar(struct builder *b, const yaml_event_t *event, struct node **out)
{
	struct node *node;
	int line = line_of(event->start_mark);
	const char *tag = (const char *)event->data.scalar.tag;
	bool forced = tag && (strcmp(tag, YAML_STR_TAG) == 0 || strcmp(tag, "!") == 0);
	if (tag && !forced && strncmp(tag, "tag:yaml.org,2002:", 18) != 0)
		return err_set(b->err, ERR_INPUT, "%s:%d: the tag '%.64s' has no meaning here; leave it out", b->path,
			       line, tag);
	int code = new_node(b, NODE_SCALAR, line, &node);
	if (!code)
		code = set_text(b, node, (const char *)event->data.scalar.value, event->data.scalar.length);
	if (code)
		return code;
	node->forced = forced;
	node->quoted = forced || event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	*out = node;
	return keep_anchor(b, (const char *)event->data.scalar.anchor, node);
}

static int build(struct builder *b, const yaml_event_t *event, int depth, struct node **out);

static int build_next(struct builder *b, int depth, yaml_event_type_t end, struct node **out)
{
	yaml_event_t event;
	int code = next_event(b, &event);
	if (code)
		return code;
	*out = NULL;
	if (event.type != end)
		code = build(b, &event, depth, out);
	yaml_event_delete(&event);
	return code;
}

static int build_list(struct builder *b, const yaml_event_t *event, int depth, struct node **out)
{
	int code = new_node(b, NODE_LIST, line_of(event->start_mark), out);
	while (!code) {
		struct node *item = NULL;
		code = build_next(b, depth + 1, YAML_SEQUENCE_END_EVENT, &item);
		if (code || !item)
			break;
		vec_push(&(*out)->items, item);
	}
	return code ? code : keep_anchor(b, (const char *)event->data.sequence_start.anchor, *out);
}

static int compare_keys(const void *left, const void *right)
{
	const struct node *a = *(struct node *const *)left, *b = *(struct node *const *)right;
	int order = strcmp(a->text, b->text);
	return order ? order : (a->line > b->line) - (a->line < b->line);
}

static int check_unique(struct builder *b, const struct node *map)
{
	size_t count = map->pairs.len;
	struct node **keys = mem_alloc(count * sizeof(struct node *));
	for (size_t i = 0; i < count; i++)
		keys[i] = map->pairs.items[i].key;
	qsort(keys, count, sizeof(struct node *), compare_keys);
	int code = 0;
	for (size_t i = 1; i < count && !code; i++)
		if (strcmp(keys[i - 1]->text, keys[i]->text) == 0)
			code = err_set(b->err, ERR_INPUT,
				       "%s:%d: key '%.64s' stands twice, first in line %d; remove one of them", b->path,
				       keys[i]->line, keys[i]->text, keys[i - 1]->line);
	free(keys);
	return code;
}

static int build_map(struct builder *b, const yaml_event_t *event, int depth, struct node **out)
{
	int code = new_node(b, NODE_MAP, line_of(event->start_mark), out);
	while (!code) {
		struct node_pair pair = {0};
		code = build_next(b, depth + 1, YAML_MAPPING_END_EVENT, &pair.key);
		if (code || !pair.key)
			break;
		if (pair.key->kind != NODE_SCALAR)
			return fail(b, pair.key->line,
				    "a key must be a text (quote a value that begins with '{' or '[')");
		code = build_next(b, depth + 1, YAML_NO_EVENT, &pair.value);
		if (!code)
			vec_push(&(*out)->pairs, pair);
	}
	if (!code)
		code = check_unique(b, *out);
	return code ? code : keep_anchor(b, (const char *)event->data.mapping_start.anchor, *out);
}

static int build(struct builder *b, const yaml_event_t *event, int depth, struct node **out)
{
	if (depth > MAX_DEPTH)
		return fail(b, line_of(event->start_mark), "nested more than 64 levels deep");
	switch (event->type) {
	case YAML_ALIAS_EVENT:
		return build_alias(b, event, depth, out);
	case YAML_SCALAR_EVENT:
		return build_scalar(b, event, out);
	case YAML_SEQUENCE_START_EVENT:
		return build_list(b, event, depth, out);
	case YAML_MAPPING_START_EVENT:
		return build_map(b, event, depth, out);
	default:
		return err_set(b->err, ERR_INTERNAL, "%s: unexpected YAML event %d", b->path, (int)event->type);
	}
}

/* Reads one event and answers whether it has this type. */
static int expect(struct builder *b, yaml_event_type_t type, bool *matches, int *line)
{
	yaml_event_t event;
	int code = next_event(b, &event);
	if (code)
		return code;
	*matches = event.type == type;
	*line = line_of(event.start_mark);
	yaml_event_delete(&event);
	return 0;
}

static int build_document(struct builder *b)
{
	bool matches;
	int line;
	int code = expect(b, YAML_STREAM_START_EVENT, &matches, &line);
	if (!code)
		code = expect(b, YAML_DOCUMENT_START_EVENT, &matches, &line);
	if (code)
		return code;
	if (!matches)
		return err_set(b->err, ERR_INPUT, "%s: the file is empty", b->path);
	code = build_next(b, 0, YAML_NO_EVENT, &b->tree->root);
	if (!code)
		code = expect(b, YAML_DOCUMENT_END_EVENT, &matches, &line);
	if (!code)
		code = expect(b, YAML_STREAM_END_EVENT, &matches, &line);
	if (!code && !matches)
		code = fail(b, line, "a second document begins here ('---'); only one is read");
	return code;
}

int node_parse(const char *text, size_t size, const char *path, struct node_tree **out, struct err *err)
{
	struct builder b = {.path = path, .err = err};
	if (!yaml_parser_initialize(&b.parser))
		return err_set(err, ERR_INTERNAL, "%s: cannot start the YAML parser: out of memory", path);
	yaml_parser_set_input_string(&b.parser, (const unsigned char *)text, size);
	b.tree = mem_alloc(sizeof(*b.tree));
	int code = build_document(&b);
	yaml_parser_delete(&b.parser);
	for (size_t i = 0; i < b.anchors.len; i++)
		free(b.anchors.items[i].name);
	vec_fini(&b.anchors);
	if (code)
		node_tree_free(b.tree);
	else
		*out = b.tree;
	return code;
}

void node_tree_free(struct node_tree *tree)
{
	if (!tree)
		return;
	for (size_t i = 0; i < tree->all.len; i++) {
		struct node *node = tree->all.items[i];
		free(node->text);
		vec_fini(&node->items);
		vec_fini(&node->pairs);
		free(node);
	}
	vec_fini(&tree->all);
	free(tree);
}

const struct node *node_get(const struct node *map, const char *key)
{
	if (map->kind != NODE_MAP)
		return NULL;
	for (size_t i = 0; i < map->pairs.len; i++)
		if (strcmp(map->pairs.items[i].key->text, key) == 0)
			return map->pairs.items[i].value;
	return NULL;
}

bool node_is_null(const struct node *node)
{
	if (node->kind != NODE_SCALAR || node->quoted)
		return false;
	static const char *const words[] = {"", "~", "null", "Null", "NULL"};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(node->text, words[i]) == 0)
			return true;
	return false;
}

void node_describe(const struct node *node, char *out, size_t size)
{
	if (node->kind == NODE_LIST)
		snprintf(out, size, "a list");
	else if (node->kind == NODE_MAP)
		snprintf(out, size, "a map");
	else if (node_is_null(node))
		snprintf(out, size, "nothing");
	else
		snprintf(out, size, "'%.60s'", node->text);
}
