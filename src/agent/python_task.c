/*
 * python_task.c - the running asyncio task of a thread, and who awaits it.
 *
 * The loop that runs stands in the thread state or its dict, its current task in _asyncio's _current_tasks, which is found once in
 * sys.modules. The task object is _asyncio's own and in no header; but in every version up to now the coroutine stands right
 * before the name and behind the future's part, so the first word that points to a coroutine, with a name behind it, tells
 * where both are. That is learned once and checked with every use.
 *
 *	task (a future)    head | loop | callback0 | ... | waits for | coroutine | name | ...
 *
 * Who awaits a task is its first callback: the wake-up of the awaiting task, or what gather(), wait() and wait_for() put there,
 * which holds the future that the awaiting task awaits. Its frames are those of its suspended coroutine and of the coroutines that this one awaits.
 * Not followed: further callbacks of one task, TaskGroup (the waiting task stands in an attribute), pure-Python tasks.
 */
#include "agent/python.h"

enum {
	DICT_MOST = 1 << 16, /* entries that are looked at */
	COROUTINE_FIRST = 88,
	COROUTINE_LAST = 192,
	AWAIT_DEPTH = 64,
	AWAIT_TASKS = 32,
	TUPLE_MOST = 16,
	NAME_MOST = 40
};

static _Atomic uintptr_t tasks_dict;        /* _asyncio._current_tasks; 0: not found yet */
static _Atomic uintptr_t task_type;         /* of the last task that was seen */
static _Atomic uint32_t coroutine_offset;   /* of a task; 0: not learned yet */
static _Atomic unsigned modules_looked = 0; /* entries of sys.modules when it was searched last */

static const char *type_name(uintptr_t object, size_t bytes)
{
	if (!python_readable(object, bytes))
		return "";
	uintptr_t name = python_follow(python_follow(object + python.at.object_type) + python.at.type_name);
	return name && python_span(name, NAME_MOST) ? (const char *)name : "";
}

static bool type_is(uintptr_t object, size_t bytes, const char *name)
{
	return strncmp(type_name(object, bytes), name, NAME_MOST) == 0;
}

/* A dict's table of entries: (key, value), with the hash before them where keys are not all texts. */
struct dict_view {
	uintptr_t entries;
	size_t count, stride, key; /* stride in bytes, key: offset in an entry */
};

static bool dict_view(uintptr_t dict, struct dict_view *view)
{
	if (!python_is(dict, python.type_dict, python.at.dict_values + sizeof(uintptr_t)) ||
	    python_word(dict + python.at.dict_values))
		return false;
	uintptr_t keys = python_word(dict + python.at.dict_keys);
	size_t index_bytes, head;
	if (!python_readable(keys, 40))
		return false;
	*view = (struct dict_view){.stride = 24, .key = 8};
	if (python.at.minor < 11) {
		size_t size = python_word(keys + 8);
		head = 40;
		index_bytes = size * (size <= 0xff ? 1 : size <= 0xffff ? 2 : 4);
		view->count = python_word(keys + 32);
	} else {
		const volatile uint8_t *shape = (const volatile uint8_t *)(keys + 8);
		head = 32;
		index_bytes = (size_t)1 << (shape[1] & 31);
		view->count = python_word(keys + 24);
		if (shape[2])
			view->stride = 16, view->key = 0;
	}
	view->entries = keys + head + index_bytes;
	return view->count <= DICT_MOST && python_span(view->entries, view->count * view->stride);
}

/* The value under a text, or under an object; 0: none. */
static uintptr_t dict_get(uintptr_t dict, const char *text, uintptr_t object)
{
	struct dict_view view;
	if (!dict_view(dict, &view))
		return 0;
	for (size_t i = 0; i < view.count; i++) {
		uintptr_t entry = view.entries + i * view.stride + view.key, key = python_word(entry);
		if (key && (text ? python_text_is(key, text) : key == object))
			return python_word(entry + sizeof(uintptr_t));
	}
	return 0;
}

