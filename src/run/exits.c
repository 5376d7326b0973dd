/*
 * exits.c - see exits.h.
 *
 * A process is complete when its exit event and its usage have both come; they arrive on two sockets, so either may be
 * first. Threads exit one by one, each with a taskstats record of its own, which add up in their process's entry. The
 * exit event of the thread-group leader ends the process; where the leader dies before its threads, their records still
 * find the entry, because it is kept until the record that is marked as the group's last has come.
 *
 * A usage record can only be placed once the process's birth is known, and a process may be born, live and die while we
 * read. So usage is taken first, a batch at a time, then all events that there are (births among them: they were sent
 * before), and only then is the batch placed.
 */
#include "run/exits.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "run/tree.h"

#include <errno.h>
#include <linux/acct.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { RECEIVE_BYTES = 8 << 20, MESSAGE_BYTES = 8192, BATCH = 64 };

struct entry {
	struct exit_record record;
	bool last_thread_gone;
};

struct owner_count {
	void *owner;
	size_t seen;
};

struct exits {
	int connector, taskstats, poll;
	struct map by_pid;
	VEC(struct owner_count) owners;
	VEC(struct taskstats) batch;
	exit_record_fn *complete;
	void *context;
	uint64_t losses;
	bool ours; /* something of this reading was about a process that is followed */
};

/* ---- sockets ---- */

static void enlarge(int fd)
{
	int bytes = RECEIVE_BYTES;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) != 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

static int open_netlink(int protocol, unsigned groups)
{
	int fd = socket(PF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
	struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = groups};
	if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
		int saved = errno;
		close(fd);
		errno = saved;
		return -1;
	}
	if (fd >= 0)
		enlarge(fd);
	return fd;
}

/* In three pieces, because a struct cn_msg ends in an array of no size and so may have nothing after it in a struct. */
static bool connector_listen(int fd, bool on)
{
	enum proc_cn_mcast_op op = on ? PROC_CN_MCAST_LISTEN : PROC_CN_MCAST_IGNORE;
	struct cn_msg message = {.id = {.idx = CN_IDX_PROC, .val = CN_VAL_PROC}, .len = sizeof(op)};
	struct nlmsghdr head = {.nlmsg_len = sizeof(head) + sizeof(message) + sizeof(op),
				.nlmsg_type = NLMSG_DONE,
				.nlmsg_pid = (unsigned)getpid()};
	struct iovec pieces[] = {{&head, sizeof(head)}, {&message, sizeof(message)}, {&op, sizeof(op)}};
	return writev(fd, pieces, 3) == (ssize_t)head.nlmsg_len;
}

struct genl_request {
	struct nlmsghdr head;
	struct genlmsghdr generic;
	char body[256];
};

static void genl_text(struct genl_request *request, uint16_t type, const char *text)
{
	struct nlattr *attribute = (struct nlattr *)((char *)request + NLMSG_ALIGN(request->head.nlmsg_len));
	size_t length = strlen(text) + 1;
	attribute->nla_type = type;
	attribute->nla_len = (uint16_t)(NLA_HDRLEN + length);
	memcpy((char *)attribute + NLA_HDRLEN, text, length);
	request->head.nlmsg_len = NLMSG_ALIGN(request->head.nlmsg_len) + NLA_ALIGN(attribute->nla_len);
}

static bool genl_send(int fd, uint16_t family, uint8_t command, uint16_t type, const char *text)
{
	struct genl_request request = {.head = {.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN),
						.nlmsg_type = family,
						.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
				       .generic = {.cmd = command, .version = 1}};
	struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	genl_text(&request, type, text);
	return sendto(fd, &request, request.head.nlmsg_len, 0, (struct sockaddr *)&kernel, sizeof(kernel)) >= 0;
}

