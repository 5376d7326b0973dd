/*
 * overlay_yaml.c - configuration copies in YAML.
 *
 * Order, quoting and tags of what is not touched are kept; comments are not, because libyaml does not read them. A node
 * that several aliases share is copied before it is changed, so a setting changes the place that it names and no other.
 */
#include "config/overlay_format.h"

#include <string.h>
#include <yaml.h>

/* Nodes are named by index: adding one may move them all. */
typedef int node_index;

static yaml_node_t *node_at(yaml_document_t *document, node_index index)
{
	return yaml_document_get_node(document, index);
}

static bool is_container(const yaml_node_t *node)
{
	return node->type == YAML_MAPPING_NODE || node->type == YAML_SEQUENCE_NODE;
}

static bool is_text(const yaml_node_t *node)
{
	if (node->type != YAML_SCALAR_NODE || strcmp((const char *)node->tag, YAML_STR_TAG) != 0)
		return false;
	return node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE ||
	       overlay_type_of((const char *)node->data.scalar.value) == OVERLAY_TEXT;
}

/* Where the parent keeps the child that `step` names; NULL where there is none. */
static node_index *child_slot(yaml_document_t *document, node_index parent, const char *step)
{
	yaml_node_t *node = node_at(document, parent);
	size_t index;
	if (node->type == YAML_SEQUENCE_NODE) {
		size_t count = (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
		return pointer_index(step, &index) && index < count ? node->data.sequence.items.start + index : NULL;
	}
	if (node->type != YAML_MAPPING_NODE)
		return NULL;
	for (yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
		const yaml_node_t *key = node_at(document, pair->key);
		if (key->type == YAML_SCALAR_NODE && strcmp((const char *)key->data.scalar.value, step) == 0)
			return &pair->value;
	}
	return NULL;
}

static int count_uses(yaml_document_t *document, node_index wanted)
{
	int uses = 0;
	for (yaml_node_t *node = document->nodes.start; node < document->nodes.top; node++) {
		if (node->type == YAML_SEQUENCE_NODE)
			for (node_index *item = node->data.sequence.items.start; item < node->data.sequence.items.top;
			     item++)
				uses += *item == wanted;
		if (node->type == YAML_MAPPING_NODE)
			for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
			     pair < node->data.mapping.pairs.top; pair++)
				uses += pair->value == wanted;
	}
	return uses;
}

static node_index add_text(yaml_document_t *document, const char *text, yaml_scalar_style_t style)
{
	return yaml_document_add_scalar(document, NULL, (const yaml_char_t *)text, (int)strlen(text), style);
}

/* The node for a second use: a scalar is copied, which reads better than an alias; maps and lists are shared. */
static node_index reuse(yaml_document_t *document, node_index from)
{
	yaml_node_t node = *node_at(document, from);
	if (node.type != YAML_SCALAR_NODE)
		return from;
	return yaml_document_add_scalar(document, node.tag, node.data.scalar.value, (int)node.data.scalar.length,
					node.data.scalar.style);
}

/* A map or list with the same children; 0 where memory ran out. */
static node_index clone_container(yaml_document_t *document, node_index from)
{
	yaml_node_t node = *node_at(document, from);
	if (node.type == YAML_SEQUENCE_NODE) {
		node_index copy = yaml_document_add_sequence(document, node.tag, node.data.sequence.style);
		for (node_index *item = node.data.sequence.items.start; copy && item < node.data.sequence.items.top;
		     item++) {
			node_index child = reuse(document, *item);
			if (!child || !yaml_document_append_sequence_item(document, copy, child))
				return 0;
		}
		return copy;
	}
	node_index copy = yaml_document_add_mapping(document, node.tag, node.data.mapping.style);
	for (yaml_node_pair_t *pair = node.data.mapping.pairs.start; copy && pair < node.data.mapping.pairs.top;
	     pair++) {
		node_index key = reuse(document, pair->key), value = reuse(document, pair->value);
		if (!key || !value || !yaml_document_append_mapping_pair(document, copy, key, value))
			return 0;
	}
	return copy;
}

