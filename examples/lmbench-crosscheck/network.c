/* Rows between two processes: round trips, RPC, connections. */
#include "connection.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* --- Round trips of `first` bytes --- */

static int to_other, from_other;

/* The other process sends the received bytes back. */
static void serve_socket(int ends[2], long bytes) {
    to_other = ends[0];
    if (fork_helper(1) != 0) {
        close(ends[1]);
        return;
    }
    char message[16];
    while (recv(ends[1], message, (size_t)bytes, 0) == bytes) {
        ensure(send(ends[1], message, (size_t)bytes, MSG_NOSIGNAL) == bytes, "send");
    }
    _exit(0);
}

static void serve_pipe(const struct row *row) {
    int there[2], back[2];
    must(pipe(there), "pipe");
    must(pipe(back), "pipe");
    to_other = there[1];
    from_other = back[0];
    if (fork_helper(1) != 0) {
        close(there[0]);
        close(back[1]);
        return;
    }
    char message[16];
    size_t bytes = (size_t)row->first;
    while (read(there[0], message, bytes) == row->first) ensure(write(back[1], message, bytes) == row->first, "write");
    _exit(0);
}

static void serve_unix(const struct row *row) {
    int ends[2];
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
    serve_socket(ends, row->first);
}

static void serve_tcp(const struct row *row) {
    int ends[2];
    connect_tcp_nodelay(ends);
    serve_socket(ends, row->first);
}

static void serve_udp(const struct row *row) {
    struct sockaddr_in near, far;
    int ends[2] = {bound(SOCK_DGRAM, &near), bound(SOCK_DGRAM, &far)};
    must(connect(ends[0], (struct sockaddr *)&far, sizeof far), "connect");
    must(connect(ends[1], (struct sockaddr *)&near, sizeof near), "connect");
    serve_socket(ends, row->first);
}

static void round_trip(const struct row *row, long operations) {
    char message[16] = {0};
    size_t bytes = (size_t)row->first;
    while (operations--) {
        ensure(write(to_other, message, bytes) == row->first, "write");
        ensure(read(from_other, message, bytes) == row->first, "read");
    }
}

static void round_trip_socket(const struct row *row, long operations) {
    char message[16] = {0};
    size_t bytes = (size_t)row->first;
    while (operations--) {
        ensure(send(to_other, message, bytes, MSG_NOSIGNAL) == row->first, "send");
        ensure(recv(to_other, message, bytes, 0) == row->first, "recv");
    }
}

/* --- Null calls of a Sun RPC service (RFC 5531, sections 9 and 11) --- */

enum { CALL_WORDS = 10, REPLY_WORDS = 6, RPC_WORDS = 32 };
static const uint32_t program = 0x40006877;
static uint32_t xid;
static struct sockaddr_in service_address;

/* The call without its mark: number, call, version 2, program, its version, procedure, no credentials, no verifier. */
static void write_call(uint32_t *words) {
    const uint32_t call[CALL_WORDS] = {++xid, 0, 2, program, 1, 0, 0, 0, 0, 0};
    for (int word = 0; word < CALL_WORDS; word++) words[word] = htonl(call[word]);
}

/* The reply to it: number, reply, accepted, no verifier, and the service's status. */
static void write_reply(const uint32_t *call, uint32_t *words) {
    uint32_t status = 0;
    ensure(ntohl(call[1]) == 0 && ntohl(call[2]) == 2, "not a call");
    if (ntohl(call[3]) != program) status = 1;
    else if (ntohl(call[4]) != 1) status = 2;
    else if (ntohl(call[5]) != 0) status = 3;
    const uint32_t reply[REPLY_WORDS] = {ntohl(call[0]), 1, 0, 0, 0, status};
    for (int word = 0; word < REPLY_WORDS; word++) words[word] = htonl(reply[word]);
}

static void accept_reply(const uint32_t *words) {
    ensure(ntohl(words[0]) == xid && ntohl(words[1]) == 1 && words[2] == 0 && words[5] == 0, "not its reply");
}