/* The next message, waited for: netlink answers requests at once. */
static ssize_t genl_answer(int fd, char *bytes, size_t size)
{
	for (int tries = 0; tries < 100; tries++) {
		ssize_t got = recv(fd, bytes, size, 0);
		if (got >= 0 || (errno != EAGAIN && errno != EINTR))
			return got;
		usleep(1000);
	}
	return -1;
}

/* 0 for an acknowledgement, -errno for a refusal, 1 for anything else. */
static int acknowledgement(const char *bytes, ssize_t got)
{
	const struct nlmsghdr *head = (const struct nlmsghdr *)bytes;
	if (got < (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr)) || head->nlmsg_type != NLMSG_ERROR)
		return 1;
	return ((const struct nlmsgerr *)NLMSG_DATA(head))->error;
}

static const struct nlattr *find_attribute(const char *at, size_t length, uint16_t type)
{
	while (length >= NLA_HDRLEN) {
		const struct nlattr *attribute = (const struct nlattr *)at;
		size_t whole = NLA_ALIGN(attribute->nla_len);
		if (attribute->nla_len < NLA_HDRLEN || attribute->nla_len > length)
			return NULL;
		if ((attribute->nla_type & NLA_TYPE_MASK) == type)
			return attribute;
		if (whole >= length)
			return NULL;
		at += whole;
		length -= whole;
	}
	return NULL;
}

static const char *attribute_bytes(const struct nlattr *attribute)
{
	return (const char *)attribute + NLA_HDRLEN;
}

static size_t attribute_size(const struct nlattr *attribute)
{
	return (size_t)attribute->nla_len - NLA_HDRLEN;
}

static const struct nlattr *genl_attribute(const char *message, size_t length, uint16_t type)
{
	size_t head = NLMSG_LENGTH(GENL_HDRLEN);
	return length > head ? find_attribute(message + head, length - head, type) : NULL;
}

static int taskstats_family(int fd)
{
	char bytes[MESSAGE_BYTES];
	if (!genl_send(fd, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, TASKSTATS_GENL_NAME))
		return -1;
	ssize_t got = genl_answer(fd, bytes, sizeof(bytes));
	const struct nlattr *id = got > 0 ? genl_attribute(bytes, (size_t)got, CTRL_ATTR_FAMILY_ID) : NULL;
	uint16_t family = 0;
	if (id && attribute_size(id) >= sizeof(family))
		memcpy(&family, attribute_bytes(id), sizeof(family));
	genl_answer(fd, bytes, sizeof(bytes)); /* the acknowledgement */
	return family ? family : -1;
}

static int taskstats_register(int fd, struct err *err)
{
	char bytes[MESSAGE_BYTES], cpus[32];
	int family = taskstats_family(fd);
	if (family < 0)
		return err_set(err, ERR_UNAVAILABLE, "the kernel has no taskstats (CONFIG_TASKSTATS)");
	snprintf(cpus, sizeof(cpus), "0-%ld", sysconf(_SC_NPROCESSORS_CONF) - 1);
	if (!genl_send(fd, (uint16_t)family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, cpus))
		return err_set_errno(err, ERR_UNAVAILABLE, "cannot register for taskstats");
	/* Records of processes that end meanwhile may come before the acknowledgement. */
	int answer = 1;
	for (int tries = 0; answer == 1 && tries < 1000; tries++)
		answer = acknowledgement(bytes, genl_answer(fd, bytes, sizeof(bytes)));
	if (answer == 0)
		return 0;
	errno = answer < 0 ? -answer : ETIME;
	return err_set_errno(err, ERR_UNAVAILABLE, "cannot register for taskstats (needs CAP_NET_ADMIN: run as root)");
}

