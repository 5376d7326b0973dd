/*
 * matmul.c - see matmul.h.
 *
 * Loops from the outside in: columns by BLOCK_PANELS, depth by BLOCK_DEPTH, rows by BLOCK_STRIPS, strips, panels, tiles. A block
 * of A stays in the second-level cache while all panels pass by.
 */
#include "model/matmul.h"

#include <string.h>

enum { BLOCK_DEPTH = 512, BLOCK_STRIPS = 12, BLOCK_PANELS = 16, SMALL_PRODUCT = 32768 };

/* `total` in parts of at most `most`, as even as they can be: part i begins at split_at(i). */
struct split {
	size_t total, parts;
};

static struct split split_of(size_t total, size_t most)
{
	return (struct split){total, total ? (total + most - 1) / most : 0};
}

static size_t split_at(struct split split, size_t part)
{
	size_t base = split.total / split.parts, extra = split.total % split.parts;
	return part * base + (part < extra ? part : extra);
}

static size_t split_size(struct split split, size_t part)
{
	return split_at(split, part + 1) - split_at(split, part);
}

static size_t panels_of(const struct kernel_set *set, size_t n)
{
	return (n + set->tile_columns - 1) / set->tile_columns;
}

size_t matmul_packed_a(const struct kernel_set *set, size_t m, size_t k)
{
	(void)set;
	return m * k;
}

size_t matmul_packed_b(const struct kernel_set *set, size_t n, size_t k)
{
	return panels_of(set, n) * set->tile_columns * k;
}

size_t matmul_scratch(const struct kernel_set *set)
{
	return (set->tile_rows * BLOCK_STRIPS + set->tile_columns * (BLOCK_PANELS + 1)) * BLOCK_DEPTH +
	       set->tile_rows * set->tile_columns + 4 * COMPUTE_ALIGN_FLOATS;
}

void matmul_pack_a(const struct kernel_set *set, float *to, const float *a, size_t a_row, size_t a_depth, size_t m,
		   size_t k)
{
	struct split depths = split_of(k, BLOCK_DEPTH), strips = split_of(m, set->tile_rows);
	for (size_t d = 0; d < depths.parts; d++) {
		size_t k0 = split_at(depths, d), depth = split_size(depths, d);
		for (size_t s = 0; s < strips.parts; s++) {
			size_t i = split_at(strips, s), rows = split_size(strips, s);
			set->pack(to + m * k0 + i * depth, rows, rows, depth, a + i * a_row + k0 * a_depth, a_row,
				  a_depth);
		}
	}
}

static size_t panel_valid(const struct kernel_set *set, size_t n, size_t panel)
{
	size_t left = n - panel * set->tile_columns;
	return left < set->tile_columns ? left : set->tile_columns;
}

void matmul_pack_b(const struct kernel_set *set, float *to, const float *b, size_t b_depth, size_t b_column, size_t n,
		   size_t k)
{
	struct split depths = split_of(k, BLOCK_DEPTH);
	size_t width = set->tile_columns, panels = panels_of(set, n);
	for (size_t d = 0; d < depths.parts; d++) {
		size_t k0 = split_at(depths, d), depth = split_size(depths, d);
		for (size_t p = 0; p < panels; p++)
			set->pack(to + panels * width * k0 + p * width * depth, width, panel_valid(set, n, p), depth,
				  b + k0 * b_depth + p * width * b_column, b_column, b_depth);
	}
}

/* One thread's share: some strips times some panels, at one depth at a time. */
struct share {
	const struct kernel_set *set;
	const struct matmul *job;
	struct split strips, depths;
	float *a_block, *b_block, *edge; /* scratch */
	size_t k0, depth;
	bool first, last; /* of the depths */
};

static const float *panel_at(const struct share *share, size_t panel, size_t block_begin)
{
	const struct matmul *job = share->job;
	size_t width = share->set->tile_columns;
	if (job->b_packed)
		return job->b_packed + panels_of(share->set, job->n) * width * share->k0 + panel * width * share->depth;
	return share->b_block + (panel - block_begin) * width * share->depth;
}

