/*
 * rapl.c - energy of the CPU packages and of the memory, from the powercap tree (Intel and AMD use the same names).
 *
 *	intel-rapl:0        package-0    counted
 *	intel-rapl:0:0      core         inside package-0: not added
 *	intel-rapl:0:1      dram         counted apart
 *	intel-rapl:1        psys         contains everything: not added
 *	intel-rapl-mmio:0   package-0    the same counter by another bus: used only where the first cannot be read
 *
 * Some machines show one counter as two dies. Two zones that start within half a joule of each other and stay there are
 * taken for one; as soon as they part, both count, and nothing is lost, because both were followed from the start.
 *
 * A package that cannot be read makes the probe unavailable: a sum that leaves one out would look like a measurement.
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "base/vec.h"
#include "probe/energy.h"
#include "probe/kernel_file.h"
#include "probe/table.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIRROR_TOLERANCE_UJ = 500000 };

struct rapl_zone {
	char folder[64]; /* "intel-rapl:0" */
	char key[64];    /* "package-0", "package-0/dram": the same key is the same counter */
	bool is_dram;
	int fd;   /* -errno where it cannot be read */
	int twin; /* the zone that this one seems to mirror; -1: none */
	struct energy_counter counter;
};

struct rapl {
	VEC(struct rapl_zone) zones;
	const char *dram_reason; /* NULL: there is one */
};

static const int rapl_channels[] = {CHANNEL_ENERGY_PACKAGE, CHANNEL_ENERGY_DRAM, -1};

static void rapl_close(void *opaque)
{
	struct rapl *rapl = opaque;
	for (size_t i = 0; i < rapl->zones.len; i++)
		kernel_close(rapl->zones.items[i].fd);
	vec_fini(&rapl->zones);
	free(rapl);
}

static int keep_zone_folder(const struct dirent *entry)
{
	return str_starts(entry->d_name, "intel-rapl") && strchr(entry->d_name, ':') != NULL &&
	       strlen(entry->d_name) < sizeof(((struct rapl_zone *)0)->folder);
}

/* The registers before their mirror in memory: of two ways to one counter, the first is taken. */
static int order_folders(const struct dirent **a, const struct dirent **b)
{
	bool a_mmio = str_starts((*a)->d_name, "intel-rapl-"), b_mmio = str_starts((*b)->d_name, "intel-rapl-");
	return a_mmio != b_mmio ? a_mmio - b_mmio : strcmp((*a)->d_name, (*b)->d_name);
}

/* Fills key and is_dram; false for a zone that must not be added. */
static bool zone_identify(struct rapl_zone *zone)
{
	char name[48], parent[sizeof(zone->folder)];
	if (!kernel_text(name, sizeof(name), "%s/class/powercap/%s/name", file_sysfs(), zone->folder))
		return false;
	snprintf(parent, sizeof(parent), "%s", zone->folder);
	*strrchr(parent, ':') = '\0';
	bool is_top = strchr(parent, ':') == NULL;
	if (is_top) {
		snprintf(zone->key, sizeof(zone->key), "%s", name);
		return str_starts(name, "package-");
	}
	if (strcmp(name, "dram") != 0 ||
	    !kernel_text(name, sizeof(name), "%s/class/powercap/%s/name", file_sysfs(), parent) ||
	    !str_starts(name, "package-"))
		return false;
	zone->is_dram = true;
	snprintf(zone->key, sizeof(zone->key), "%s/dram", name);
	return true;
}

static void zone_open(struct rapl_zone *zone)
{
	zone->twin = -1;
	zone->fd = kernel_open("%s/class/powercap/%s/energy_uj", file_sysfs(), zone->folder);
	if (zone->fd < 0)
		return;
	char text[64];
	uint64_t value;
	ssize_t got = kernel_pread(zone->fd, text, sizeof(text));
	if (got < 0 || !kernel_pread_u64(zone->fd, &value)) {
		kernel_close(zone->fd);
		zone->fd = got < 0 ? (int)got : -EINVAL;
		return;
	}
	kernel_u64(&zone->counter.range, "%s/class/powercap/%s/max_energy_range_uj", file_sysfs(), zone->folder);
	energy_counter_advance(&zone->counter, value);
}

static struct rapl_zone *find_zone(struct rapl *rapl, const char *key)
{
	for (size_t i = 0; i < rapl->zones.len; i++)
		if (strcmp(rapl->zones.items[i].key, key) == 0)
			return &rapl->zones.items[i];
	return NULL;
}