static void serve_rpc_udp(const struct row *row) {
    (void)row;
    struct sockaddr_in own_address;
    int service = bound(SOCK_DGRAM, &service_address);
    to_other = bound(SOCK_DGRAM, &own_address);
    if (fork_helper(1) != 0) {
        close(service);
        return;
    }
    uint32_t call[RPC_WORDS], reply[RPC_WORDS];
    for (;;) {
        struct sockaddr_in caller;
        socklen_t length = sizeof caller;
        ssize_t got = recvfrom(service, call, sizeof call, 0, (struct sockaddr *)&caller, &length);
        ensure(got == CALL_WORDS * 4, "no call");
        write_reply(call, reply);
        must(sendto(service, reply, REPLY_WORDS * 4, 0, (struct sockaddr *)&caller, length), "sendto");
    }
}

static void call_udp(const struct row *row, long operations) {
    (void)row;
    uint32_t words[RPC_WORDS];
    while (operations--) {
        struct sockaddr_in from;
        socklen_t length = sizeof from;
        write_call(words);
        struct sockaddr *to = (struct sockaddr *)&service_address;
        must(sendto(to_other, words, CALL_WORDS * 4, 0, to, sizeof service_address), "sendto");
        ssize_t got = recvfrom(to_other, words, sizeof words, 0, (struct sockaddr *)&from, &length);
        ensure(got == REPLY_WORDS * 4, "no reply");
        accept_reply(words);
    }
}

/* A message behind its mark, which marks it as the last fragment and gives its length. */
static void receive_record(int from, uint32_t *words) {
    size_t filled = 0, wanted = 4;
    while (filled < wanted) {
        ssize_t got = recv(from, (char *)words + filled, RPC_WORDS * 4 - filled, 0);
        if (got == 0) _exit(0);
        filled += (size_t)must(got, "recv");
        if (filled >= 4) {
            ensure(ntohl(words[0]) >> 31, "a fragment");
            wanted = 4 + (ntohl(words[0]) & 0x7fffffff);
            ensure(wanted <= RPC_WORDS * 4, "too long");
        }
    }
}

static void send_record(int to, uint32_t *words, int count) {
    words[0] = htonl(0x80000000u | (uint32_t)count * 4);
    ensure(send(to, words, (size_t)count * 4 + 4, MSG_NOSIGNAL) == count * 4 + 4, "send");
}

static void serve_rpc_tcp(const struct row *row) {
    (void)row;
    int ends[2];
    connect_tcp_nodelay(ends);
    to_other = ends[0];
    if (fork_helper(1) != 0) {
        close(ends[1]);
        return;
    }
    close(ends[0]);
    uint32_t call[RPC_WORDS], reply[RPC_WORDS];
    for (;;) {
        receive_record(ends[1], call);
        write_reply(call + 1, reply + 1);
        send_record(ends[1], reply, REPLY_WORDS);
    }
}

static void call_tcp(const struct row *row, long operations) {
    (void)row;
    uint32_t words[RPC_WORDS];
    while (operations--) {
        write_call(words + 1);
        send_record(to_other, words, CALL_WORDS);
        receive_record(to_other, words);
        accept_reply(words + 1);
    }
}

/* --- Connections --- */

enum { WAITING_MAX = 100 };
static volatile long *ended;
static long made;

static void serve_connections(const struct row *row) {
    (void)row;
    int listener = listening(&service_address, WAITING_MAX);
    ended = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ensure(ended != MAP_FAILED, "mmap");
    if (fork_helper(1) != 0) return;
    for (;;) {
        char rest[16];
        int connection = (int)must(accept(listener, NULL, NULL), "accept");
        while (recv(connection, rest, sizeof rest, 0) > 0) continue;
        close(connection);
        ++*ended;
    }
}

static void catch_up(const struct row *row, long operations) {
    (void)row, (void)operations;
    while (*ended < made) usleep(10);
}

static void connect_and_close(const struct row *row, long operations) {
    (void)row;
    made += operations;
    while (operations--) {
        int end = (int)must(socket(AF_INET, SOCK_STREAM, 0), "socket");
        must(connect(end, (struct sockaddr *)&service_address, sizeof service_address), "connect");
        close(end);
    }
}

/* --- Pages from an HTTP/1.0 server, a connection for each --- */

enum { PAGES = 14, HEADER = 138, MESSAGE_MAX = 1 << 16 };
static const int page_bytes[PAGES] = {16292, 3830, 752, 1322, 773, 596, 125, 125, 116, 270, 640, 4002, 10757, 248};
static char directory[] = "/tmp/lmbench-http-XXXXXX";
static char http_message[MESSAGE_MAX];

