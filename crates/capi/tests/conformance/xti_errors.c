/* XTI: what each call refuses, by tables of states and calls (XNS 5.2, ERRORS of each page), and bad pointers. */
#include "transport.h"
#include <sys/socket.h>
#include <tiuser.h>

static struct t_call empty_call;
static struct t_unitdata empty_datagram;
static struct t_bind empty_bind;
static struct t_info info;
static int flags;
static char bytes[16];
static struct t_iovec pieces[17] = {{bytes, 16}};

/* Each call that takes an endpoint, with arguments that are valid in themselves. */
static int do_accept(int fd) { return t_accept(fd, fd, &empty_call); }
static int do_bind(int fd) { return t_bind(fd, NULL, NULL); }
static int do_connect(int fd) { return connect_to(fd, "nobody"); }
static int do_getinfo(int fd) { return t_getinfo(fd, &info); }
static int do_getprotaddr(int fd) { return t_getprotaddr(fd, &empty_bind, &empty_bind); }
static int do_listen(int fd) { return t_listen(fd, &empty_call); }
static int do_optmgmt(int fd) {
    struct t_opthdr option = {.len = sizeof option, .level = XTI_GENERIC, .name = T_ALLOPT};
    char answer[100];
    struct t_optmgmt request = {.opt = {sizeof option, sizeof option, &option}, .flags = T_CURRENT};
    struct t_optmgmt got = {.opt = room_of(answer, sizeof answer)};
    return t_optmgmt(fd, &request, &got);
}
static int do_rcv(int fd) { return t_rcv(fd, bytes, 4, &flags); }
static int do_rcvconnect(int fd) { return t_rcvconnect(fd, NULL); }
static int do_rcvdis(int fd) { return t_rcvdis(fd, NULL); }
static int do_rcvreldata(int fd) { return t_rcvreldata(fd, NULL); }
static int do_rcvudata(int fd) { return t_rcvudata(fd, &empty_datagram, &flags); }
static int do_rcvuderr(int fd) { return t_rcvuderr(fd, NULL); }
static int do_rcvv(int fd) { return t_rcvv(fd, pieces, 1, &flags); }
static int do_rcvvudata(int fd) { return t_rcvvudata(fd, &empty_datagram, pieces, 1, &flags); }
static int do_snd(int fd) { return t_snd(fd, bytes, 1, 0); }
static int do_snddis(int fd) { return t_snddis(fd, NULL); }
static int do_sndreldata(int fd) { return t_sndreldata(fd, NULL); }
static int do_sndudata(int fd) { return send_to(fd, "nobody", "x"); }
static int do_sndv(int fd) { return t_sndv(fd, pieces, 1, 0); }
static int do_sndvudata(int fd) {
    struct t_unitdata datagram = {.addr = text_of("nobody")};
    return t_sndvudata(fd, &datagram, pieces, 1);
}

/* Connection-oriented service, the same with orderly release, and datagrams. */
enum { CO = 1, ORDERLY = 2, CL = 4, ALL_SERVICES = 7 };

static const struct {
    const char *name;
    int (*call)(int fd);
    int services;
    unsigned states; /* bit N: legal in state N */
} CALLS[] = {
    {"t_accept", do_accept, CO | ORDERLY, 1 << T_INCON},
    {"t_bind", do_bind, ALL_SERVICES, 1 << T_UNBND},
    {"t_connect", do_connect, CO | ORDERLY, 1 << T_IDLE},
    {"t_getinfo", do_getinfo, ALL_SERVICES, 0xff},
    {"t_getprotaddr", do_getprotaddr, ALL_SERVICES, 0xff},
    {"t_getstate", t_getstate, ALL_SERVICES, 0xff},
    {"t_listen", do_listen, CO | ORDERLY, 1 << T_IDLE | 1 << T_INCON},
    {"t_look", t_look, ALL_SERVICES, 0xff},
    {"t_optmgmt", do_optmgmt, ALL_SERVICES, 0xff},
    {"t_rcv", do_rcv, CO | ORDERLY, 1 << T_DATAXFER | 1 << T_OUTREL},
    {"t_rcvconnect", do_rcvconnect, CO | ORDERLY, 1 << T_OUTCON},
    {"t_rcvdis", do_rcvdis, CO | ORDERLY, 1 << T_OUTCON | 1 << T_INCON | 1 << T_DATAXFER | 1 << T_OUTREL | 1 << T_INREL},
    {"t_rcvrel", t_rcvrel, ORDERLY, 1 << T_DATAXFER | 1 << T_OUTREL},
    {"t_rcvreldata", do_rcvreldata, ORDERLY, 1 << T_DATAXFER | 1 << T_OUTREL},
    {"t_rcvudata", do_rcvudata, CL, 1 << T_IDLE},
    {"t_rcvuderr", do_rcvuderr, CL, 1 << T_IDLE},
    {"t_rcvv", do_rcvv, CO | ORDERLY, 1 << T_DATAXFER | 1 << T_OUTREL},
    {"t_rcvvudata", do_rcvvudata, CL, 1 << T_IDLE},
    {"t_snd", do_snd, CO | ORDERLY, 1 << T_DATAXFER | 1 << T_INREL},
    {"t_snddis", do_snddis, CO | ORDERLY, 1 << T_OUTCON | 1 << T_INCON | 1 << T_DATAXFER | 1 << T_OUTREL | 1 << T_INREL},
    {"t_sndrel", t_sndrel, ORDERLY, 1 << T_DATAXFER | 1 << T_INREL},
    {"t_sndreldata", do_sndreldata, ORDERLY, 1 << T_DATAXFER | 1 << T_INREL},
    {"t_sndudata", do_sndudata, CL, 1 << T_IDLE},
    {"t_sndv", do_sndv, CO | ORDERLY, 1 << T_DATAXFER | 1 << T_INREL},
    {"t_sndvudata", do_sndvudata, CL, 1 << T_IDLE},
    {"t_sync", t_sync, ALL_SERVICES, 0xff},
    {"t_unbind", t_unbind, ALL_SERVICES, 1 << T_IDLE},
};

