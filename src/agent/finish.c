/*
 * finish.c - a transfer that our signal cut short is finished, so that the program never sees a short count of ours.
 *
 * A blocking write to a pipe, a terminal or a socket moves all that it was given, unless a signal comes in between: then it
 * gives the bytes so far, whatever SA_RESTART says. Many programs do not expect that where they have no signals. The interrupted
 * context then stands behind the call with a count that is smaller than what was asked for. The rest is transferred here,
 * inside the handler, with the program's own signals let in again: one that comes ends the transfer as it would have ended the
 * program's. The program gets the sum. It is the last thing that the handler does, after all that is the agent's, so that a
 * handler of the program's may jump out of it.
 *
 * Descriptors that do not block give short counts for reasons of their own, and are left alone.
 */
#include "agent/core.h"
#include "agent/sys.h"

#include <sys/socket.h>
#include <sys/uio.h>

#if defined(__x86_64__)

enum { PIECES_MOST = 1024 };

bool finish_knows(uint32_t number)
{
	return number == SYS_write || number == SYS_writev || number == SYS_sendto || number == SYS_sendmsg ||
	       number == SYS_recvfrom || number == SYS_getrandom;
}

/* What is left of a call: where from, how much, and how. */
struct rest {
	int fd;
	long number; /* of the call that transfers one piece */
	int flags;
	bool stopped; /* a piece was cut short, or failed: no further ones */
};

static bool is_blocking(int fd)
{
	long flags = syscall(SYS_fcntl, fd, F_GETFL);
	return flags >= 0 && !(flags & O_NONBLOCK);
}

/* Bytes that were transferred; fewer than asked for ends everything. */
static size_t transfer(struct rest *rest, uintptr_t at, size_t bytes)
{
	long moved;
	if (rest->number == SYS_getrandom)
		moved = syscall(SYS_getrandom, at, bytes, rest->flags);
	else if (rest->number == SYS_write)
		moved = syscall(SYS_write, rest->fd, at, bytes);
	else
		moved = syscall(rest->number, rest->fd, at, bytes, rest->flags, NULL, NULL);
	rest->stopped = moved < 0 || (size_t)moved < bytes;
	return moved < 0 ? 0 : (size_t)moved;
}

/* The array is the program's own and was just read by the kernel. */
static size_t transfer_pieces(struct rest *rest, const struct iovec *pieces, size_t count, size_t done)
{
	size_t moved = 0;
	for (size_t i = 0; i < count && i < PIECES_MOST && !rest->stopped; i++) {
		size_t skipped = done < pieces[i].iov_len ? done : pieces[i].iov_len;
		done -= skipped;
		if (skipped < pieces[i].iov_len)
			moved += transfer(rest, (uintptr_t)pieces[i].iov_base + skipped, pieces[i].iov_len - skipped);
	}
	return moved;
}

static size_t sum_of(const struct iovec *pieces, size_t count)
{
	size_t bytes = 0;
	for (size_t i = 0; i < count && i < PIECES_MOST; i++)
		bytes += pieces[i].iov_len;
	return bytes;
}

/* The pieces of a call that has several; false: it is no such call, or cannot be continued. */
static bool find_pieces(int number, const greg_t *registers, const struct iovec **pieces, size_t *count)
{
	uintptr_t argument = (uintptr_t)registers[REG_RSI];
	if (number == SYS_writev) {
		*pieces = (const struct iovec *)argument; /* NOLINT(performance-no-int-to-ptr) */
		*count = (size_t)registers[REG_RDX];
	} else {
		const struct msghdr *message = (const struct msghdr *)argument; /* NOLINT(performance-no-int-to-ptr) */
		if (!guard_readable(argument, sizeof(*message)))
			return false;
		*pieces = message->msg_iov;
		*count = message->msg_iovlen;
	}
	return *count <= PIECES_MOST && guard_readable((uintptr_t)*pieces, *count * sizeof(**pieces));
}

static size_t finish_pieces(int number, const greg_t *registers, size_t done)
{
	const struct iovec *pieces;
	size_t count;
	struct rest rest = {.fd = (int)registers[REG_RDI], .number = SYS_write};
	if (number == SYS_sendmsg) {
		rest.number = SYS_sendto;
		rest.flags = (int)registers[REG_RDX];
	}
	if (!find_pieces(number, registers, &pieces, &count) || done >= sum_of(pieces, count) || !is_blocking(rest.fd))
		return 0;
	return transfer_pieces(&rest, pieces, count, done);
}

static size_t finish_one(int number, const greg_t *registers, size_t done)
{
	struct rest rest = {.fd = (int)registers[REG_RDI], .number = number, .flags = (int)registers[REG_R10]};
	uintptr_t at = (uintptr_t)registers[REG_RSI];
	size_t bytes = (size_t)registers[REG_RDX];
	if (number == SYS_getrandom) {
		at = (uintptr_t)registers[REG_RDI];
		bytes = (size_t)registers[REG_RSI];
		rest.flags = (int)registers[REG_RDX];
		return done < bytes ? transfer(&rest, at + done, bytes - done) : 0;
	}
	/* Reading gives what there is, except where it was told to wait for everything. */
	if (number == SYS_recvfrom && !(rest.flags & MSG_WAITALL))
		return 0;
	if (done >= bytes || (rest.flags & MSG_DONTWAIT && number != SYS_write) || !is_blocking(rest.fd))
		return 0;
	return transfer(&rest, at + done, bytes - done);
}

void finish_transfer(ucontext_t *context, int number)
{
	greg_t *registers = context->uc_mcontext.gregs;
	sys_sigset mask, all = ~(sys_sigset)0;
	size_t done = (size_t)registers[REG_RAX];
	__builtin_memcpy(&mask, &context->uc_sigmask, sizeof(mask));
	mask |= sys_sigbit(AGENT_SIGNAL);
	sys_sigmask(SIG_SETMASK, &mask, NULL);
	gate_leave();
	if (number == SYS_writev || number == SYS_sendmsg)
		done += finish_pieces(number, registers, done);
	else
		done += finish_one(number, registers, done);
	if (gate_enter())
		sys_sigmask(SIG_SETMASK, &all, NULL);
	registers[REG_RAX] = (greg_t)done;
}

#endif