static void add_folder(struct rapl *rapl, const char *folder)
{
	struct rapl_zone zone = {0};
	snprintf(zone.folder, sizeof(zone.folder), "%.63s", folder);
	if (!zone_identify(&zone))
		return;
	struct rapl_zone *same = find_zone(rapl, zone.key);
	if (same && same->fd >= 0)
		return;
	zone_open(&zone);
	if (!same)
		vec_push(&rapl->zones, zone);
	else if (zone.fd >= 0)
		*same = zone;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static void find_twins(struct rapl *rapl)
{
	for (size_t i = 0; i < rapl->zones.len; i++) {
		struct rapl_zone *zone = &rapl->zones.items[i];
		for (size_t j = 0; j < i && zone->twin < 0; j++) {
			const struct rapl_zone *other = &rapl->zones.items[j];
			if (other->twin < 0 && other->is_dram == zone->is_dram &&
			    distance(other->counter.last, zone->counter.last) <= MIRROR_TOLERANCE_UJ)
				zone->twin = (int)j;
		}
	}
}

/* How many zones of a kind there are; *refused is one that cannot be read, or NULL. */
static size_t count_zones(const struct rapl *rapl, bool is_dram, const struct rapl_zone **refused)
{
	size_t count = 0;
	*refused = NULL;
	for (size_t i = 0; i < rapl->zones.len; i++) {
		const struct rapl_zone *zone = &rapl->zones.items[i];
		count += zone->is_dram == is_dram;
		if (zone->is_dram == is_dram && zone->fd < 0)
			*refused = zone;
	}
	return count;
}

static int judge(struct rapl *rapl, struct err *err)
{
	const struct rapl_zone *refused;
	if (!count_zones(rapl, true, &refused))
		rapl->dram_reason = "RAPL has no DRAM domain on this machine";
	else if (refused)
		rapl->dram_reason = "the DRAM energy counter cannot be read";
	if (!count_zones(rapl, false, &refused))
		return err_set(err, ERR_UNAVAILABLE, "no RAPL package in %s/class/powercap", file_sysfs());
	if (!refused)
		return 0;
	bool denied = refused->fd == -EACCES || refused->fd == -EPERM;
	return err_set(err, denied ? ERR_IO : ERR_UNAVAILABLE, "cannot read %s/class/powercap/%s/energy_uj: %s%s",
		       file_sysfs(), refused->folder, strerror(-refused->fd),
		       denied ? " (root only since Linux 5.10; see pitot doctor)" : "");
}

static void name_source(const struct rapl *rapl, char *source)
{
	struct str text = {0};
	bool mirrored = false;
	for (size_t i = 0; i < rapl->zones.len; i++) {
		const struct rapl_zone *zone = &rapl->zones.items[i];
		mirrored = mirrored || zone->twin >= 0;
		if (!zone->is_dram)
			str_appendf(&text, "%s%s", text.len ? " + " : "", zone->key);
	}
	const struct rapl_zone *refused;
	if (text.len > 70) {
		str_clear(&text);
		str_appendf(&text, "%zu packages", count_zones(rapl, false, &refused));
	}
	snprintf(source, METRIC_SOURCE_SIZE, "rapl %s%s, whole machine", str_text(&text),
		 mirrored ? ", mirrored counters once" : "");
	str_fini(&text);
}

static int rapl_open(void **out, char *source, struct err *err)
{
	char *folder = mem_printf("%s/class/powercap", file_sysfs());
	struct dirent **entries = NULL;
	int count = scandir(folder, &entries, keep_zone_folder, order_folders);
	free(folder);
	struct rapl *rapl = mem_alloc(sizeof(*rapl));
	for (int i = 0; i < count; i++) {
		add_folder(rapl, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	int code = judge(rapl, err);
	if (code) {
		rapl_close(rapl);
		return code;
	}
	find_twins(rapl);
	name_source(rapl, source);
	*out = rapl;
	return 0;
}

static const char *rapl_lacks(const void *opaque, int channel)
{
	const struct rapl *rapl = opaque;
	return channel == CHANNEL_ENERGY_DRAM ? rapl->dram_reason : NULL;
}

/* Whether every zone of the kind could be read; *joules is the sum of those that are not mirrors. */
static bool sum_zones(struct rapl *rapl, bool is_dram, double *joules)
{
	bool complete = true;
	uint64_t total_uj = 0;
	for (size_t i = 0; i < rapl->zones.len; i++) {
		struct rapl_zone *zone = &rapl->zones.items[i];
		uint64_t value;
		if (zone->is_dram != is_dram)
			continue;
		if (kernel_pread_u64(zone->fd, &value))
			energy_counter_advance(&zone->counter, value);
		else
			complete = false;
		/* Compared only when both were read just now: after a failed read they differ for a plain reason. */
		if (complete && zone->twin >= 0 &&
		    distance(zone->counter.total, rapl->zones.items[zone->twin].counter.total) > MIRROR_TOLERANCE_UJ)
			zone->twin = -1;
		if (zone->twin < 0)
			total_uj += zone->counter.total;
	}
	*joules = (double)total_uj / 1e6;
	return complete;
}

static void rapl_read(void *opaque, struct probe_frame *frame)
{
	struct rapl *rapl = opaque;
	frame->known[CHANNEL_ENERGY_PACKAGE] = sum_zones(rapl, false, &frame->value[CHANNEL_ENERGY_PACKAGE]);
	if (!rapl->dram_reason)
		frame->known[CHANNEL_ENERGY_DRAM] = sum_zones(rapl, true, &frame->value[CHANNEL_ENERGY_DRAM]);
}

const struct probe probe_rapl = {
	.name = "rapl",
	.what = "energy of the CPU packages and the memory (powercap)",
	.least_interval_ns = NS_PER_S,
	.channels = rapl_channels,
	.open = rapl_open,
	.lacks = rapl_lacks,
	.read = rapl_read,
	.close = rapl_close,
	.fix = "sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj",
};