static void no_endpoints_are_bad_files(void) {
    int plain = open("/dev/null", O_RDWR), device = open_device("ticlts"), ends[2];
    NEEDS(plain >= 0 && pipe(ends) == 0, "open and pipe succeed");
    int numbers[] = {-1, 999, plain, ends[0], device};
    for (size_t which = 0; which < COUNT(numbers); which++)
        for (size_t at = 0; at < COUNT(CALLS); at++) {
            in_context("%s of number %zu", CALLS[at].name, which);
            /* A stream of a transport becomes an endpoint by t_sync. */
            if (numbers[which] != device || CALLS[at].call != t_sync)
                REFUSED(CALLS[at].call(numbers[which]), TBADF, "XNS: TBADF");
        }
    in_context("%s", "");
    REFUSED(t_close(plain), TBADF, "XNS t_close: TBADF");
    HOLDS(t_alloc(plain, T_BIND, T_ALL) == NULL && t_errno == TBADF, "XNS t_alloc: TBADF");
    EXPECT(t_sync(device), T_UNBND, "XNS t_sync: an open stream of a transport");
    REFUSED(t_bind(plain, NULL, NULL), TBADF, "XNS t_bind: TBADF");
    int listener = bound("ticots", "l", 1), caller = open_transport("ticots", O_NONBLOCK);
    DOES(t_bind(caller, NULL, NULL), "XNS t_bind: null pointers");
    REFUSED(connect_to(caller, "l"), TNODATA, "XNS t_connect: TNODATA");
    struct t_call call = {.sequence = 0};
    DOES(t_listen(listener, &call), "XNS t_listen");
    REFUSED(t_accept(listener, plain, &call), TBADF, "XNS t_accept: TBADF of resfd");
}

/* Makes an endpoint of that service in that state. Returns -1 if the service has no such state. */
static int endpoint_in(int service, int state, int *keep) {
    const char *transport = service == CO ? "ticots" : service == ORDERLY ? "ticotsord" : "ticlts";
    int near, far, fd;
    keep[0] = keep[1] = -1;
    if (state > T_IDLE && service == CL)
        return -1;
    switch (state) {
    case T_UNBND:
        return open_transport(transport, O_NONBLOCK);
    case T_IDLE:
        fd = bound(transport, "idle", 1);
        set_nonblocking(fd, 1);
        return fd;
    case T_OUTCON:
        keep[0] = bound(transport, "listener", 1);
        fd = bound(transport, "caller", 0);
        set_nonblocking(fd, 1);
        NEEDS(connect_to(fd, "listener") == -1 && t_errno == TNODATA, "XNS t_connect: TNODATA");
        return fd;
    case T_INCON: {
        struct t_call call = {.sequence = 0};
        fd = bound(transport, "listener", 2);
        keep[0] = bound(transport, "caller", 0);
        set_nonblocking(keep[0], 1);
        NEEDS(connect_to(keep[0], "listener") == -1 && t_listen(fd, &call) == 0, "XNS t_listen");
        set_nonblocking(fd, 1);
        return fd;
    }
    case T_DATAXFER:
    case T_OUTREL:
    case T_INREL:
        if (state != T_DATAXFER && service != ORDERLY)
            return -1;
        keep[0] = connected(transport, &near, &far);
        keep[1] = far;
        if (state == T_OUTREL)
            NEEDS(t_sndrel(near) == 0, "XNS t_sndrel");
        if (state == T_INREL)
            NEEDS(t_sndrel(far) == 0 && event_within(near, T_ORDREL, 5000) && t_rcvrel(near) == 0, "XNS t_rcvrel");
        set_nonblocking(near, 1);
        return near;
    default:
        return -1;
    }
}

static void calls_in_wrong_states_and_of_other_services(void) {
    int services[] = {CO, ORDERLY, CL}, keep[2];
    for (size_t which = 0; which < COUNT(services); which++)
        for (int state = T_UNBND; state <= T_INREL; state++)
            for (size_t at = 0; at < COUNT(CALLS); at++) {
                int is_legal = CALLS[at].states >> state & 1, has = CALLS[at].services & services[which];
                if (has && is_legal)
                    continue;
                int fd = endpoint_in(services[which], state, keep);
                if (fd == -1)
                    continue;
                in_context("%s, service %d, state %d", CALLS[at].name, services[which], state);
                EXPECT(t_getstate(fd), state, "XNS t_getstate");
                REFUSED(CALLS[at].call(fd), has ? TOUTSTATE : TNOTSUPPORT, "XNS: TOUTSTATE or TNOTSUPPORT");
                EXPECT(t_getstate(fd), state, "XNS: a refused call changes no state");
                t_close(fd);
                for (int other = 0; other < 2; other++)
                    if (keep[other] != -1)
                        t_close(keep[other]);
                if (state >= T_DATAXFER)
                    /* The descriptors of the listener and of the other end were stored above. */
                    in_context("%s", "");
            }
    in_context("%s", "");
}

