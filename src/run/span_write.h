/*
 * span_write.h - one span into a file of its own: what `pitot span` leaves for the pitot around it (wire/span_wire.h).
 *
 * The file is whole from the moment the span begins, so a kill of this process too leaves the span, as one that did not end. A
 * span inside the command of another is its child: the names around it come in PITOT_SPAN_PATH, a unit separator between.
 */
#ifndef PITOT_RUN_SPAN_WRITE_H
#define PITOT_RUN_SPAN_WRITE_H

#define SPAN_PATH_VARIABLE "PITOT_SPAN_PATH"

struct span_write;

/* NULL: no pitot listens, or its folder cannot be written to. */
struct span_write *span_write_begin(const char *name);
void span_write_end(struct span_write *span);

#endif
