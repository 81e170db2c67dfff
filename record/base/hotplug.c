/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The list of /sys says who is online, and messages of the kernel who was not for a moment. Where
 * nobody may listen to these, or too many came, the list has to do.
 */
#include "record/base/hotplug.h"

#include <errno.h>
#include <limits.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "record/base/topology.h"

/* Of a message: UEVENT_BUFFER_SIZE of the kernel, and its first line. */
#define MESSAGE_SIZE 8192

#define KERNEL_GROUP 1 /* udev sends to the other one */

struct hotplug {
	int fd; /* -1: nobody may listen */
	uint32_t n_cpus;
	bool *online; /* as of the last look, by CPU */
	bool *came;   /* since then */
};

static int listen_to_kernel(void)
{
	const struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = KERNEL_GROUP };
	_cleanup_close_ int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
					NETLINK_KOBJECT_UEVENT);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)))
		return -1;
	return take_fd(&fd);
}

struct ebt_error *hotplug_create(uint32_t n_cpus, struct hotplug **ret)
{
	_cleanup_(hotplug_destroyp) struct hotplug *h = calloc(1, sizeof(*h));
	_cleanup_free_ int *cpus = NULL;
	struct ebt_error *err;
	size_t n;

	if (!h)
		return &ebt_enomem;
	h->n_cpus = n_cpus;
	h->online = calloc(n_cpus, sizeof(*h->online));
	h->came = calloc(n_cpus, sizeof(*h->came));
	h->fd = listen_to_kernel();
	if (!h->online || !h->came)
		return &ebt_enomem;
	err = hotplug_look(h, &cpus, &n);
	if (err)
		return err;
	*ret = take_ptr(h);
	return NULL;
}

void hotplug_destroy(struct hotplug *h)
{
	if (!h)
		return;
	if (h->fd >= 0)
		close(h->fd);
	free(h->online);
	free(h->came);
	free(h);
}

static bool skip(const char **at, const char *end, const char *word)
{
	const size_t len = strlen(word);

	if ((size_t)(end - *at) < len || memcmp(*at, word, len))
		return false;
	*at += len;
	return true;
}

int hotplug_parse(const char *message, size_t len, bool *ret_online)
{
	const char *at = message, *end = memchr(message, '\0', len);
	int cpu = 0;

	if (!end)
		return -1;
	*ret_online = skip(&at, end, "online@");
	if (!*ret_online && !skip(&at, end, "offline@"))
		return -1;
	if (!skip(&at, end, "/devices/system/cpu/cpu") || at == end)
		return -1;
	for (; at < end; at++) {
		if (*at < '0' || *at > '9' || cpu > (INT_MAX - 9) / 10)
			return -1;
		cpu = cpu * 10 + (*at - '0');
	}
	return cpu;
}

static void read_messages(struct hotplug *h)
{
	struct sockaddr_nl from = { 0 };
	char message[MESSAGE_SIZE];
	socklen_t from_len = sizeof(from);
	ssize_t len;

	while ((len = recvfrom(h->fd, message, sizeof(message), 0, (struct sockaddr *)&from,
			       &from_len)) >= 0 ||
	       errno == ENOBUFS || errno == EINTR) {
		bool online;
		int cpu =
			len < 0 || from.nl_pid ? -1 : hotplug_parse(message, (size_t)len, &online);

		if (cpu >= 0 && (uint32_t)cpu < h->n_cpus)
			h->came[cpu] |= online;
		from_len = sizeof(from);
	}
}

struct ebt_error *hotplug_look(struct hotplug *h, int **ret, size_t *ret_n)
{
	_cleanup_free_ int *cpus = NULL;
	_cleanup_free_ bool *online = calloc(h->n_cpus, sizeof(*online));
	struct ebt_error *err;
	size_t n = 0, n_came = 0;

	if (!online)
		return &ebt_enomem;
	if (h->fd >= 0)
		read_messages(h);
	err = cpus_online(&cpus, &n);
	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		const int cpu = cpus[i];

		if ((uint32_t)cpu >= h->n_cpus)
			continue;
		online[cpu] = true;
		if (h->came[cpu] || !h->online[cpu])
			cpus[n_came++] = cpu;
	}
	memset(h->came, 0, h->n_cpus * sizeof(*h->came));
	free(h->online);
	h->online = take_ptr(online);
	*ret = take_ptr(cpus);
	*ret_n = n_came;
	return NULL;
}
