/*
 * exec_place.c - exec_plan_place of exec_plan.h: the largest first, each at the lowest place that is free for as long as it lives.
 *
 * Not always the shortest arena, which is hard to find, but for chains of layers usually it is. Quadratic in the number of tensors
 * that live at the same time as another.
 */
#include "model/exec_plan.h"

#include <stdlib.h>

struct item {
	struct plan_span *span;
	size_t floats, order;
};

static int by_size(const void *left, const void *right)
{
	const struct item *a = left, *b = right;
	if (a->floats != b->floats)
		return a->floats < b->floats ? 1 : -1;
	return (a->order > b->order) - (a->order < b->order);
}

static int by_place(const void *left, const void *right)
{
	const struct item *a = *(const struct item *const *)left, *b = *(const struct item *const *)right;
	return (a->span->place > b->span->place) - (a->span->place < b->span->place);
}

static bool together(const struct plan_span *a, const struct plan_span *b)
{
	return a->first <= b->last && b->first <= a->last;
}

/* The lowest gap between those that live at the same time. */
static size_t lowest(const struct item *item, const struct item *placed, size_t count, const struct item **near)
{
	size_t near_count = 0, place = 0;
	for (size_t i = 0; i < count; i++)
		if (together(item->span, placed[i].span))
			near[near_count++] = &placed[i];
	qsort(near, near_count, sizeof(near[0]), by_place);
	for (size_t i = 0; i < near_count; i++) {
		if (near[i]->span->place >= place + item->floats)
			break;
		size_t end = near[i]->span->place + near[i]->floats;
		place = end > place ? end : place;
	}
	return place;
}

size_t exec_plan_place(struct plan_span **spans, const size_t *floats, size_t count)
{
	struct item *items = mem_alloc(count * sizeof(*items));
	const struct item **near = mem_alloc(count * sizeof(*near));
	size_t length = 0;
	for (size_t i = 0; i < count; i++)
		items[i] = (struct item){spans[i], floats[i], i};
	qsort(items, count, sizeof(*items), by_size);
	for (size_t i = 0; i < count; i++) {
		items[i].span->place = lowest(&items[i], items, i, near);
		size_t end = items[i].span->place + items[i].floats;
		length = end > length ? end : length;
	}
	free(near);
	free(items);
	return length;
}