static int open_sockets(struct exits *exits, struct err *err)
{
	exits->connector = open_netlink(NETLINK_CONNECTOR, CN_IDX_PROC);
	if (exits->connector < 0 || !connector_listen(exits->connector, true))
		return err_set_errno(err, ERR_UNAVAILABLE,
				     "no process events (needs CAP_NET_ADMIN in the initial namespaces: run as root)");
	exits->taskstats = open_netlink(NETLINK_GENERIC, 0);
	if (exits->taskstats < 0)
		return err_set_errno(err, ERR_UNAVAILABLE, "no generic netlink socket");
	int code = taskstats_register(exits->taskstats, err);
	if (code)
		return code;
	exits->poll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = {.events = EPOLLIN};
	if (exits->poll < 0 || epoll_ctl(exits->poll, EPOLL_CTL_ADD, exits->connector, &event) != 0 ||
	    epoll_ctl(exits->poll, EPOLL_CTL_ADD, exits->taskstats, &event) != 0)
		return err_set_errno(err, ERR_INTERNAL, "cannot poll the netlink sockets");
	return 0;
}

int exits_open(struct exits **out, exit_record_fn *complete, void *context, struct err *err)
{
	struct exits *exits = mem_alloc(sizeof(*exits));
	*exits = (struct exits){.connector = -1, .taskstats = -1, .poll = -1, .complete = complete, .context = context};
	int code = open_sockets(exits, err);
	if (code) {
		exits_close(exits);
		return code;
	}
	*out = exits;
	return 0;
}

void exits_close(struct exits *exits)
{
	if (!exits)
		return;
	if (exits->connector >= 0) {
		connector_listen(exits->connector, false);
		close(exits->connector);
	}
	if (exits->taskstats >= 0)
		close(exits->taskstats);
	if (exits->poll >= 0)
		close(exits->poll);
	for (size_t i = 0; i < exits->by_pid.size; i++) {
		struct entry *entry = exits->by_pid.slots[i].value;
		if (!entry)
			continue;
		free(entry->record.command);
		free(entry);
	}
	map_fini(&exits->by_pid);
	vec_fini(&exits->owners);
	vec_fini(&exits->batch);
	free(exits);
}

int exits_fd(const struct exits *exits)
{
	return exits->poll;
}

/* ---- the table ---- */

static struct owner_count *owner_of(struct exits *exits, const void *owner)
{
	for (size_t i = 0; i < exits->owners.len; i++)
		if (exits->owners.items[i].owner == owner)
			return &exits->owners.items[i];
	return NULL;
}

static void hand_over(struct exits *exits, struct entry *entry)
{
	map_remove(&exits->by_pid, (uint64_t)entry->record.pid);
	exits->complete(exits->context, &entry->record);
	free(entry->record.command);
	free(entry);
}

/* `command` is the parent's: until it execs, a child has the same. */
static void add_process(struct exits *exits, pid_t pid, pid_t parent, const char *command, void *owner, uint64_t at_ns)
{
	struct entry *old = map_get(&exits->by_pid, (uint64_t)pid);
	if (old)
		hand_over(exits, old);
	struct entry *entry = mem_alloc(sizeof(*entry));
	entry->record = (struct exit_record){
		.owner = owner, .pid = pid, .parent = parent, .start_ns = at_ns, .command = mem_strdup(command)};
	map_put(&exits->by_pid, (uint64_t)pid, entry);
	struct owner_count *count = owner_of(exits, owner);
	if (count)
		count->seen++;
}

void exits_follow(struct exits *exits, pid_t pid, void *owner, uint64_t now_ns)
{
	if (!owner_of(exits, owner))
		vec_push(&exits->owners, ((struct owner_count){.owner = owner}));
	add_process(exits, pid, 0, NULL, owner, now_ns);
}

static void hand_over_if_complete(struct exits *exits, struct entry *entry)
{
	if (entry->record.ended && entry->last_thread_gone)
		hand_over(exits, entry);
}

/* ---- events ---- */

static struct entry *followed(struct exits *exits, pid_t process)
{
	struct entry *entry = map_get(&exits->by_pid, (uint64_t)process);
	exits->ours |= entry != NULL;
	return entry;
}