static int connected_socket(void) {
    int on = 1, end = (int)must(socket(AF_INET, SOCK_STREAM, 0), "socket");
    must(setsockopt(end, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), "SO_REUSEADDR");
    must(connect(end, (struct sockaddr *)&service_address, sizeof service_address), "connect");
    return end;
}

static void send_all(int to, const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t sent = must(send(to, bytes, count, MSG_NOSIGNAL), "send");
        bytes += sent;
        count -= (size_t)sent;
    }
}

static void serve_page(int connection, const char *header) {
    char name[32];
    int on = 1, page;
    must(setsockopt(connection, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), "SO_REUSEADDR");
    ssize_t count = must(recv(connection, http_message, MESSAGE_MAX - 1, 0), "recv");
    http_message[count] = 0;
    if (sscanf(http_message, "GET /page-%d HTTP/1.0", &page) != 1) return;
    snprintf(name, sizeof name, "page-%02d", page);
    int file = (int)must(open(name, O_RDONLY), "open");
    struct stat status;
    must(fstat(file, &status), "fstat");
    send_all(connection, header, HEADER);
    while ((count = must(read(file, http_message, MESSAGE_MAX), "read")) > 0) {
        send_all(connection, http_message, (size_t)count);
    }
    close(file);
}

static void serve_http(const struct row *row) {
    (void)row;
    ensure(mkdtemp(directory) != NULL, "mkdtemp");
    must(chdir(directory), "chdir");
    for (int page = 0; page < PAGES; page++) {
        char name[32];
        snprintf(name, sizeof name, "page-%02d", page);
        int file = (int)must(open(name, O_WRONLY | O_CREAT, 0600), "open");
        ensure(write(file, http_message, (size_t)page_bytes[page]) == page_bytes[page], "write");
        close(file);
    }
    int listener = listening(&service_address, WAITING_MAX);
    if (fork_helper(1) != 0) return;
    char header[HEADER + 1];
    snprintf(header, sizeof header, "HTTP/1.0 200 OK\r\nServer: %-109s\r\n\r\n", "plain");
    ensure(strlen(header) == HEADER, "header");
    for (;;) {
        int connection = (int)must(accept(listener, NULL, NULL), "accept");
        serve_page(connection, header);
        close(connection);
    }
}

static void fetch_pages(const struct row *row, long operations) {
    (void)row;
    while (operations--) {
        for (int page = 0; page < PAGES; page++) {
            char request[64];
            int length = snprintf(request, sizeof request, "GET /page-%02d HTTP/1.0\r\n\r\n", page);
            int end = connected_socket();
            send_all(end, request, (size_t)length);
            ssize_t total = 0, count;
            while ((count = must(recv(end, http_message + total, (size_t)(MESSAGE_MAX - total), 0), "recv")) > 0) {
                total += count;
            }
            ensure(total == HEADER + page_bytes[page], "page");
            close(end);
        }
    }
}

static void remove_pages(const struct row *row) {
    (void)row;
    for (int page = 0; page < PAGES; page++) {
        char name[32];
        snprintf(name, sizeof name, "page-%02d", page);
        unlink(name);
    }
    rmdir(directory);
}

/* --- The rows --- */

#define US .unit = "us"
#define NS .unit = "ns"

static const struct row rows[] = {
    {"pipe", NS, .first = 1, .prepare = serve_pipe, .run = round_trip},
    {"unix-stream", NS, .first = 1, .prepare = serve_unix, .run = round_trip_socket},
    {"udp", NS, .first = 4, .prepare = serve_udp, .run = round_trip_socket},
    {"tcp", NS, .first = 1, .prepare = serve_tcp, .run = round_trip_socket},
    {"rpc-udp", US, .prepare = serve_rpc_udp, .run = call_udp},
    {"rpc-tcp", US, .prepare = serve_rpc_tcp, .run = call_tcp},
    {"tcp-connect", US, .prepare = serve_connections, .run = connect_and_close, .piece_max = WAITING_MAX,
     .tidy = catch_up},
    {"http", "MB/s", .quantity = 41780, .prepare = serve_http, .run = fetch_pages, .clean = remove_pages},
};

int main(int count, char **words) { return measure_main(count, words, rows, sizeof rows / sizeof rows[0]); }