static void opening(void) {
    REFUSED(t_open("/dev/null", O_RDWR, NULL), TBADNAME, "XNS t_open: TBADNAME");
    REFUSED(t_open("/dev/nothing", O_RDWR, NULL), TBADNAME, "XNS t_open: TBADNAME");
    REFUSED(t_open("/dev/streams/nothing", O_RDWR, NULL), TBADNAME, "XNS t_open: TBADNAME of a driver that is not known");
    REFUSED(t_open("/dev/streams/fifo", O_RDWR, NULL), TBADNAME, "XNS t_open: TBADNAME");
    REFUSED(t_open("ticlts", O_RDWR, NULL), TBADNAME, "XNS t_open: TBADNAME");
    REFUSED(t_open("", O_RDWR, NULL), TBADNAME, "XNS t_open: TBADNAME");
    REFUSED(t_open("/dev/nuls", O_RDWR, NULL), TBADNAME, "XNS t_open: TBADNAME of a driver that is no transport");
    REFUSED(t_open("/dev/ticlts", O_RDONLY, NULL), TBADFLAG, "XNS t_open: TBADFLAG");
    REFUSED(t_open("/dev/ticlts", O_RDWR | O_CREAT, NULL), TBADFLAG, "XNS t_open: TBADFLAG");
    SYSTEM(t_open(bad_pointer, O_RDWR, NULL), EFAULT, "t_open: EFAULT");
    SYSTEM(t_open("/dev/ticlts", O_RDWR, bad_pointer), EFAULT, "t_open: EFAULT");
    int one = t_open("/dev/ticlts", O_RDWR, &info), two = t_open("/dev/streams/ticotsord", O_RDWR | O_NONBLOCK, &info);
    HOLDS(one >= 0 && two >= 0, "t_open: both forms of a name");
    EXPECT(info.servtype, T_COTS_ORD, "XNS t_info: servtype");
    EXPECT(info.flags, T_SENDZERO, "XNS t_info: flags");
    EXPECT(info.tsdu, T_INFINITE, "XNS t_info: tsdu");
    EXPECT(info.connect, T_INVALID, "XNS t_info: connect");
    EXPECT(fcntl(two, F_GETFL) & O_NONBLOCK, O_NONBLOCK, "XNS t_open: O_NONBLOCK");
    EXPECT(t_close(one), 0, "XNS t_close");
    REFUSED(t_close(one), TBADF, "XNS t_close: TBADF");
}

static void binding(void) {
    char address[8];
    int taken = bound("ticots", "taken", 3), fd = open_transport("ticots", 0);
    REFUSED(bind_to(fd, "taken", 0), TADDRBUSY, "XNS t_bind: TADDRBUSY");
    char longest[110];
    memset(longest, 'x', 109);
    longest[109] = 0;
    REFUSED(bind_to(fd, longest, 0), TBADADDR, "XNS t_bind: TBADADDR");
    SYSTEM(t_bind(fd, bad_pointer, NULL), EFAULT, "t_bind: EFAULT");
    SYSTEM(t_bind(fd, NULL, bad_pointer), EFAULT, "t_bind: EFAULT");
    struct t_bind request = {.addr = {0, 4, bad_pointer}}, answer = {.addr = {8, 0, bad_pointer}};
    SYSTEM(t_bind(fd, &request, NULL), EFAULT, "t_bind: EFAULT of the address");
    SYSTEM(t_bind(fd, NULL, &answer), EFAULT, "t_bind: EFAULT of the answer");
    EXPECT(t_getstate(fd), T_UNBND, "t_bind: a refused call changes no state");
    answer.addr = room_of(address, 3);
    REFUSED(t_bind(fd, NULL, &answer), TBUFOVFLW, "XNS t_bind: TBUFOVFLW");
    EXPECT(t_getstate(fd), T_IDLE, "XNS t_bind: TBUFOVFLW after the state has changed");
    struct t_bind own = {.addr = room_of(address, 8)}, peer = {.addr = room_of(bytes, 8)};
    DOES(t_getprotaddr(fd, &own, &peer), "XNS t_getprotaddr");
    EXPECT(own.addr.len, 4, "t_bind: a chosen address");
    EXPECT(peer.addr.len, 0, "XNS t_getprotaddr: no peer");
    own.addr = room_of(address, 2);
    REFUSED(t_getprotaddr(taken, &own, NULL), TBUFOVFLW, "XNS t_getprotaddr: TBUFOVFLW");
    SYSTEM(t_getprotaddr(taken, NULL, bad_pointer), EFAULT, "t_getprotaddr: EFAULT");
    SYSTEM(t_getinfo(fd, bad_pointer), EFAULT, "t_getinfo: EFAULT");
    DOES(t_unbind(fd), "XNS t_unbind");
    DOES(t_close(taken), "XNS t_close");
    answer.addr = room_of(address, 8);
    request = (struct t_bind){.addr = text_of("taken"), .qlen = 2};
    DOES(t_bind(fd, &request, &answer), "XNS t_bind: an address that was given up");
    EXPECT(answer.qlen, 2, "XNS t_bind: qlen");
    BYTES(address, answer.addr.len, "taken", "XNS t_bind: the address");
}

