/* The kernel's mechanisms in plain C loops, to check Headwater's own rows: what all of them share. A program has several
 * mechanisms that move messages by the same calls. It measures in two ways:
 *
 *     c-socket tcp                          as an external transport (peer.h), timed by Headwater
 *     c-socket tcp --alone stream 64 0,1    alone, timed by its own clock (alone.h)
 *
 * Both use the same sockets, opened here with the options of Headwater's transport of that name.
 *
 * A program includes this file, defines transport_send and transport_receive over `own`, and returns
 * kernel_main(argc, argv, mechanisms, count) from main.
 */
#ifndef HEADWATER_KERNEL_H
#define HEADWATER_KERNEL_H

#define _GNU_SOURCE
#include "peer.h"
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>

/* One end. -1 stands for what it has not. */
struct end {
    int out, in;             /* the descriptors that it sends to and receives from; they may be the same */
    int namespace_of;        /* the IPC namespace that a process must enter to use the end */
    int queue_out, queue_in; /* identifiers of System V queues */
    struct sockaddr_in peer; /* the other end, for a socket that is not connected */
};

static const struct end NO_END = {.out = -1, .in = -1, .namespace_of = -1, .queue_out = -1, .queue_in = -1};

enum { SENDER, RECEIVER };

/* How both ends are opened. */
struct opening {
    size_t size;      /* bytes per message */
    bool duplex;      /* the receiver answers */
    const char *path; /* the beginning of names that do not exist; a name is removed before the opening ends */
};

struct mechanism {
    const char *name; /* that of Headwater's transport */
    const char *summary;
    const char *blocking;
    uint64_t size_max;
    bool loses; /* a sender does not wait for room, so that a stream loses messages */
    /* Opens the sender's and the receiver's end. Returns PEER_OK, or the result of peer_fail. */
    int (*open)(const struct mechanism *mechanism, const struct opening *opening, struct end ends[2]);
};

static const struct mechanism *mechanism;

/* The end of this process. */
static struct end own = {-1, -1, -1, -1, -1, {0}};

static int kernel_fail(const char *call) { return peer_fail("%s: %s", call, strerror(errno)); }

static void close_end(const struct end *end)
{
    const int descriptors[] = {end->out, end->in == end->out ? -1 : end->in, end->namespace_of};
    for (int i = 0; i < 3; i++) {
        if (descriptors[i] >= 0)
            close(descriptors[i]);
    }
}

/* As an external transport. The two ends are separate programs: the receiver opens both ends and hands the sender's over
 * through a Unix socket, with its descriptors (SCM_RIGHTS). The socket is closed before the first message. */

static struct sockaddr_un meeting = {.sun_family = AF_UNIX};
static int meeting_socket = -1;
static struct end other = {-1, -1, -1, -1, -1, {0}};

static int transport_prepare(const struct peer_order *order)
{
    char path[sizeof order->directory + sizeof order->token];
    snprintf(path, sizeof path, "%s/%s", order->directory, order->token);
    if ((size_t)snprintf(meeting.sun_path, sizeof meeting.sun_path, "%s.end", path) >= sizeof meeting.sun_path)
        return peer_fail("%s.end is longer than the path of a socket", path);
    meeting_socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (meeting_socket < 0)
        return kernel_fail("socket");
    if (order->receiver) {
        const struct opening opening = {order->size, order->rtt, path};
        struct end ends[2] = {NO_END, NO_END};
        int answer = mechanism->open(mechanism, &opening, ends);
        if (answer != PEER_OK)
            return answer;
        own = ends[RECEIVER], other = ends[SENDER];
        if (bind(meeting_socket, (struct sockaddr *)&meeting, sizeof meeting) != 0 || listen(meeting_socket, 1) != 0)
            return kernel_fail(meeting.sun_path);
        return PEER_OK;
    }
    if (connect(meeting_socket, (struct sockaddr *)&meeting, sizeof meeting) != 0)
        return kernel_fail(meeting.sun_path);
    unlink(meeting.sun_path);
    return PEER_OK;
}

/* A message with an end and its descriptors. */
struct handover {
    struct end end;
    struct iovec bytes;
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(3 * sizeof(int))];
    } control;
    struct msghdr message;
};

static void prepare_handover(struct handover *handover)
{
    memset(handover, 0, sizeof *handover);
    handover->bytes = (struct iovec){&handover->end, sizeof handover->end};
    handover->message = (struct msghdr){.msg_iov = &handover->bytes,
                                        .msg_iovlen = 1,
                                        .msg_control = &handover->control,
                                        .msg_controllen = sizeof handover->control};
}

static int give_other(void)
{
    int sender = accept4(meeting_socket, NULL, NULL, SOCK_CLOEXEC), count = 0;
    int *const fields[] = {&other.out, &other.in, &other.namespace_of};
    int descriptors[3];
    struct handover handover;
    if (sender < 0)
        return kernel_fail("accept");
    prepare_handover(&handover);
    handover.end = other;
    for (int i = 0; i < 3; i++) {
        if (*fields[i] >= 0)
            descriptors[count++] = *fields[i];
    }
    handover.control.header = (struct cmsghdr){CMSG_LEN(count * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(&handover.control.header), descriptors, count * sizeof(int));
    handover.message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    if (sendmsg(sender, &handover.message, 0) != (ssize_t)sizeof handover.end)
        return kernel_fail("sendmsg");
    close(sender);
    /* Only now: a pipe whose last reader or writer is gone is closed for good. */
    close_end(&other);
    return PEER_OK;
}

static int take_own(void)
{
    struct handover handover;
    prepare_handover(&handover);
    if (recvmsg(meeting_socket, &handover.message, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof handover.end)
        return kernel_fail("recvmsg");
    own = handover.end;
    int *const fields[] = {&own.out, &own.in, &own.namespace_of};
    const unsigned char *descriptor = CMSG_DATA(&handover.control.header);
    for (int i = 0; i < 3; i++) {
        if (*fields[i] >= 0) {
            memcpy(fields[i], descriptor, sizeof(int));
            descriptor += sizeof(int);
        }
    }
    if (own.namespace_of >= 0 && setns(own.namespace_of, CLONE_NEWIPC) != 0)
        return kernel_fail("setns");
    return PEER_OK;
}

static int transport_connected(void)
{
    int answer = other.out >= 0 || other.namespace_of >= 0 ? give_other() : take_own();
    close(meeting_socket);
    return answer;
}

static void transport_remove(void)
{
    if (meeting.sun_path[0] != '\0')
        unlink(meeting.sun_path);
}

#include "alone.h"

static int kernel_main(int argc, char **argv, const struct mechanism *mechanisms, size_t count)
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < count; i++)
            puts(mechanisms[i].name);
        return 0;
    }
    mechanism = argc < 2 ? mechanisms : NULL;
    for (size_t i = 0; i < count && argc >= 2; i++) {
        if (strcmp(mechanisms[i].name, argv[1]) == 0)
            mechanism = &mechanisms[i];
    }
    if (mechanism == NULL) {
        fprintf(stderr, "%s: no mechanism %s; --list names them\n", argv[0], argv[1]);
        return 2;
    }
    if (argc > 2 && strcmp(argv[2], "--alone") == 0)
        return alone_main(argc - 3, argv + 3);

    char name[64];
    snprintf(name, sizeof name, "c-%s", mechanism->name);
    const struct peer_description description = {name, __VERSION__, mechanism->summary, mechanism->blocking,
                                                 mechanism->size_max};
    return peer_serve(&description);
}

#endif