/* sys.modules is searched again only after it has grown: a program without asyncio pays nothing. */
static uintptr_t find_tasks_dict(uintptr_t state)
{
	uintptr_t found = atomic_load_explicit(&tasks_dict, memory_order_acquire);
	if (found)
		return found;
	struct dict_view view;
	uintptr_t modules = python_follow(python_word(state + python.at.state_interp) + python.at.interp_modules);
	if (!python.at.interp_modules || !dict_view(modules, &view) || view.count == atomic_load(&modules_looked))
		return 0;
	atomic_store(&modules_looked, (unsigned)view.count);
	uintptr_t module = dict_get(modules, "_asyncio", 0);
	/* A module's dict is its first field. */
	uintptr_t names = module ? python_follow(module + python.at.object_type + sizeof(uintptr_t)) : 0;
	found = names ? dict_get(names, "_current_tasks", 0) : 0;
	atomic_store_explicit(&tasks_dict, found, memory_order_release);
	return found;
}

static bool is_coroutine(uintptr_t object)
{
	size_t bytes = python.at.generator_frame + sizeof(uintptr_t);
	return python_is(object, python.type_coroutine, bytes) || python_is(object, python.type_generator, bytes);
}

/* A name is a str, or from 3.13 on the number of a task that nobody has named. */
static bool is_name(uintptr_t object)
{
	return python_is(object, python.type_text, python.at.text_ascii) || type_is(object, 32, "int");
}

static uint32_t learn_offset(uintptr_t task)
{
	uint32_t offset = atomic_load_explicit(&coroutine_offset, memory_order_relaxed);
	if (offset)
		return offset;
	for (offset = COROUTINE_FIRST; offset <= COROUTINE_LAST; offset += sizeof(uintptr_t))
		if (is_coroutine(python_word(task + offset)) &&
		    is_name(python_word(task + offset + sizeof(uintptr_t)))) {
			atomic_store_explicit(&coroutine_offset, offset, memory_order_relaxed);
			return offset;
		}
	return 0;
}

static bool is_task(uintptr_t object)
{
	size_t bytes = COROUTINE_LAST + 2 * sizeof(uintptr_t);
	uintptr_t known = atomic_load_explicit(&task_type, memory_order_relaxed);
	if (known && python_is(object, known, bytes))
		return true;
	if (!type_is(object, bytes, "_asyncio.Task"))
		return false;
	atomic_store_explicit(&task_type, python_word(object + python.at.object_type), memory_order_relaxed);
	return true;
}

static uintptr_t coroutine_frame(uintptr_t coroutine)
{
	if (!is_coroutine(coroutine))
		return 0;
	uintptr_t frame = coroutine + python.at.generator_frame;
	return python.at.minor < 11 ? python_word(frame) : frame;
}

/* In the state itself from 3.13 on, before in its dict. 0: none runs. */
static uintptr_t running_loop(uintptr_t state)
{
	if (python.at.state_loop)
		return python_follow(state + python.at.state_loop);
	uintptr_t dict = python.at.state_dict ? python_follow(state + python.at.state_dict) : 0;
	return dict ? dict_get(dict, "__asyncio_running_event_loop__", 0) : 0;
}

void python_task_find(struct agent_thread *thread, uintptr_t state, struct python_task *task)
{
	uintptr_t loop = running_loop(state), tasks = loop ? find_tasks_dict(state) : 0;
	if (!tasks)
		return;
	/* Up to 3.11 the loop stands in a holder, with the process that it is of. */
	uintptr_t object = dict_get(tasks, NULL, loop);
	if (!object)
		object = dict_get(tasks, NULL, python_follow(loop + python.at.object_type + sizeof(uintptr_t)));
	if (!object || !is_task(object))
		return;
	uint32_t offset = learn_offset(object);
	if (!offset)
		return;
	task->object = object;
	task->frame = coroutine_frame(python_word(object + offset));
	uintptr_t name = python_word(object + offset + sizeof(uintptr_t));
	if (is_name(name))
		task->record = python_task_name(thread, object, name);
}

/* The task that a wake-up belongs to: the second or first field of the callback; 0: it is no wake-up. */
static uintptr_t woken_task(uintptr_t callback)
{
	uintptr_t first = callback + python.at.object_type + sizeof(uintptr_t);
	for (unsigned i = 2; i-- > 0;) {
		uintptr_t object = python_follow(first + i * sizeof(uintptr_t));
		if (object && is_task(object))
			return object;
	}
	return 0;
}