/* Puts `child` (0: out of memory) where `step` names it. */
static bool put_child(yaml_document_t *document, node_index parent, const char *step, node_index child)
{
	node_index *slot = child ? child_slot(document, parent, step) : NULL;
	if (slot) {
		*slot = child;
		return true;
	}
	bool plain = overlay_type_of(step) == OVERLAY_TEXT;
	node_index key =
		child ? add_text(document, step, plain ? YAML_ANY_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE) : 0;
	return key && yaml_document_append_mapping_pair(document, parent, key, child);
}

/* The child that `step` names, made this parent's own where it is shared; 0 where there is none or memory ran out. */
static node_index own_child(yaml_document_t *document, node_index parent, const char *step)
{
	node_index *slot = child_slot(document, parent, step);
	if (!slot)
		return 0;
	node_index child = *slot;
	if (!is_container(node_at(document, child)) || count_uses(document, child) < 2)
		return child;
	node_index copy = clone_container(document, child);
	return copy && put_child(document, parent, step, copy) ? copy : 0;
}

static node_index make_value(yaml_document_t *document, const struct overlay_setting *setting)
{
	bool text = overlay_setting_type(setting) == OVERLAY_TEXT;
	return add_text(document, setting->value, text ? YAML_DOUBLE_QUOTED_SCALAR_STYLE : YAML_PLAIN_SCALAR_STYLE);
}

static int fail_memory(const struct overlay_work *work)
{
	return err_set(work->err, ERR_INTERNAL, "cannot change '%s': out of memory", work->overlay->file);
}

static int apply_setting(const struct overlay_work *work, yaml_document_t *document,
			 const struct overlay_setting *setting)
{
	struct pointer pointer;
	pointer_init(&pointer, setting->pointer);
	node_index at = 1;
	int code = 0;
	for (size_t i = 0; i < pointer.steps.len && !code; i++) {
		const char *step = pointer.steps.items[i];
		const yaml_node_t *node = node_at(document, at);
		bool is_last = i + 1 == pointer.steps.len, exists = child_slot(document, at, step) != NULL;
		node_index child = 0;
		if (!is_container(node))
			code = overlay_fail(work, setting->line, "set", setting->pointer, &pointer, i,
					    "is a single value, neither a map nor a list");
		else if (node->type == YAML_SEQUENCE_NODE && !exists)
			code = overlay_fail(work, setting->line, "set", setting->pointer, &pointer, i + 1,
					    "is not in the list");
		else if (is_last)
			child = make_value(document, setting);
		else if (exists)
			child = own_child(document, at, step);
		else
			child = yaml_document_add_mapping(document, NULL, YAML_BLOCK_MAPPING_STYLE);
		if (!code && !put_child(document, at, step, child))
			code = fail_memory(work);
		at = child;
	}
	pointer_fini(&pointer);
	return code;
}

/* A new node takes the old one's place, because an alias elsewhere may mean the old one. */
static int make_absolute(const struct overlay_work *work, yaml_document_t *document, node_index *slot)
{
	const yaml_node_t *node = node_at(document, *slot);
	const char *text = is_text(node) ? (const char *)node->data.scalar.value : "";
	if (!overlay_is_relative(text))
		return 0;
	char *path = overlay_absolute(work, text);
	node_index made = add_text(document, path, node->data.scalar.style);
	free(path);
	/* The slot lies in the parent's own array, which adding a node does not move. */
	if (made)
		*slot = made;
	return made ? 0 : fail_memory(work);
}

static int absolute_children(const struct overlay_work *work, yaml_document_t *document, node_index parent,
			     const char *text, const struct pointer *steps)
{
	yaml_node_t node = *node_at(document, parent);
	bool is_list = node.type == YAML_SEQUENCE_NODE;
	size_t count = is_list ? (size_t)(node.data.sequence.items.top - node.data.sequence.items.start)
			       : (size_t)(node.data.mapping.pairs.top - node.data.mapping.pairs.start);
	int code = 0;
	for (size_t i = 0; i < count && !code; i++) {
		node_index *slot =
			is_list ? node.data.sequence.items.start + i : &node.data.mapping.pairs.start[i].value;
		if (is_container(node_at(document, *slot)))
			code = overlay_fail(work, work->overlay->line, "make absolute", text, steps, steps->steps.len,
					    "holds maps or lists of its own; name each of them");
		else
			code = make_absolute(work, document, slot);
	}
	return code;
}

