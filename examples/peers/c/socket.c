/* Connected sockets of all families: what is used by send and recv. */
#include "kernel.h"
#include "udp.h"
#include <netinet/tcp.h>

/* What the kernel takes from the send buffer of a Unix socket beside a message. */
enum { OVERHEAD_BYTES = 32 };

static int transport_send(const unsigned char *message, size_t size)
{
    while (size > 0) {
        ssize_t count = send(own.out, message, size, MSG_NOSIGNAL);
        if (count < 0) {
            if (errno == EINTR)
                continue;
            return kernel_fail("send");
        }
        message += count;
        size -= (size_t)count;
    }
    return PEER_OK;
}

static int transport_receive(unsigned char *buffer, size_t size)
{
    while (size > 0) {
        ssize_t count = recv(own.in, buffer, size, 0);
        if (count < 0) {
            if (errno == EINTR)
                continue;
            return kernel_fail("recv");
        }
        if (count == 0)
            return peer_fail("the other end is gone");
        buffer += count;
        size -= (size_t)count;
    }
    return PEER_OK;
}

static int of_sockets(int sender, int receiver, struct end ends[2])
{
    ends[SENDER].out = ends[SENDER].in = sender;
    ends[RECEIVER].out = ends[RECEIVER].in = receiver;
    return PEER_OK;
}

/* Makes the send buffer large enough for a message; otherwise it keeps the machine's default. */
static int make_room(int socket, size_t size)
{
    int bytes, needed = (int)size + OVERHEAD_BYTES;
    socklen_t length = sizeof bytes;
    if (getsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, &length) != 0)
        return kernel_fail("getsockopt SO_SNDBUF");
    if (bytes >= needed)
        return PEER_OK;
    if (setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &needed, sizeof needed) != 0 ||
        getsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, &length) != 0 || bytes < needed)
        return peer_fail("a message of %zu B needs a send buffer of %d B; see net.core.wmem_max", size, needed);
    return PEER_OK;
}

static int open_unix(const struct mechanism *m, const struct opening *opening, struct end ends[2])
{
    bool stream = strcmp(m->name, "unix-stream") == 0;
    int type = stream ? SOCK_STREAM : strcmp(m->name, "unix-dgram") == 0 ? SOCK_DGRAM : SOCK_SEQPACKET;
    int both[2];
    if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, both) != 0)
        return kernel_fail("socketpair");
    if (!stream && (make_room(both[0], opening->size) != PEER_OK ||
                    (opening->duplex && make_room(both[1], opening->size) != PEER_OK)))
        return PEER_ERROR;
    return of_sockets(both[0], both[1], ends);
}

static int open_tcp(const struct mechanism *m, const struct opening *opening, struct end ends[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int sender = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)opening;
    if (listener < 0 || sender < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, 1) != 0 || getsockname(listener, (struct sockaddr *)&address, &length) != 0 ||
        connect(sender, (struct sockaddr *)&address, sizeof address) != 0)
        return kernel_fail("connect to 127.0.0.1");
    int receiver = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (receiver < 0)
        return kernel_fail("accept");
    close(listener);
    if (strcmp(m->name, "tcp") == 0) {
        const int on = 1;
        if (setsockopt(sender, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 ||
            setsockopt(receiver, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
            return kernel_fail("setsockopt TCP_NODELAY");
    }
    return of_sockets(sender, receiver, ends);
}

static int open_udp(const struct mechanism *m, const struct opening *opening, struct end ends[2])
{
    (void)m;
    if (udp_open(opening, ends) != PEER_OK)
        return PEER_ERROR;
    for (int i = 0; i < 2; i++) {
        if (connect(ends[i].out, (struct sockaddr *)&ends[i].peer, sizeof ends[i].peer) != 0)
            return kernel_fail("connect");
    }
    return PEER_OK;
}

#define SLEEPS "sleeps in recv and send"

int main(int argc, char **argv)
{
    static const struct mechanism mechanisms[] = {
        {"unix-stream", "Unix stream socket pair from a plain C loop", SLEEPS, 0, false, open_unix},
        {"unix-dgram", "Unix datagram socket pair from a plain C loop", SLEEPS, 0, false, open_unix},
        {"unix-seqpacket", "Unix sequenced-packet socket pair from a plain C loop", SLEEPS, 0, false, open_unix},
        {"tcp", "TCP over loopback with TCP_NODELAY from a plain C loop", SLEEPS, 0, false, open_tcp},
        {"tcp-nagle", "TCP over loopback without TCP_NODELAY from a plain C loop", SLEEPS, 0, false, open_tcp},
        {"udp", "UDP over loopback from a plain C loop", SLEEPS, UDP_SIZE_MAX, true, open_udp},
    };
    return kernel_main(argc, argv, mechanisms, sizeof mechanisms / sizeof mechanisms[0]);
}
