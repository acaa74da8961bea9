/* XTI over the transports of the internet: what they have and the loop-back transports do not. */
#include "transport.h"
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <xti_inet.h>

/* Names below /dev: /dev/udp is inet-udp. */
static const char *const transports[] = {"streams/udp", "streams/inet-udp", "streams/inet-tcp"};

/* An address, and its buffer. */
struct place {
    unsigned char bytes[128];
    unsigned len;
};

static struct netbuf at(struct place *place) {
    return (struct netbuf){.maxlen = sizeof place->bytes, .len = place->len, .buf = place->bytes};
}

/* Binds to any port of the host's own address. */
static void bind_own(int fd, int family, unsigned waiting, struct place *bound) {
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    struct t_bind request = {.qlen = waiting}, answer = {.addr = at(bound)};
    request.addr = family == AF_INET ? (struct netbuf){sizeof four, sizeof four, &four}
                                     : (struct netbuf){sizeof six, sizeof six, &six};
    NEEDS(t_bind(fd, &request, &answer) == 0, "t_bind succeeds");
    bound->len = answer.addr.len;
}

/* An option of a request, and the option of its answer. */
struct option {
    struct t_opthdr header;
    unsigned char value[1008];
};

/* Asks about one option. Returns the result for all options; the first option of the answer is stored in `seen`. */
static int option_of(int fd, int request, t_uscalar_t level, t_uscalar_t name, const void *value, unsigned len,
                     struct option *seen) {
    /* XNS 5.2 gives the status in a request no meaning. */
    struct option asked = {.header = {sizeof asked.header + len, level, name, 0xdead}};
    struct t_optmgmt question = {{sizeof asked, asked.header.len, &asked}, request}, answer = {{sizeof *seen, 0, seen}, 0};
    if (len)
        memcpy(asked.value, value, len);
    memset(seen, 0x5a, sizeof *seen);
    return t_optmgmt(fd, &question, &answer) == 0 ? answer.flags : -1;
}

static void options(void) {
    unsigned char seven = 7;
    struct option seen;
    struct place place;
    EXPECT(SET_TOS(T_IMMEDIATE, T_LOCOST), 0x42, "XNS 5.2, T_IP_TOS: precedence and type of service");
    for (size_t each = 0; each < COUNT(transports); each++) {
        in_context("%s", transports[each]);
        int fd = open_transport(transports[each], 0);
        EXPECT(option_of(fd, T_NEGOTIATE, INET_IP, T_IP_TTL, &seven, 1, &seen), T_SUCCESS, "XNS t_optmgmt: T_NEGOTIATE");
        bind_own(fd, AF_INET6, 0, &place);
        EXPECT(option_of(fd, T_CURRENT, INET_IP, T_IP_TTL, NULL, 0, &seen), T_SUCCESS, "XNS t_optmgmt: T_CURRENT");
        EXPECT(seen.value[0], 7, "inet(7): options that are set before a bind to IPv6");
        EXPECT(option_of(fd, T_NEGOTIATE, INET_IP, T_IP_OPTIONS, "\1\1\1", 4, &seen), T_NOTSUPPORT, "inet(7): IPv6");
        EXPECT(option_of(fd, T_NEGOTIATE, INET_IP, T_ALLOPT, NULL, 0, &seen) >= 0, 1, "XNS t_optmgmt: T_ALLOPT");
        EXPECT(option_of(fd, T_CURRENT, INET_IP, T_IP_TTL, NULL, 0, &seen), T_SUCCESS, "XNS t_optmgmt: T_CURRENT");
        EXPECT(seen.value[0], 64, "XNS t_optmgmt: T_ALLOPT negotiates the usual values");
        t_close(fd);
    }
    int fd = open_transport("streams/inet-tcp", 0), small = 1000;
    EXPECT(option_of(fd, T_NEGOTIATE, INET_TCP, T_TCP_MAXSEG, &small, 4, &seen), T_READONLY, "XNS 5.2: T_TCP_MAXSEG");
    t_close(fd);
}

/* The longest datagram has another length over IPv6. */
static void a_longest_datagram(void) {
    static char sent[65528], seen[65528];
    int families[] = {AF_INET, AF_INET6}, longest[] = {65507, 65527}, flags;
    for (int each = 0; each < 2; each++) {
        in_context("%s", each ? "IPv6" : "IPv4");
        int fd = open_transport("streams/udp", 0);
        struct place own;
        bind_own(fd, families[each], 0, &own);
        struct t_unitdata datagram = {.addr = at(&own), .udata = {0, (unsigned)longest[each], sent}};
        DOES(t_sndudata(fd, &datagram), "udp(7): the longest datagram");
        datagram.udata.len++;
        REFUSED(t_sndudata(fd, &datagram), TBADDATA, "XNS t_sndudata: TBADDATA");
        datagram.udata = (struct netbuf){sizeof seen, 0, seen};
        DOES(t_rcvudata(fd, &datagram, &flags), "XNS t_rcvudata");
        EXPECT(datagram.udata.len, longest[each], "udp(7): the longest datagram");
        t_close(fd);
    }
}