static void options(void) {
    int fd = open_transport("ticots", 0);
    struct { struct t_opthdr header; unsigned value; } request = {{20, XTI_GENERIC, XTI_SNDBUF, 0}, 1};
    char room[64] __attribute__((aligned(8)));
    struct t_optmgmt asked = {.opt = {sizeof request, sizeof request, &request}, .flags = T_NEGOTIATE}, got;
    got.opt = room_of(room, sizeof room);
    DOES(t_optmgmt(fd, &asked, &got), "XNS t_optmgmt");
    EXPECT(got.flags, T_READONLY, "XNS t_optmgmt: the worst status");
    struct t_opthdr *option = T_OPT_FIRSTHDR(&got.opt);
    HOLDS(option && option->name == XTI_SNDBUF && option->status == T_READONLY && option->len == 20, "XNS t_opthdr");
    HOLDS(T_OPT_NEXTHDR(&got.opt, option) == NULL, "XNS T_OPT_NEXTHDR");
    request.header = (struct t_opthdr){sizeof request.header, XTI_GENERIC, T_ALLOPT, 0};
    asked = (struct t_optmgmt){.opt = {16, 16, &request}, .flags = T_CURRENT};
    got.opt = room_of(room, sizeof room);
    DOES(t_optmgmt(fd, &asked, &got), "XNS t_optmgmt: T_ALLOPT");
    int count = 0;
    for (option = T_OPT_FIRSTHDR(&got.opt); option; option = OPT_NEXTHDR(room, got.opt.len, option)) {
        count++;
        HOLDS(*(unsigned *)(void *)T_OPT_DATA(option) > 0, "XNS T_OPT_DATA");
    }
    EXPECT(count, 2, "XNS t_optmgmt: all options");
    got.opt = room_of(room, 20);
    REFUSED(t_optmgmt(fd, &asked, &got), TBUFOVFLW, "XNS t_optmgmt: TBUFOVFLW");
    static const int wrong[] = {0, T_SUCCESS, T_READONLY, 3, -1};
    for (size_t at = 0; at < COUNT(wrong); at++) {
        asked.flags = wrong[at];
        got.opt = room_of(room, sizeof room);
        REFUSED(t_optmgmt(fd, &asked, &got), TBADFLAG, "XNS t_optmgmt: TBADFLAG");
    }
    asked.flags = T_CHECK;
    request.header.len = 3;
    REFUSED(t_optmgmt(fd, &asked, &got), TBADOPT, "XNS t_optmgmt: TBADOPT");
    asked.opt.len = 7;
    REFUSED(t_optmgmt(fd, &asked, &got), TBADOPT, "XNS t_optmgmt: TBADOPT");
    SYSTEM(t_optmgmt(fd, bad_pointer, &got), EFAULT, "t_optmgmt: EFAULT");
    SYSTEM(t_optmgmt(fd, &asked, bad_pointer), EFAULT, "t_optmgmt: EFAULT");
    SYSTEM(t_optmgmt(fd, &asked, NULL), EFAULT, "t_optmgmt: EFAULT");
}