static void pack_panels(const struct share *share, size_t begin, size_t end)
{
	const struct matmul *job = share->job;
	size_t width = share->set->tile_columns;
	for (size_t p = begin; p < end && !job->b_packed; p++) {
		float *to = share->b_block + (p - begin) * width * share->depth;
		size_t valid = panel_valid(share->set, job->n, p);
		if (job->fill)
			job->fill(job->fill_context, to, share->k0, share->depth, p * width, valid);
		else
			share->set->pack(to, width, valid, share->depth,
					 job->b + share->k0 * job->b_depth + p * width * job->b_column, job->b_column,
					 job->b_depth);
	}
}

static const float *strip_at(const struct share *share, size_t strip, size_t block_begin)
{
	const struct matmul *job = share->job;
	size_t i = split_at(share->strips, strip);
	if (job->a_packed)
		return job->a_packed + job->m * share->k0 + i * share->depth;
	return share->a_block + (i - split_at(share->strips, block_begin)) * share->depth;
}

static void pack_strips(const struct share *share, size_t begin, size_t end)
{
	const struct matmul *job = share->job;
	size_t origin = split_at(share->strips, begin);
	for (size_t s = begin; s < end && !job->a_packed; s++) {
		size_t i = split_at(share->strips, s), rows = split_size(share->strips, s);
		share->set->pack(share->a_block + (i - origin) * share->depth, rows, rows, share->depth,
				 job->a + i * job->a_row + share->k0 * job->a_depth, job->a_row, job->a_depth);
	}
}

/* A tile whose last columns do not exist is made aside. */
static void edge_tile(const struct share *share, size_t rows, const float *a, const float *b, float *c, size_t valid,
		      bool add)
{
	size_t width = share->set->tile_columns;
	share->set->tile(rows, share->depth, a, b, share->edge, width, false);
	for (size_t i = 0; i < rows; i++) {
		float *row = c + i * share->job->c_row;
		const float *made = share->edge + i * width;
		for (size_t j = 0; j < valid; j++)
			row[j] = add ? row[j] + made[j] : made[j];
	}
}

static void one_tile(const struct share *share, size_t strip, const float *a, size_t panel, const float *b)
{
	const struct matmul *job = share->job;
	size_t i = split_at(share->strips, strip), rows = split_size(share->strips, strip);
	size_t j = panel * share->set->tile_columns, valid = panel_valid(share->set, job->n, panel);
	float *c = job->c + i * job->c_row + j;
	bool add = job->add || !share->first;
	if (valid == share->set->tile_columns)
		share->set->tile(rows, share->depth, a, b, c, job->c_row, add);
	else
		edge_tile(share, rows, a, b, c, valid, add);
	const struct matmul_finish *finish = &job->finish;
	if (share->last && (finish->row_bias || finish->column_bias || finish->call.fn != KERNEL_NONE))
		share->set->finish(c, job->c_row, rows, valid, finish->row_bias ? finish->row_bias + i : NULL,
				   finish->column_bias ? finish->column_bias + j : NULL, &finish->call);
}

static void run_depth(struct share *share, size_t strip_begin, size_t strip_end, size_t panel_begin, size_t panel_end)
{
	pack_panels(share, panel_begin, panel_end);
	for (size_t block = strip_begin; block < strip_end; block += BLOCK_STRIPS) {
		size_t block_end = block + BLOCK_STRIPS < strip_end ? block + BLOCK_STRIPS : strip_end;
		pack_strips(share, block, block_end);
		for (size_t p = panel_begin; p < panel_end; p++) {
			const float *b = panel_at(share, p, panel_begin);
			for (size_t s = block; s < block_end; s++)
				one_tile(share, s, strip_at(share, s, block), p, b);
		}
	}
}

static float *aligned(float *at)
{
	uintptr_t mask = COMPUTE_ALIGN_FLOATS * sizeof(float) - 1;
	return (float *)(((uintptr_t)at + mask) & ~mask);
}

static void run_share(const struct kernel_set *set, float *scratch, const struct matmul *job, const size_t strips[2],
		      const size_t panels[2])
{
	struct share share = {.set = set,
			      .job = job,
			      .strips = split_of(job->m, set->tile_rows),
			      .depths = split_of(job->k, BLOCK_DEPTH)};
	share.b_block = aligned(scratch);
	share.a_block = share.b_block + set->tile_columns * (BLOCK_PANELS + 1) * BLOCK_DEPTH;
	share.edge = share.a_block + set->tile_rows * BLOCK_STRIPS * BLOCK_DEPTH;
	for (size_t p = panels[0]; p < panels[1]; p += BLOCK_PANELS) {
		size_t end = p + BLOCK_PANELS < panels[1] ? p + BLOCK_PANELS : panels[1];
		for (size_t d = 0; d < share.depths.parts; d++) {
			share.k0 = split_at(share.depths, d);
			share.depth = split_size(share.depths, d);
			share.first = d == 0;
			share.last = d + 1 == share.depths.parts;
			run_depth(&share, strips[0], strips[1], p, end);
		}
	}
}

