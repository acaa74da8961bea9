/* Opens the two UDP sockets: bound to 127.0.0.1, with buffers of 131071 bytes as in Headwater's rows, not connected. */
#ifndef HEADWATER_UDP_H
#define HEADWATER_UDP_H

#include "kernel.h"

enum {
    UDP_BUFFER_BYTES = 131071,
    UDP_SIZE_MAX = 65507, /* 65535 minus the headers of IP and UDP */
};

static int udp_buffer(int socket, int option)
{
    int bytes = UDP_BUFFER_BYTES;
    socklen_t length = sizeof bytes;
    if (setsockopt(socket, SOL_SOCKET, option, &bytes, sizeof bytes) != 0 ||
        getsockopt(socket, SOL_SOCKET, option, &bytes, &length) != 0)
        return kernel_fail("setsockopt");
    return bytes >= 2 * UDP_BUFFER_BYTES ? PEER_OK : peer_fail("a buffer of %d B; see net.core.rmem_max and wmem_max", bytes / 2);
}

static int udp_open(const struct opening *opening, struct end ends[2])
{
    if (opening->size > UDP_SIZE_MAX)
        return peer_fail("a message holds at most %d B", UDP_SIZE_MAX);
    for (int i = 0; i < 2; i++) {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t length = sizeof address;
        int bound = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (bound < 0 || bind(bound, (struct sockaddr *)&address, sizeof address) != 0 ||
            getsockname(bound, (struct sockaddr *)&address, &length) != 0)
            return kernel_fail("bind to 127.0.0.1");
        if (udp_buffer(bound, SO_SNDBUF) != PEER_OK || udp_buffer(bound, SO_RCVBUF) != PEER_OK)
            return PEER_ERROR;
        ends[i].out = ends[i].in = bound;
        ends[1 - i].peer = address;
    }
    return PEER_OK;
}

#endif