static void listening_and_accepting(void) {
    int silent = bound("ticots", "silent", 0), listener = bound("ticots", "listener", 2), callers[2];
    struct t_call calls[3] = {{.sequence = 0}};
    REFUSED(t_listen(silent, calls), TBADQLEN, "XNS t_listen: TBADQLEN");
    set_nonblocking(listener, 1);
    REFUSED(t_listen(listener, calls), TNODATA, "XNS t_listen: TNODATA");
    SYSTEM(t_listen(listener, NULL), EFAULT, "t_listen: EFAULT");
    REFUSED(connect_to(silent, ""), TBADADDR, "XNS t_connect: TBADADDR");
    SYSTEM(t_connect(silent, bad_pointer, NULL), EFAULT, "t_connect: EFAULT");
    SYSTEM(t_connect(silent, NULL, NULL), EFAULT, "t_connect: EFAULT");
    struct t_call with_data = {.addr = text_of("listener"), .udata = text_of("data")};
    REFUSED(t_connect(silent, &with_data, NULL), TBADDATA, "XNS t_connect: TBADDATA");
    with_data = (struct t_call){.addr = text_of("listener"), .opt = text_of("no option")};
    REFUSED(t_connect(silent, &with_data, NULL), TBADOPT, "XNS t_connect: TBADOPT");
    for (int at = 0; at < 2; at++) {
        callers[at] = bound("ticots", at ? "b" : "a", 0);
        set_nonblocking(callers[at], 1);
        REFUSED(connect_to(callers[at], "listener"), TNODATA, "XNS t_connect: TNODATA");
        REFUSED(t_rcvconnect(callers[at], NULL), TNODATA, "XNS t_rcvconnect: TNODATA");
    }
    REFUSED(t_unbind(listener), TLOOK, "XNS t_unbind: TLOOK of T_LISTEN");
    char name[1];
    calls[0].addr = room_of(name, 1);
    DOES(t_listen(listener, &calls[0]), "XNS t_listen");
    BYTES(name, calls[0].addr.len, "a", "XNS t_listen: the address");
    REFUSED(t_accept(listener, listener, &calls[0]), TLOOK, "XNS t_accept: TLOOK of another caller");
    DOES(t_listen(listener, &calls[1]), "XNS t_listen");
    REFUSED(t_listen(listener, &calls[2]), TQFULL, "XNS t_listen: TQFULL");
    REFUSED(t_accept(listener, listener, &calls[0]), TINDOUT, "XNS t_accept: TINDOUT");
    int other = bound("ticotsord", "x", 0), listens = bound("ticots", "x", 1);
    REFUSED(t_accept(listener, other, &calls[0]), TPROVMISMATCH, "XNS t_accept: TPROVMISMATCH");
    REFUSED(t_accept(listener, listens, &calls[0]), TRESQLEN, "XNS t_accept: TRESQLEN");
    REFUSED(t_accept(listener, callers[1], &calls[0]), TOUTSTATE, "XNS t_accept: TOUTSTATE of resfd");
    struct t_call wrong = calls[0];
    wrong.sequence = 12345;
    REFUSED(t_accept(listener, silent, &wrong), TBADSEQ, "XNS t_accept: TBADSEQ");
    REFUSED(t_snddis(listener, &wrong), TBADSEQ, "XNS t_snddis: TBADSEQ");
    REFUSED(t_snddis(listener, NULL), TBADSEQ, "XNS t_snddis: TBADSEQ without a call");
    wrong = calls[0];
    wrong.udata = text_of("why");
    REFUSED(t_accept(listener, silent, &wrong), TBADDATA, "XNS t_accept: TBADDATA");
    REFUSED(t_snddis(listener, &wrong), TBADDATA, "XNS t_snddis: TBADDATA");
    wrong.udata = (struct netbuf){0, 0, NULL};
    wrong.opt = text_of("no option");
    REFUSED(t_accept(listener, silent, &wrong), TBADOPT, "XNS t_accept: TBADOPT");
    SYSTEM(t_accept(listener, silent, bad_pointer), EFAULT, "t_accept: EFAULT");
    REFUSED(t_rcvdis(listener, NULL), TNODIS, "XNS t_rcvdis: TNODIS");
    EXPECT(t_getstate(listener), T_INCON, "XNS: refused calls change no state");
    DOES(t_accept(listener, silent, &calls[0]), "XNS t_accept");
    DOES(t_snddis(listener, &calls[1]), "XNS t_snddis: refuses");
    EXPECT(t_getstate(listener), T_IDLE, "XNS t_snddis: the last caller");
    HOLDS(event_within(callers[1], T_DISCONNECT, 5000), "XNS t_look: T_DISCONNECT");
    REFUSED(t_rcvconnect(callers[1], NULL), TLOOK, "XNS t_rcvconnect: TLOOK");
    struct t_discon end = {.udata = room_of(bytes, 4)};
    SYSTEM(t_rcvdis(callers[1], bad_pointer), EFAULT, "t_rcvdis: EFAULT");
    DOES(t_rcvdis(callers[1], &end), "XNS t_rcvdis");
    EXPECT(end.reason, ECONNREFUSED, "ticots: the reason");
    EXPECT(end.sequence, -1, "XNS t_rcvdis: no sequence");
    /* The answer does not fit, but the endpoints are connected. */
    char little[1];
    struct t_call answer = {.addr = room_of(little, 1)};
    DOES(t_rcvconnect(callers[0], NULL), "XNS t_rcvconnect");
    int again = bound("ticots", "c", 0);
    set_nonblocking(again, 1);
    REFUSED(connect_to(again, "listener"), TNODATA, "XNS t_connect: TNODATA");
    DOES(t_listen(listener, &calls[2]), "XNS t_listen");
    DOES(t_accept(listener, listener, &calls[2]), "XNS t_accept by itself");
    HOLDS(event_within(again, T_CONNECT, 5000), "XNS t_look: T_CONNECT");
    REFUSED(t_rcvconnect(again, &answer), TBUFOVFLW, "XNS t_rcvconnect: TBUFOVFLW");
    EXPECT(t_getstate(again), T_DATAXFER, "XNS t_rcvconnect: TBUFOVFLW after the state has changed");
}

