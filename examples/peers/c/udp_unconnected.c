/* UDP sockets that are not connected: every send names the receiver, every receive returns the sender's address. */
#include "kernel.h"
#include "udp.h"

static int transport_send(const unsigned char *message, size_t size)
{
    ssize_t count = sendto(own.out, message, size, MSG_NOSIGNAL, (struct sockaddr *)&own.peer, sizeof own.peer);
    return count == (ssize_t)size ? PEER_OK : kernel_fail("sendto");
}

static int transport_receive(unsigned char *buffer, size_t size)
{
    struct sockaddr_in from;
    socklen_t length = sizeof from;
    if (recvfrom(own.in, buffer, size, 0, (struct sockaddr *)&from, &length) != (ssize_t)size)
        return kernel_fail("recvfrom");
    if (from.sin_port != own.peer.sin_port || from.sin_addr.s_addr != own.peer.sin_addr.s_addr)
        return peer_fail("a message of another program came to this port");
    return PEER_OK;
}

static int open_udp(const struct mechanism *m, const struct opening *opening, struct end ends[2])
{
    (void)m;
    return udp_open(opening, ends);
}

int main(int argc, char **argv)
{
    static const struct mechanism mechanisms[] = {
        {"udp-unconnected", "UDP over loopback, not connected, from a plain C loop", "sleeps in recvfrom", UDP_SIZE_MAX,
         true, open_udp},
    };
    return kernel_main(argc, argv, mechanisms, 1);
}