/* An endpoint that does not wait and has asked for a connection. */
static int caller_of(struct place *listener) {
    int fd = open_transport("streams/inet-tcp", O_NONBLOCK);
    struct place own;
    bind_own(fd, AF_INET, 0, &own);
    struct t_call call = {.addr = at(listener)};
    REFUSED(t_connect(fd, &call, NULL), TNODATA, "XNS t_connect: TNODATA without waiting, however fast the answer comes");
    EXPECT(t_getstate(fd), T_OUTCON, "XNS t_connect: T_OUTCON without waiting");
    return fd;
}

/* poll(2) starts a thread that watches the endpoint's sockets. */
static void has_event(int fd) {
    struct pollfd one = {.fd = fd, .events = POLLIN};
    NEEDS(poll(&one, 1, 5000) == 1, "poll tells a caller");
}

/* A refusal resets the connection. The listener is not told so, as it would be if the caller disconnected. */
static void callers_are_refused(void) {
    struct place place;
    for (int round = 0; round < 400; round++) {
        in_context("round %d", round);
        /* Each round makes a new endpoint, whose thread that waits for files has just started. */
        int listener = open_transport("streams/inet-tcp", O_NONBLOCK);
        bind_own(listener, AF_INET, 5, &place);
        struct t_call call = {.sequence = 0};
        REFUSED(t_listen(listener, &call), TNODATA, "XNS t_listen: TNODATA without waiting");
        int fd = caller_of(&place);
        has_event(listener);
        NEEDS(t_listen(listener, &call) == 0, "XNS t_listen");
        if (!DOES(t_snddis(listener, &call), "XNS t_snddis: a connection that waits"))
            return;
        EXPECT(t_look(listener), 0, "XNS t_snddis: no event at the endpoint that refuses");
        t_close(fd);
        t_close(listener);
    }
}

struct reset {
    struct place *to;
    pthread_barrier_t both;
    int rounds;
};

/* Connects, and resets the connection while the listener accepts it. */
static void *resets(void *argument) {
    struct reset *reset = argument;
    struct linger at_once = {1, 0};
    for (int round = 0; round < reset->rounds; round++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        HOLDS(connect(fd, (struct sockaddr *)(void *)reset->to->bytes, reset->to->len) == 0, "a socket connects");
        pthread_barrier_wait(&reset->both);
        for (volatile int spin = round % 100 * 500; spin > 0; spin--)
            ;
        close(fd);
        pthread_barrier_wait(&reset->both);
    }
    return NULL;
}

/* The disconnection of a caller is reported once: to the listener before it has accepted, else to the endpoint that has accepted. */
static void callers_that_disconnect_during_accept(void) {
    struct place place;
    struct reset reset = {.to = &place, .rounds = 400};
    int listener = open_transport("streams/inet-tcp", 0), late = 0;
    pthread_t thread;
    bind_own(listener, AF_INET, 5, &place);
    pthread_barrier_init(&reset.both, NULL, 2);
    pthread_create(&thread, NULL, resets, &reset);
    for (int round = 0; round < reset.rounds; round++) {
        in_context("round %d", round);
        struct t_call call = {.sequence = 0};
        struct t_discon end = {.sequence = 0};
        int is_own = round % 2, fd = is_own ? listener : open_transport("streams/inet-tcp", 0);
        has_event(listener);
        NEEDS(t_listen(listener, &call) == 0, "XNS t_listen");
        pthread_barrier_wait(&reset.both);
        int accepted = t_accept(listener, fd, &call);
        if (accepted == 0) {
            NEEDS(event_within(fd, T_DISCONNECT, 5000), "XNS t_accept: the endpoint that has accepted is told of the end");
            NEEDS(t_rcvdis(fd, &end) == 0, "XNS t_rcvdis");
            EXPECT(end.sequence, -1, "XNS t_rcvdis: no sequence number of a connection that was accepted");
            late++;
        } else {
            HOLDS(t_errno == TLOOK, "XNS t_accept: TLOOK, the connection has ended");
            NEEDS(event_within(listener, T_DISCONNECT, 5000) && t_rcvdis(listener, &end) == 0, "XNS t_rcvdis");
            EXPECT(end.sequence, call.sequence, "XNS t_rcvdis: the sequence number of the connection");
        }
        EXPECT(t_look(listener), 0, "the end of a connection is told once");
        NEEDS(t_getstate(listener) == T_IDLE, "XNS t_rcvdis: T_IDLE");
        pthread_barrier_wait(&reset.both);
        if (!is_own)
            t_close(fd);
    }
    pthread_join(thread, NULL);
    HOLDS(late > 0, "some are accepted before they end");
    t_close(listener);
}

static const struct test tests[] = {
    TEST(options),
    TEST(a_longest_datagram),
    TEST_OF(callers_are_refused, 60),
    TEST_OF(callers_that_disconnect_during_accept, 60),
};
MAIN(tests)
