/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Children that answer; see worker.h. */
#include "report/serve/worker.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/base/cleanup.h"

/* The shadow memory of the address sanitizer is far beyond any limit. */
#if defined(__SANITIZE_ADDRESS__)
#define HAS_SHADOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_SHADOW 1
#endif
#endif
#ifndef HAS_SHADOW
#define HAS_SHADOW 0
#endif

static void limit(__rlimit_resource_t resource, uint64_t most)
{
	const struct rlimit limit = { most, most };

	setrlimit(resource, &limit);
}

/* The answer, or else the words of the error. */
static struct ebt_error *write_answer(int fd, const struct options *options,
				      const struct serve_question *question)
{
	_cleanup_fclose_ FILE *f = fdopen(fd, "w");
	struct ebt_error *err = f ? serve_answer(options, question, f) : &ebt_enomem;

	if (!err && (fflush(f) || ferror(f)))
		err = ebt_error_errno(errno, "cannot keep the answer");
	if (!err || !f)
		return err;
	fflush(f);
	if (!ftruncate(fd, 0) && !fseek(f, 0, SEEK_SET))
		fputs(err->message, f);
	return err;
}

static _Noreturn void work(int fd, pid_t parent, const struct options *options,
			   const struct serve_question *question, uint64_t memory)
{
	struct ebt_error *err;
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (!HAS_SHADOW)
		limit(RLIMIT_DATA, memory);
	limit(RLIMIT_CORE, 0);
	/* Connections end when the parent closes them, and not with this process. */
	if (fd > STDERR_FILENO + 1)
		close_range(STDERR_FILENO + 1, (unsigned int)fd - 1, 0);
	close_range((unsigned int)fd + 1, ~0u, 0);
	err = write_answer(fd, options, question);
	_exit(err ? WORKER_FAILED + (int)err->code : 0);
}

struct ebt_error *worker_start(struct serve_worker *worker, const struct options *options,
			       const struct serve_question *question, uint64_t memory)
{
	const pid_t parent = getpid();

	worker->answer = memfd_create("answer", MFD_CLOEXEC);
	if (worker->answer < 0)
		return ebt_error_errno(errno, "cannot make a file in memory");
	worker->pid = fork();
	if (worker->pid < 0) {
		const int errnum = errno;

		worker->pid = 0;
		close(worker->answer);
		return ebt_error_errno(errnum, "cannot start a process");
	}
	if (!worker->pid)
		work(worker->answer, parent, options, question, memory);
	return NULL;
}

void worker_kill(struct serve_worker *worker)
{
	if (!worker->pid)
		return;
	kill(worker->pid, SIGKILL);
	while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(worker->answer);
	worker->pid = 0;
}

struct ebt_error *worker_take(struct serve_worker *worker, int status, int *ret_file, int *ret_code)
{
	_cleanup_close_ int fd = worker->answer;
	const int left = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

	worker->pid = 0;
	if (left == 0) {
		*ret_code = 0;
	} else if (left > WORKER_FAILED && left <= WORKER_FAILED + EBT_ERR_CANCELLED) {
		*ret_code = left - WORKER_FAILED;
	} else {
		*ret_code = EBT_ERR_SYSTEM;
		if (ftruncate(fd, 0) ||
		    dprintf(fd, "the process that read the trace ended with %s %d",
			    WIFSIGNALED(status) ? "signal" : "status",
			    WIFSIGNALED(status) ? WTERMSIG(status) : left) < 0)
			return ebt_error_errno(errno, "cannot keep an answer");
	}
	*ret_file = take_fd(&fd);
	return NULL;
}