/* Where the transport returns no user data, a structure on the stack suffices that the program has not filled in. */
static void buffers_for_absent_data_are_not_used(void) {
    static const struct netbuf buffers[] = {{0, 0, NULL}, {64, 0, NULL}, {0, 0, (void *)8}, {64, 7, (void *)8}, {~0u, ~0u, (void *)8}};
    for (size_t at = 0; at < COUNT(buffers); at++) {
        in_context("buffer %zu", at);
        int near, far, listener = bound("ticotsord", "listener", 1);
        near = bound("ticotsord", "near", 0), far = bound("ticotsord", "far", 0);
        set_nonblocking(near, 1);
        REFUSED(connect_to(near, "listener"), TNODATA, "XNS t_connect: TNODATA");
        struct t_call call = {.udata = buffers[at]}, answer = {.udata = buffers[at]};
        DOES(t_listen(listener, &call), "XNS t_listen: the transport has no user data");
        EXPECT(call.udata.len, 0, "XNS t_listen: no user data");
        call.udata = (struct netbuf){0, 0, NULL};
        NEEDS(t_accept(listener, far, &call) == 0 && event_within(near, T_CONNECT, 5000), "t_accept succeeds");
        DOES(t_rcvconnect(near, &answer), "XNS t_rcvconnect: the transport has no user data");
        EXPECT(answer.udata.len, 0, "XNS t_rcvconnect: no user data");
        struct t_discon end = {.reason = 77, .udata = buffers[at]};
        NEEDS(t_sndrel(near) == 0 && event_within(far, T_ORDREL, 5000), "t_sndrel succeeds");
        DOES(t_rcvreldata(far, &end), "XNS t_rcvreldata: the transport has no user data");
        NEEDS(t_snddis(far, NULL) == 0 && event_within(near, T_DISCONNECT, 5000), "t_snddis succeeds");
        end.udata = buffers[at];
        DOES(t_rcvdis(near, &end), "XNS t_rcvdis: the transport has no user data");
        EXPECT(end.reason, ECONNRESET, "ticotsord: the reason");
        EXPECT(end.udata.len, 0, "XNS t_rcvdis: no user data");
        HOLDS(end.udata.maxlen == buffers[at].maxlen && end.udata.buf == buffers[at].buf, "XNS t_rcvdis: the caller's fields");
        t_close(near), t_close(far), t_close(listener);
        in_context("%s", "");
    }
}

/* The address has at most 108 bytes. The rest of a buffer is neither written nor checked. */
static void only_bytes_that_the_transport_may_write_are_checked(void) {
    int fd = bound("ticlts", "me", 0);
    char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEEDS(page != MAP_FAILED && mprotect(page + 4096, 4096, PROT_NONE) == 0, "two pages succeed");
    struct t_bind own = {.addr = room_of(page + 4096 - 108, 8192)};
    DOES(t_getprotaddr(fd, &own, NULL), "XNS t_getprotaddr: a maxlen beyond the buffer");
    BYTES(page + 4096 - 108, own.addr.len, "me", "XNS t_getprotaddr");
    own.addr = room_of(page + 4096 - 107, 8192);
    SYSTEM(t_getprotaddr(fd, &own, NULL), EFAULT, "t_getprotaddr: EFAULT of an address that may not fit");
}

static void data_of_connections(void) {
    int near, far, flags = 0;
    connected("ticots", &near, &far);
    static const int wrong[] = {8, 0x100, -1};
    for (size_t at = 0; at < COUNT(wrong); at++) {
        REFUSED(t_snd(near, bytes, 1, wrong[at]), TBADFLAG, "XNS t_snd: TBADFLAG");
        REFUSED(t_sndv(near, pieces, 1, wrong[at]), TBADFLAG, "XNS t_sndv: TBADFLAG");
    }
    SYSTEM(t_snd(near, bad_pointer, 4, 0), EFAULT, "t_snd: EFAULT");
    SYSTEM(t_sndv(near, bad_pointer, 1, 0), EFAULT, "t_sndv: EFAULT");
    REFUSED(t_sndv(near, pieces, 17, 0), TBADDATA, "XNS t_sndv: TBADDATA");
    REFUSED(t_sndv(near, pieces, 0, 0), TBADDATA, "XNS t_sndv: TBADDATA");
    SYSTEM(t_rcv(far, bad_pointer, 4, &flags), EFAULT, "t_rcv: EFAULT");
    SYSTEM(t_rcv(far, bytes, 4, NULL), EFAULT, "t_rcv: EFAULT of the flags");
    SYSTEM(t_rcvv(far, bad_pointer, 1, &flags), EFAULT, "t_rcvv: EFAULT");
    REFUSED(t_rcvv(far, pieces, 17, &flags), TBADDATA, "XNS t_rcvv: TBADDATA");
    set_nonblocking(far, 1);
    REFUSED(t_rcv(far, bytes, 4, &flags), TNODATA, "XNS t_rcv: TNODATA");
    EXPECT(t_snd(near, "abc", 3, T_PUSH), 3, "XNS t_snd: T_PUSH");
    EXPECT(t_rcv(far, bytes, 2, &flags), 2, "XNS t_rcv");
    EXPECT(flags, T_MORE, "XNS t_rcv: T_MORE");
    EXPECT(t_rcv(far, bytes, 2, &flags), 1, "XNS t_rcv: the rest");
    EXPECT(flags, 0, "XNS t_rcv: no T_MORE");
    REFUSED(t_rcvdis(far, NULL), TNODIS, "XNS t_rcvdis: TNODIS");
    set_nonblocking(near, 1);
    static char large[4096];
    int sent;
    while ((sent = t_snd(near, large, sizeof large, 0)) > 0)
        ;
    HOLDS(sent == -1 && t_errno == TFLOW, "XNS t_snd: TFLOW");
    DOES(t_snddis(far, NULL), "XNS t_snddis");
    HOLDS(event_within(near, T_DISCONNECT, 5000), "XNS t_look: T_DISCONNECT");
    REFUSED(t_snd(near, bytes, 1, 0), TLOOK, "XNS t_snd: TLOOK");
    REFUSED(t_rcv(near, bytes, 1, &flags), TLOOK, "XNS t_rcv: TLOOK");
    REFUSED(t_snddis(near, NULL), TLOOK, "XNS t_snddis: TLOOK");
    DOES(t_rcvdis(near, NULL), "XNS t_rcvdis: a null pointer");
    EXPECT(t_getstate(near), T_IDLE, "XNS t_rcvdis: T_IDLE");
}