static void on_event(struct exits *exits, const struct proc_event *event)
{
	struct entry *entry;
	switch (event->what) {
	case PROC_EVENT_FORK:
		if (event->event_data.fork.child_pid != event->event_data.fork.child_tgid)
			return; /* a thread */
		entry = followed(exits, event->event_data.fork.parent_tgid);
		if (entry)
			add_process(exits, event->event_data.fork.child_tgid, event->event_data.fork.parent_tgid,
				    entry->record.command, entry->record.owner, event->timestamp_ns);
		return;
	case PROC_EVENT_EXEC:
		entry = followed(exits, event->event_data.exec.process_tgid);
		if (entry) {
			free(entry->record.command);
			entry->record.command = tree_command_of(entry->record.pid);
		}
		return;
	case PROC_EVENT_EXIT:
		if (event->event_data.exit.process_pid != event->event_data.exit.process_tgid)
			return;
		entry = followed(exits, event->event_data.exit.process_tgid);
		if (entry && !entry->record.ended) {
			entry->record.ended = true;
			entry->record.status = (int)event->event_data.exit.exit_code;
			entry->record.end_ns = event->timestamp_ns;
			hand_over_if_complete(exits, entry);
		}
		return;
	default:
		return;
	}
}

/* recv, with the kernel's word for "I had to drop some" counted. */
static ssize_t receive(struct exits *exits, int fd, char *bytes, size_t size)
{
	for (;;) {
		ssize_t got = recv(fd, bytes, size, MSG_DONTWAIT);
		if (got < 0 && errno == ENOBUFS)
			exits->losses++;
		else if (got >= 0 || errno != EINTR)
			return got;
	}
}

static void read_connector(struct exits *exits)
{
	_Alignas(struct nlmsghdr) char bytes[MESSAGE_BYTES];
	for (ssize_t got; (got = receive(exits, exits->connector, bytes, sizeof(bytes))) > 0;) {
		int left = (int)got;
		for (struct nlmsghdr *head = (struct nlmsghdr *)bytes; NLMSG_OK(head, (unsigned)left);
		     head = NLMSG_NEXT(head, left)) {
			const struct cn_msg *message = NLMSG_DATA(head);
			struct proc_event event = {0};
			if (message->id.idx != CN_IDX_PROC)
				continue;
			/* The kernel's struct may be longer or shorter than ours, and is not aligned. */
			memcpy(&event, message->data, message->len < sizeof(event) ? message->len : sizeof(event));
			on_event(exits, &event);
		}
	}
}

/* User and system time are counted in clock ticks, which a short process never fills; the scheduler's total is finer.
 * It is split in their proportion, and is all user time where there were no ticks: the kernel's own rule for wait(2).
 * It is as of the last tick or switch before the exit, so up to a tick of each process is missing, which for one that
 * lives for less than a tick may be most of it. The stage's total does not come from here. */
static void add_cpu(struct exit_record *record, const struct taskstats *stats)
{
	double user = (double)stats->ac_utime / 1e6, system = (double)stats->ac_stime / 1e6;
	double total = (double)stats->cpu_run_virtual_total / 1e9;
	if (total <= 0)
		total = user + system;
	double share = user + system > 0 ? system / (user + system) : 0;
	record->cpu_system_s += total * share;
	record->cpu_user_s += total * (1 - share);
}

static void add_usage(struct exit_record *record, const struct taskstats *stats)
{
	record->has_usage = true;
	add_cpu(record, stats);
	record->run_wait_s += (double)stats->cpu_delay_total / 1e9;
	record->read_chars += stats->read_char;
	record->write_chars += stats->write_char;
	record->read_bytes += stats->read_bytes;
	record->write_bytes += stats->write_bytes;
	record->faults_minor += stats->ac_minflt;
	record->faults_major += stats->ac_majflt;
	record->switches_voluntary += stats->nvcsw;
	record->switches_forced += stats->nivcsw;
	uint64_t peak = (uint64_t)stats->hiwater_rss * 1024;
	if (peak > record->rss_peak_bytes)
		record->rss_peak_bytes = peak;
	record->command_short = !record->command || record->command_short;
	if (!record->command)
		record->command = mem_strndup(stats->ac_comm, strnlen(stats->ac_comm, sizeof(stats->ac_comm)));
}

