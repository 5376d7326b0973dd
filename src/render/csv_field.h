/*
 * csv_field.h - one field of a CSV file, in quotes where RFC 4180 wants them.
 */
#ifndef PITOT_RENDER_CSV_FIELD_H
#define PITOT_RENDER_CSV_FIELD_H

#include "base/str.h"

void csv_put_field(struct str *out, const char *text); /* NULL is empty */
void csv_put_bytes(struct str *out, const char *bytes, size_t count);

#endif