static void releases(void) {
    int near, far, flags;
    connected("ticotsord", &near, &far);
    REFUSED(t_rcvrel(near), TNOREL, "XNS t_rcvrel: TNOREL");
    REFUSED(t_rcvreldata(near, NULL), TNOREL, "XNS t_rcvreldata: TNOREL");
    struct t_discon data = {.udata = text_of("data")};
    REFUSED(t_sndreldata(near, &data), TBADDATA, "XNS t_sndreldata: TBADDATA");
    SYSTEM(t_sndreldata(near, bad_pointer), EFAULT, "t_sndreldata: EFAULT");
    SYSTEM(t_rcvreldata(near, bad_pointer), EFAULT, "t_rcvreldata: EFAULT");
    DOES(t_sndrel(far), "XNS t_sndrel");
    HOLDS(event_within(near, T_ORDREL, 5000), "XNS t_look: T_ORDREL");
    REFUSED(t_rcv(near, bytes, 1, &flags), TLOOK, "XNS t_rcv: TLOOK of T_ORDREL");
    data.udata = room_of(bytes, 4);
    DOES(t_rcvreldata(near, &data), "XNS t_rcvreldata");
    EXPECT(data.udata.len, 0, "XNS t_rcvreldata: no data");
    DOES(t_snddis(near, NULL), "XNS t_snddis");
    HOLDS(event_within(far, T_DISCONNECT, 5000), "XNS t_look: T_DISCONNECT");
    REFUSED(t_rcvrel(far), TLOOK, "XNS t_rcvrel: TLOOK");
}

static void datagrams(void) {
    int fd = bound("ticlts", "me", 0), flags;
    char address[8], data[8];
    struct t_unitdata room = {room_of(address, 8), room_of(NULL, 0), room_of(data, 8)};
    REFUSED(send_to(fd, "", "x"), TBADADDR, "XNS t_sndudata: TBADADDR");
    static char large[65537];
    struct t_unitdata sent = {.addr = text_of("me"), .udata = {0, sizeof large, large}};
    REFUSED(t_sndudata(fd, &sent), TBADDATA, "XNS t_sndudata: TBADDATA");
    REFUSED(t_sndvudata(fd, &sent, pieces, 17), TBADDATA, "XNS t_sndvudata: TBADDATA");
    SYSTEM(t_sndudata(fd, bad_pointer), EFAULT, "t_sndudata: EFAULT");
    sent.addr.buf = bad_pointer;
    SYSTEM(t_sndudata(fd, &sent), EFAULT, "t_sndudata: EFAULT of the address");
    SYSTEM(t_sndvudata(fd, &sent, bad_pointer, 1), EFAULT, "t_sndvudata: EFAULT");
    SYSTEM(t_rcvudata(fd, bad_pointer, &flags), EFAULT, "t_rcvudata: EFAULT");
    SYSTEM(t_rcvudata(fd, &room, NULL), EFAULT, "t_rcvudata: EFAULT of the flags");
    SYSTEM(t_rcvvudata(fd, &room, bad_pointer, 1, &flags), EFAULT, "t_rcvvudata: EFAULT");
    SYSTEM(t_rcvuderr(fd, bad_pointer), EFAULT, "t_rcvuderr: EFAULT");
    REFUSED(t_rcvuderr(fd, NULL), TNOUDERR, "XNS t_rcvuderr: TNOUDERR");
    set_nonblocking(fd, 1);
    REFUSED(t_rcvudata(fd, &room, &flags), TNODATA, "XNS t_rcvudata: TNODATA");
    DOES(send_to(fd, "me", "lost"), "XNS t_sndudata");
    DOES(send_to(fd, "me", "kept"), "XNS t_sndudata");
    REFUSED(t_unbind(fd), TLOOK, "XNS t_unbind: TLOOK of T_DATA");
    room.addr = room_of(address, 1);
    REFUSED(t_rcvudata(fd, &room, &flags), TBUFOVFLW, "XNS t_rcvudata: TBUFOVFLW");
    room.addr = room_of(address, 8);
    DOES(t_rcvudata(fd, &room, &flags), "XNS t_rcvudata: TBUFOVFLW has discarded the datagram");
    BYTES(data, room.udata.len, "kept", "XNS t_rcvudata");
    BYTES(address, room.addr.len, "me", "XNS t_rcvudata: the address");
    DOES(send_to(fd, "nobody", "x"), "XNS t_sndudata");
    HOLDS(event_within(fd, T_UDERR, 5000), "XNS t_look: T_UDERR");
    REFUSED(t_rcvudata(fd, &room, &flags), TLOOK, "XNS t_rcvudata: TLOOK");
    struct t_uderr error = {.addr = room_of(address, 8)};
    DOES(t_rcvuderr(fd, &error), "XNS t_rcvuderr");
    EXPECT(error.error, ECONNREFUSED, "ticlts: the error");
    BYTES(address, error.addr.len, "nobody", "XNS t_rcvuderr: the address");
    int other = bound("ticlts", "other", 0), result;
    while ((result = send_to(fd, "other", "full")) == 0)
        ;
    HOLDS(result == -1 && t_errno == TFLOW, "XNS t_sndudata: TFLOW");
    while (t_look(other) == T_DATA)
        NEEDS(t_rcvudata(other, &room, &flags) == 0, "XNS t_rcvudata");
    HOLDS(event_within(fd, T_GODATA, 5000), "XNS t_look: T_GODATA");
    EXPECT(t_look(fd), 0, "XNS t_look: once");
}