static bool copy_stats(const struct nlattr *nested, struct taskstats *out)
{
	const struct nlattr *stats =
		nested ? find_attribute(attribute_bytes(nested), attribute_size(nested), TASKSTATS_TYPE_STATS) : NULL;
	if (!stats)
		return false;
	memset(out, 0, sizeof(*out));
	size_t size = attribute_size(stats);
	memcpy(out, attribute_bytes(stats), size < sizeof(*out) ? size : sizeof(*out));
	return true;
}

static void place_usage(struct exits *exits, const struct taskstats *stats)
{
	enum { FIRST_VERSION_WITH_TGID = 12 };
	pid_t process = stats->version >= FIRST_VERSION_WITH_TGID ? (pid_t)stats->ac_tgid : (pid_t)stats->ac_pid;
	struct entry *entry = followed(exits, process);
	if (!entry)
		return;
	add_usage(&entry->record, stats);
	if (stats->version < FIRST_VERSION_WITH_TGID) {
		/* Such a kernel does not say whose thread it was: only the leader's own record is placed. */
		entry->last_thread_gone = true;
	} else if (stats->ac_flag & AGROUP) {
		entry->last_thread_gone = true;
		if (!entry->record.ended) {
			/* The exit event is sent after the parent has been woken, so it may be a moment late. */
			entry->record.ended = true;
			entry->record.status = (int)stats->ac_exitcode;
			entry->record.end_ns = entry->record.start_ns + stats->ac_tgetime * 1000;
		}
	}
	hand_over_if_complete(exits, entry);
}

/* Fills the batch as far as there is something to read. */
static void take_usage(struct exits *exits)
{
	_Alignas(struct nlmsghdr) char bytes[MESSAGE_BYTES];
	exits->batch.len = 0;
	while (exits->batch.len < BATCH) {
		ssize_t got = receive(exits, exits->taskstats, bytes, sizeof(bytes));
		if (got <= 0)
			return;
		int left = (int)got;
		for (struct nlmsghdr *head = (struct nlmsghdr *)bytes; NLMSG_OK(head, (unsigned)left);
		     head = NLMSG_NEXT(head, left)) {
			struct taskstats stats;
			if (head->nlmsg_type >= NLMSG_MIN_TYPE &&
			    copy_stats(genl_attribute((const char *)head, head->nlmsg_len, TASKSTATS_TYPE_AGGR_PID),
				       &stats))
				vec_push(&exits->batch, stats);
		}
	}
}

bool exits_read(struct exits *exits)
{
	bool more = true;
	exits->ours = false;
	while (more) {
		take_usage(exits);
		more = exits->batch.len >= BATCH;
		read_connector(exits);
		for (size_t i = 0; i < exits->batch.len; i++)
			place_usage(exits, &exits->batch.items[i]);
	}
	return exits->ours;
}

size_t exits_seen(const struct exits *exits, const void *owner)
{
	for (size_t i = 0; i < exits->owners.len; i++)
		if (exits->owners.items[i].owner == owner)
			return exits->owners.items[i].seen;
	return 0;
}

void exits_release(struct exits *exits, void *owner)
{
	VEC(struct entry *) left = {0};
	for (size_t i = 0; i < exits->by_pid.size; i++) {
		struct entry *entry = exits->by_pid.slots[i].value;
		if (entry && entry->record.owner == owner)
			vec_push(&left, entry);
	}
	for (size_t i = 0; i < left.len; i++)
		hand_over(exits, left.items[i]);
	vec_fini(&left);
	struct owner_count *count = owner_of(exits, owner);
	if (count)
		*count = exits->owners.items[--exits->owners.len];
}

uint64_t exits_losses(const struct exits *exits)
{
	return exits->losses;
}
