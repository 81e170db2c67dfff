/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/calls/object.h"

bool call_path_add(const struct calls *calls, const struct call *call,
		   const struct call_signature *signature, unsigned int i, struct text *text)
{
	const struct call_text *said = &call->texts[i];
	int32_t folder = FDS_CWD;
	const struct fd_file *fd;

	if (!said->there || said->unreadable)
		return false;
	if (!said->bytes.len || said->bytes.data[0] != '/') {
		if (i && signature->args[i - 1] == KIND_dirfd)
			folder = (int32_t)call->args[i - 1];
		fd = call_fd_file(calls, call, folder, false);
		if (fd)
			calls_file_name_add(calls, fd, call->entry, text);
		if (fd && said->bytes.len && text_get(text)[text->len - 1] != '/')
			text_addc(text, '/');
	}
	text_add(text, said->bytes.data, said->bytes.len);
	return true;
}

static bool add_file(const struct calls *calls, const struct call *call,
		     const struct call_signature *signature, struct text *text)
{
	const struct fd_file *file = NULL;
	bool made = false;

	for (unsigned int i = 0; !file && i < SYSCALL_MAX_ARGS; i++) {
		if (signature->args[i] == KIND_fd)
			file = call_fd_file(calls, call, (int32_t)call->args[i], false);
	}
	if (!file && signature->result == KIND_fd && call->result >= 0) {
		made = true;
		file = call_fd_file(calls, call, call->result, true);
	}
	/* Of one that began before the recording: as it was told last. */
	if (file)
		calls_file_name_add(calls, file,
				    made	   ? call->exit
				    : !call->entry ? UINT64_MAX
						   : call->entry,
				    text);
	return file;
}

void call_object_add(const struct calls *calls, const struct syscall_machine *machine,
		     const struct call *call, struct text *text)
{
	const struct call_view view = { .machine = machine,
					.compat = call->compat,
					.nr = call->nr };
	struct call_shown shown;

	call_show(&view, &shown);
	if (shown.signature) {
		if (add_file(calls, call, shown.signature, text))
			return;
		for (unsigned int i = 0; i < SYSCALL_MAX_ARGS; i++) {
			if (shown.signature->args[i] == KIND_path &&
			    call_path_add(calls, call, shown.signature, i, text))
				return;
		}
	}
	text_addc(text, '[');
	syscall_name_add(text, machine, call->compat, (uint32_t)call->nr);
	text_addc(text, ']');
}