/* Without depth nothing is added: what is left is 0 and what comes after the product. */
static void run_empty(const struct kernel_set *set, const struct matmul *job)
{
	for (size_t i = 0; i < job->m; i++) {
		float *row = job->c + i * job->c_row;
		if (!job->add)
			memset(row, 0, job->n * sizeof(*row));
		set->finish(row, job->c_row, 1, job->n, job->finish.row_bias ? job->finish.row_bias + i : NULL,
			    job->finish.column_bias, &job->finish.call);
	}
}

void matmul_alone(const struct kernel_set *set, float *scratch, const struct matmul *job)
{
	if (job->k == 0) {
		run_empty(set, job);
		return;
	}
	run_share(set, scratch, job, (size_t[2]){0, split_of(job->m, set->tile_rows).parts},
		  (size_t[2]){0, panels_of(set, job->n)});
}

struct sharing {
	const struct compute *compute;
	const struct matmul *job;
	struct split strips, panels; /* how the strips and the panels are cut into pieces; one of them into one */
};

static void run_piece(void *opaque, size_t piece, size_t member)
{
	const struct sharing *sharing = opaque;
	size_t down = piece % sharing->strips.parts, right = piece / sharing->strips.parts;
	run_share(sharing->compute->set, compute_scratch(sharing->compute, member), sharing->job,
		  (size_t[2]){split_at(sharing->strips, down), split_at(sharing->strips, down + 1)},
		  (size_t[2]){split_at(sharing->panels, right), split_at(sharing->panels, right + 1)});
}

static bool blas_can(const struct matmul *job)
{
	return !job->a_packed && !job->b_packed && !job->fill && (job->a_row == 1 || job->a_depth == 1) &&
	       (job->b_depth == 1 || job->b_column == 1);
}

static void run_blas(const struct compute *compute, const struct matmul *job)
{
	gemm_product(compute->blas,
		     &(struct gemm_product){.m = job->m,
					    .n = job->n,
					    .k = job->k,
					    .a = job->a,
					    .b = job->b,
					    .c = job->c,
					    .a_turned = job->a_depth != 1,
					    .b_turned = job->b_column != 1,
					    .a_stride = job->a_depth != 1 ? job->a_depth : job->a_row,
					    .b_stride = job->b_column != 1 ? job->b_column : job->b_depth,
					    .c_stride = job->c_row,
					    .add = job->add});
	const struct matmul_finish *finish = &job->finish;
	if (finish->row_bias || finish->column_bias || finish->call.fn != KERNEL_NONE)
		compute->set->finish(job->c, job->c_row, job->m, job->n, finish->row_bias, finish->column_bias,
				     &finish->call);
}

void matmul_run(const struct compute *compute, const struct matmul *job)
{
	size_t members = crew_members(compute->crew);
	size_t strips = split_of(job->m, compute->set->tile_rows).parts, panels = panels_of(compute->set, job->n);
	if (compute->blas && job->m && job->n && job->k && blas_can(job)) {
		run_blas(compute, job);
		return;
	}
	if (members == 1 || !job->k || job->m * job->n * job->k < SMALL_PRODUCT) {
		matmul_alone(compute->set, compute_scratch(compute, 0), job);
		return;
	}
	/* What is not packed yet is packed by each piece that needs it: then there are as few pieces as threads. */
	bool down = strips >= panels;
	size_t most = (down ? job->b_packed != NULL : job->a_packed != NULL) ? 4 * members : members;
	size_t whole = down ? strips : panels, parts = whole < most ? whole : most;
	struct sharing sharing = {.compute = compute,
				  .job = job,
				  .strips = {strips, down ? parts : 1},
				  .panels = {panels, down ? 1 : parts}};
	crew_each(compute->crew, parts, run_piece, &sharing);
}
