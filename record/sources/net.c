/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source `net`: TCP connections, what processes send and receive, packets of devices. Its worker
 * goes through the open sockets of recorded processes when recording begins, and again at each
 * epoch.
 */
#include <bpf/bpf.h>
#include <stdio.h>

#include "record/config/skeleton.h"
#include "record/config/source.h"

static bool has_files(const struct kernel *kernel)
{
	return kernel_has_function(kernel, "bpf_sock_from_file");
}

static void probe(const struct kernel *kernel, struct source_state *state)
{
	if (state->status != EBT_V_source_status_unavailable &&
	    !kernel_has_function(kernel, "bpf_sk_storage_get_tracing")) {
		state->status = EBT_V_source_status_unavailable;
		snprintf(state->detail, sizeof(state->detail),
			 "programs of this kernel cannot keep anything with a socket (before Linux "
			 "5.11)");
	}
}

static void configure(struct source_context *context)
{
	struct ebrec_bpf *skel = context->skel;

	/* Where sock_recv_length is, it tells the same and more. */
	if (kernel_has_tracepoint(context->kernel, "sock_recv_length"))
		bpf_program__set_autoload(skel->progs.ebrec_net_read, false);
	bpf_program__set_autoload(skel->progs.ebrec_net_sockets, has_files(context->kernel));
}

static struct ebt_error *open_worker(const struct source_context *context,
				     struct source_state *state, void *worker)
{
	*(const struct ebrec_bpf **)worker = context->skel;
	if (has_files(context->kernel) || state->status != EBT_V_source_status_on)
		return NULL;
	state->status = EBT_V_source_status_partial;
	snprintf(state->detail, sizeof(state->detail),
		 "sockets that are there already have an owner once they are used");
	return NULL;
}

/* Whose the sockets are that are open. */
static struct ebt_error *note_sockets(const struct ebrec_bpf *skel)
{
	return iterator_run(skel->progs.ebrec_net_sockets, "the open files");
}

/* The next packet of each device writes its name again. */
static void forget_devices(const struct ebrec_bpf *skel)
{
	int fd = bpf_map__fd(skel->maps.net_devices);
	uint64_t key;

	for (uint32_t i = 0; i < bpf_map__max_entries(skel->maps.net_devices); i++) {
		if (bpf_map_get_next_key(fd, NULL, &key) || bpf_map_delete_elem(fd, &key))
			break;
	}
}

static struct ebt_error *work(void *worker, struct ebt_stream *stream, enum source_moment moment)
{
	const struct ebrec_bpf *skel = *(const struct ebrec_bpf **)worker;

	(void)stream; /* the programs write the rows */
	if (moment != SOURCE_EPOCH)
		return NULL;
	forget_devices(skel);
	return note_sockets(skel);
}

/* Whoever is to be recorded is known by now. */
static struct ebt_error *attach(struct source_context *context, struct source_state *state)
{
	(void)state;
	return note_sockets(context->skel);
}

static const struct source_worker worker = {
	.size = sizeof(struct ebrec_bpf *),
	.open = open_worker,
	.work = work,
};

const struct ebrec_source source_net = {
	.name = "net",
	.doc = "TCP connections, what processes send and receive, packets and their queue times",
	.elsewhere = "network tcp sockets",
	.cost = "about 1 us for each packet that is sent, 0.5 us for each that is received, 0.3 us "
		"for each send or receive; 2 bytes in the file",
	.tables = (const uint16_t[]){ EBT_T_net_device, EBT_T_net_connection, EBT_T_net_state,
				      EBT_T_net_end, EBT_T_net_transfer, EBT_T_net_packet,
				      EBT_T_net_retransmit, EBT_T_net_reset, 0 },
	.needs = (const char *const[]){ "inet_sock_set_state", NULL },
	.wants = (const struct source_want[]){ { "sock_send_length",
						 "bytes of a process before a connection ends" },
					       { "net_dev_queue", "queue times of packets" },
					       { "net_dev_start_xmit", "queue times of packets" },
					       { "net_dev_xmit", "packets that are sent" },
					       { "netif_receive_skb", "packets that are received" },
					       { "tcp_retransmit_skb", "retransmits" },
					       { "tcp_send_reset", "resets" },
					       { NULL } },
	.programs = (const char *const[]){ "ebrec_net_", NULL },
	.maps = (const char *const[]){ "net_", NULL },
	.probe = probe,
	.configure = configure,
	.attach = attach,
	.worker = &worker,
};
