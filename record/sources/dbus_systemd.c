/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What libdbus asks of libsystemd where it is linked statically: whether this is a service that was
 * given sockets to listen on. It is not, and there is no static libsystemd to say so. */

int sd_listen_fds(int unset_environment);
int sd_is_socket(int fd, int family, int type, int listening);

int sd_listen_fds(int unset_environment)
{
	(void)unset_environment;
	return 0;
}

int sd_is_socket(int fd, int family, int type, int listening)
{
	(void)fd;
	(void)family;
	(void)type;
	(void)listening;
	return 0;
}