static int apply_absolute(const struct overlay_work *work, yaml_document_t *document, const char *text)
{
	struct pointer pointer;
	pointer_init(&pointer, text);
	node_index parent = 0, at = 1;
	size_t depth = 0;
	for (; depth < pointer.steps.len && at; depth++) {
		parent = at;
		at = own_child(document, at, pointer.steps.items[depth]);
	}
	int code;
	if (!at)
		code = overlay_fail(work, work->overlay->line, "make absolute", text, &pointer, depth,
				    "does not exist");
	else if (is_container(node_at(document, at)))
		code = absolute_children(work, document, at, text, &pointer);
	else if (parent && is_text(node_at(document, at)))
		code = make_absolute(work, document, child_slot(document, parent, pointer.steps.items[depth - 1]));
	else
		code = overlay_fail(work, work->overlay->line, "make absolute", text, &pointer, depth,
				    "is not a text, nor a map or list of texts");
	pointer_fini(&pointer);
	return code;
}

static int append_yaml(void *out, unsigned char *bytes, size_t size)
{
	str_append_bytes(out, (const char *)bytes, size);
	return 1;
}

/* Takes the document over. */
static int write_document(const struct overlay_work *work, yaml_document_t *document, struct str *out)
{
	yaml_emitter_t emitter;
	if (!yaml_emitter_initialize(&emitter)) {
		yaml_document_delete(document);
		return fail_memory(work);
	}
	yaml_emitter_set_output(&emitter, append_yaml, out);
	yaml_emitter_set_unicode(&emitter, 1);
	yaml_emitter_set_width(&emitter, -1);
	int code = 0;
	if (!yaml_emitter_open(&emitter) || !yaml_emitter_dump(&emitter, document) || !yaml_emitter_close(&emitter))
		code = err_set(work->err, ERR_INPUT, "cannot write the copy of '%s' as YAML: %s", work->overlay->file,
			       emitter.problem ? emitter.problem : "out of memory");
	yaml_emitter_delete(&emitter);
	return code;
}

static int read_document(const struct overlay_work *work, const char *text, size_t size, yaml_document_t *out)
{
	yaml_parser_t parser;
	if (!yaml_parser_initialize(&parser))
		return fail_memory(work);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
	int code = 0;
	yaml_document_t next;
	if (!yaml_parser_load(&parser, out)) {
		code = err_set(work->err, ERR_INPUT, "%s:%zu: not valid YAML: %s", work->overlay->file,
			       parser.problem_mark.line + 1, parser.problem ? parser.problem : "cannot be parsed");
		goto done;
	}
	if (!yaml_document_get_root_node(out))
		code = err_set(work->err, ERR_INPUT, "%s: the file is empty", work->overlay->file);
	else if (yaml_parser_load(&parser, &next)) {
		if (yaml_document_get_root_node(&next))
			code = err_set(work->err, ERR_INPUT,
				       "%s: it has several documents ('---'); only one can be changed",
				       work->overlay->file);
		yaml_document_delete(&next);
	}
	if (code)
		yaml_document_delete(out);
done:
	yaml_parser_delete(&parser);
	return code;
}

static int rewrite(const struct overlay_work *work, const char *text, size_t size, struct str *out)
{
	yaml_document_t document;
	int code = read_document(work, text, size, &document);
	if (code)
		return code;
	for (size_t i = 0; i < work->overlay->set.len && !code; i++)
		code = apply_setting(work, &document, &work->overlay->set.items[i]);
	for (size_t i = 0; i < work->overlay->absolute.len && !code; i++)
		code = apply_absolute(work, &document, work->overlay->absolute.items[i]);
	if (code) {
		yaml_document_delete(&document);
		return code;
	}
	return write_document(work, &document, out);
}

static const char *const endings[] = {".yaml", ".yml", NULL};
const struct overlay_format overlay_yaml = {endings, rewrite};