static void structures(void) {
    int fd = open_transport("ticlts", 0);
    for (int kind = T_BIND; kind <= T_INFO; kind++) {
        in_context("structure %d", kind);
        void *made = t_alloc(fd, kind, T_ALL);
        HOLDS(made != NULL && (uintptr_t)made % 16 == 0, "XNS t_alloc: T_ALL");
        EXPECT(t_free(made, kind), 0, "XNS t_free");
    }
    in_context("%s", "");
    struct t_unitdata *datagram = t_alloc(fd, T_UNITDATA, T_ADDR | T_UDATA);
    NEEDS(datagram, "XNS t_alloc");
    EXPECT(datagram->addr.maxlen, 108, "XNS t_alloc: the size of the transport");
    EXPECT(datagram->udata.maxlen, 65536, "XNS t_alloc: the size of the transport");
    HOLDS(datagram->opt.buf == NULL && datagram->opt.maxlen == 0, "XNS t_alloc: a field that was not asked for");
    t_free(datagram, T_UNITDATA);
    struct t_optmgmt *options = t_alloc(fd, T_OPTMGMT, T_ALL);
    NEEDS(options && options->opt.maxlen >= 16, "XNS t_alloc: T_OPTMGMT");
    for (unsigned at = 0; at < options->opt.maxlen; at++)
        NEEDS(((char *)options->opt.buf)[at] == 0, "STREAMS 6: zeroed buffers");
    HOLDS((uintptr_t)options->opt.buf % 8 == 0, "STREAMS 6: aligned buffers");
    t_free(options, T_OPTMGMT);
    HOLDS((t_errno = 0, t_alloc(fd, 0, T_ALL)) == NULL && t_errno == TNOSTRUCTYPE, "XNS t_alloc: TNOSTRUCTYPE");
    HOLDS((t_errno = 0, t_alloc(fd, 8, T_ALL)) == NULL && t_errno == TNOSTRUCTYPE, "XNS t_alloc: TNOSTRUCTYPE");
    HOLDS((t_errno = 0, t_alloc(fd, T_DIS, T_UDATA)) == NULL && t_errno == TSYSERR && errno == EINVAL,
          "XNS t_alloc: a size that the transport does not have");
    REFUSED(t_free(NULL, 9), TNOSTRUCTYPE, "XNS t_free: TNOSTRUCTYPE");
    EXPECT(t_free(NULL, T_BIND), 0, "t_free: a null pointer");
    EXPECT(t_sysconf(_SC_T_IOV_MAX), T_IOV_MAX, "XNS t_sysconf");
    REFUSED(t_sysconf(-5), TBADFLAG, "XNS t_sysconf: TBADFLAG");
    for (int number = -1; number < 40; number++)
        NEEDS(t_strerror(number) && *t_strerror(number), "XNS t_strerror: a text for any number");
    HOLDS(strcmp(t_strerror(TLOOK), t_strerror(TFLOW)) != 0, "XNS t_strerror");
    EXPECT(t_nerr, TPROTO + 1, "TLI: t_nerr");
    for (int number = 0; number < t_nerr; number++)
        BYTES(t_errlist[number], (ssize_t)strlen(t_errlist[number]), t_strerror(number), "TLI: t_errlist");
    int ends[2];
    NEEDS(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && dup2(ends[1], 2) == 2, "socketpair and dup2 succeed");
    t_errno = TLOOK;
    EXPECT(t_error("call"), 0, "XNS t_error");
    char line[100], expected[100];
    ssize_t len = read(ends[0], line, sizeof line);
    snprintf(expected, sizeof expected, "call: %s\n", t_strerror(TLOOK));
    BYTES(line, len, expected, "XNS t_error: the text");
}

static const struct test TESTS[] = {
    TEST(no_endpoints_are_bad_files), TEST_OF(calls_in_wrong_states_and_of_other_services, 200),
    TEST_OF(opening, 20), TEST(binding), TEST(options), TEST(listening_and_accepting),
    TEST(buffers_for_absent_data_are_not_used), TEST(only_bytes_that_the_transport_may_write_are_checked),
    TEST(data_of_connections), TEST(releases), TEST(datagrams), TEST(structures),
};

MAIN(TESTS)
