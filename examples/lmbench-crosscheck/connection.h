/* TCP connections of this machine, for the programs that have rows over them. */
#ifndef CONNECTION_H
#define CONNECTION_H

#include "measure.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

/* A socket that listens on a port of 127.0.0.1, and its address. */
__attribute__((unused)) static int listening(struct sockaddr_in *address, int backlog) {
    int listener = (int)must(socket(AF_INET, SOCK_STREAM, 0), "socket");
    socklen_t length = sizeof *address;
    memset(address, 0, length);
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    must(bind(listener, (struct sockaddr *)address, length), "bind");
    must(listen(listener, backlog), "listen");
    must(getsockname(listener, (struct sockaddr *)address, &length), "getsockname");
    return listener;
}

__attribute__((unused)) static void connect_tcp(int ends[2]) {
    struct sockaddr_in address;
    int listener = listening(&address, 1), on = 1;
    ends[0] = (int)must(socket(AF_INET, SOCK_STREAM, 0), "socket");
    must(connect(ends[0], (struct sockaddr *)&address, sizeof address), "connect");
    ends[1] = (int)must(accept(listener, NULL, NULL), "accept");
    close(listener);
    for (int end = 0; end < 2; end++) {
        must(setsockopt(ends[end], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "TCP_NODELAY");
    }
}

#endif
