/*
 * flow.h - words in lines that never are wider than the terminal, each word in its style.
 *
 *	struct flow flow = {.out = out, .columns = 80, .color = true, .unicode = true};
 *	flow_begin(&flow, 2);                       two columns in; so are the lines that follow
 *	flow_text(&flow, STYLE_BOLD, "train");      broken at spaces
 *	flow_word(&flow, STYLE_PLAIN, "12.3 s,");   kept in one piece
 *	flow_end(&flow);
 *
 * A space stands between any two words. Text is cleaned on its way (text.h), so anything may be handed in.
 */
#ifndef PITOT_RENDER_FLOW_H
#define PITOT_RENDER_FLOW_H

#include "base/str.h"

enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_DIM, STYLE_GOOD, STYLE_BAD, STYLE_WARN };

struct flow {
	struct str *out;
	int columns;
	bool color, unicode;
	int indent; /* of the lines after the first */
	int column; /* where the next word goes */
	bool space; /* a word stands before it on this line */
};

/* Appends `text` as it is, in its style. */
void style_append(struct str *out, enum style style, bool color, const char *text);

void flow_begin(struct flow *flow, int indent);
/* Goes on at `column`, or on a new line where that is passed; later lines begin there too. */
void flow_tab(struct flow *flow, int column);
void flow_text(struct flow *flow, enum style style, const char *text);
void flow_word(struct flow *flow, enum style style, const char *text);
void flow_end(struct flow *flow);

#endif
