/* TCP connections of this machine, for the programs that have rows over them. */
#ifndef CONNECTION_H
#define CONNECTION_H

#include "measure.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

/* A socket of a type, bound to a port of 127.0.0.1, and its address. */
__attribute__((unused)) static int bound(int type, struct sockaddr_in *address) {
    int end = (int)must(socket(AF_INET, type, 0), "socket");
    socklen_t length = sizeof *address;
    memset(address, 0, length);
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    must(bind(end, (struct sockaddr *)address, length), "bind");
    must(getsockname(end, (struct sockaddr *)address, &length), "getsockname");
    return end;
}

__attribute__((unused)) static int listening(struct sockaddr_in *address, int backlog) {
    int listener = bound(SOCK_STREAM, address);
    must(listen(listener, backlog), "listen");
    return listener;
}

__attribute__((unused)) static void connect_tcp(int ends[2]) {
    struct sockaddr_in address;
    int listener = listening(&address, 1);
    ends[0] = (int)must(socket(AF_INET, SOCK_STREAM, 0), "socket");
    must(connect(ends[0], (struct sockaddr *)&address, sizeof address), "connect");
    ends[1] = (int)must(accept(listener, NULL, NULL), "accept");
    close(listener);
}

/* Makes writes be sent at once. */
__attribute__((unused)) static void connect_tcp_nodelay(int ends[2]) {
    int on = 1;
    connect_tcp(ends);
    for (int end = 0; end < 2; end++) {
        must(setsockopt(ends[end], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "TCP_NODELAY");
    }
}

#endif