/* A future's first callback; its second field. */
static uintptr_t first_callback(uintptr_t future)
{
	return python_follow(future + python.at.object_type + 2 * sizeof(uintptr_t));
}

static uintptr_t task_behind_future(uintptr_t object)
{
	const char *name = type_name(object, COROUTINE_FIRST);
	if (strncmp(name, "_GatheringFuture", NAME_MOST) != 0 && strncmp(name, "_asyncio.Future", NAME_MOST) != 0)
		return 0;
	return woken_task(first_callback(object));
}

/* gather() and wait(): a closure over the future that the waiting task awaits. wait_for() up to 3.11: that future is an argument
 * of a partial. Either way it is in a tuple, of cells or as it is. */
static uintptr_t task_behind_callback(uintptr_t callback)
{
	size_t head = python.at.object_type + sizeof(uintptr_t), tuple_head = head + sizeof(uintptr_t);
	uintptr_t tuple = 0;
	bool cells = type_is(callback, python.at.function_closure + sizeof(uintptr_t), "function");
	if (cells)
		tuple = python_word(callback + python.at.function_closure);
	else if (type_is(callback, head + 2 * sizeof(uintptr_t), "functools.partial"))
		tuple = python_word(callback + head + sizeof(uintptr_t));
	if (!python_readable(tuple, tuple_head))
		return 0;
	size_t count = python_word(tuple + head);
	if (count > TUPLE_MOST || !python_span(tuple + tuple_head, count * sizeof(uintptr_t)))
		return 0;
	for (size_t i = 0; i < count; i++) {
		uintptr_t object = python_word(tuple + tuple_head + i * sizeof(uintptr_t));
		uintptr_t task = task_behind_future(cells ? python_follow(object + head) : object);
		if (task)
			return task;
	}
	return 0;
}

static uintptr_t awaiting_task(uintptr_t task)
{
	uintptr_t callback = first_callback(task);
	if (!callback)
		return 0;
	uintptr_t waits = woken_task(callback);
	return waits ? waits : task_behind_callback(callback);
}

/* What a suspended coroutine awaits lies on top of its value stack. */
static uintptr_t awaited(uintptr_t frame)
{
	uintptr_t at;
	if (!python_readable(frame, python.at.frame_size) || !python.at.frame_top)
		return 0;
	if (python.at.minor < 10) {
		at = python_word(frame + python.at.frame_top);
	} else {
		int32_t depth = python_int(frame + python.at.frame_top);
		uintptr_t base = frame + python.at.frame_locals;
		if (depth <= 0 || depth > 4096)
			return 0;
		at = (python.at.minor < 11 ? python_word(base) : base) + (uintptr_t)depth * sizeof(uintptr_t);
	}
	uintptr_t object = at ? python_follow(at - sizeof(uintptr_t)) : 0;
	if (object && type_is(object, 24, "coroutine_wrapper"))
		return python_follow(object + python.at.object_type + sizeof(uintptr_t));
	return object;
}

/* Appends the frames of a suspended coroutine and of those that it awaits, innermost first. */
static unsigned push_suspended(struct agent_thread *thread, uintptr_t coroutine, unsigned count)
{
	uintptr_t frames[AWAIT_DEPTH];
	unsigned depth = 0;
	for (; depth < AWAIT_DEPTH; depth++) {
		uintptr_t frame = coroutine_frame(coroutine);
		if (!frame)
			break;
		frames[depth] = frame;
		coroutine = awaited(frame);
	}
	while (depth-- && count < WIRE_STACK_MAX) {
		struct python_frame *out = &thread->python[count];
		if (!python_frame_read(thread, frames[depth], out) || out->code == PYTHON_SHIM)
			break;
		out->awaits = true;
		count++;
	}
	return count;
}

unsigned python_task_awaiters(struct agent_thread *thread, const struct python_task *task, unsigned count)
{
	uint32_t offset = atomic_load_explicit(&coroutine_offset, memory_order_relaxed);
	uintptr_t object = offset ? awaiting_task(task->object) : 0;
	for (unsigned i = 0; object && i < AWAIT_TASKS && object != task->object; i++) {
		count = push_suspended(thread, python_word(object + offset), count);
		object = awaiting_task(object);
	}
	return count;
}
