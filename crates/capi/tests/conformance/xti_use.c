/* XTI as programs use it: connections and datagrams between processes and threads, events, signals, dup, fork and exec. */
#include "transport.h"
#include <netinet/in.h>
#include <pthread.h>

static void a_server_and_a_client_in_two_processes(void) {
    static const char *const transports[] = {"ticots", "ticotsord"};
    for (int which = 0; which < 2; which++) {
        int listener = bound(transports[which], "server", 3);
        pid_t child = fork();
        if (child == 0) {
            int fd = open_transport(transports[which], 0), flags;
            char text[100];
            if (t_bind(fd, NULL, NULL) == -1 || connect_to(fd, "server") == -1 || t_snd(fd, "ping", 4, 0) != 4)
                _exit(1);
            if (t_rcv(fd, text, sizeof text, &flags) != 4 || memcmp(text, "pong", 4) != 0)
                _exit(2);
            if (which == 1 && (t_sndrel(fd) == -1 || t_getstate(fd) != T_OUTREL))
                _exit(3);
            if (which == 1 && (!event_within(fd, T_ORDREL, 5000) || t_rcvrel(fd) == -1 || t_getstate(fd) != T_IDLE))
                _exit(4);
            _exit(t_close(fd) == 0 ? 0 : 5);
        }
        char text[100];
        int flags, fd = open_transport(transports[which], 0);
        struct t_call call = {.addr = room_of(text, sizeof text)};
        DOES(t_listen(listener, &call), "XNS t_listen");
        DOES(t_accept(listener, fd, &call), "XNS t_accept: an unbound endpoint");
        EXPECT(t_rcv(fd, text, sizeof text, &flags), 4, "XNS t_rcv");
        BYTES(text, 4, "ping", "XNS t_rcv: from another process");
        EXPECT(t_snd(fd, "pong", 4, 0), 4, "XNS t_snd");
        if (which == 1) {
            HOLDS(event_within(fd, T_ORDREL, 5000), "XNS t_look: T_ORDREL");
            DOES(t_rcvrel(fd), "XNS t_rcvrel");
            DOES(t_sndrel(fd), "XNS t_sndrel");
            EXPECT(t_getstate(fd), T_IDLE, "XNS t_sndrel: T_IDLE");
        } else {
            HOLDS(event_within(fd, T_DISCONNECT, 5000), "XNS t_close: an abortive release");
        }
        EXPECT(ended_within(child, 5000), 0, "the client has succeeded");
        t_close(fd);
        t_close(listener);
    }
}

static void a_killed_peer_is_a_disconnection(void) {
    int near, far, flags;
    char byte;
    int listener = bound("ticots", "server", 1);
    pid_t child = fork();
    if (child == 0) {
        near = bound("ticots", "client", 0);
        connect_to(near, "server");
        for (;;)
            pause();
    }
    far = bound("ticots", "far", 0);
    struct t_call call = {.sequence = 0};
    NEEDS(t_listen(listener, &call) == 0 && t_accept(listener, far, &call) == 0, "XNS t_accept");
    kill(child, SIGKILL);
    REFUSED(t_rcv(far, &byte, 1, &flags), TLOOK, "XNS t_rcv: TLOOK after the death of the peer");
    struct t_discon end = {.reason = 0};
    DOES(t_rcvdis(far, &end), "XNS t_rcvdis");
    EXPECT(end.reason, ECONNRESET, "ticots: the reason");
}

/* A reader that does not read delays nothing but data. */
static void an_end_does_not_wait_for_room(void) {
    static const char *const transports[] = {"ticots", "ticotsord", "streams/inet-tcp"};
    static char bytes[100000];
    for (size_t each = 0; each < COUNT(transports); each++) {
        in_context("%s", transports[each]);
        for (int waits = 0; waits < 2; waits++) {
            struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
            char taken[128];
            struct t_bind request = {.addr = {0}, .qlen = 1}, answer = {.addr = room_of(taken, sizeof taken)};
            if (each == 2)
                request.addr = (struct netbuf){sizeof own, sizeof own, &own};
            int listener = open_transport(transports[each], 0), fd = open_transport(transports[each], O_NONBLOCK);
            int other = open_transport(transports[each], 0);
            NEEDS(t_bind(listener, &request, &answer) == 0 && t_bind(fd, NULL, NULL) == 0, "t_bind succeeds");
            struct t_call call = {.addr = answer.addr}, caller = {.sequence = 0};
            REFUSED(t_connect(fd, &call, NULL), TNODATA, "XNS t_connect: TNODATA without waiting");
            NEEDS(t_listen(listener, &caller) == 0 && t_accept(listener, other, &caller) == 0, "t_accept succeeds");
            NEEDS(event_within(fd, T_CONNECT, 5000) && t_rcvconnect(fd, NULL) == 0, "t_rcvconnect succeeds");
            while (t_snd(fd, bytes, sizeof bytes, 0) > 0)
                ;
            EXPECT(t_errno, TFLOW, "XNS t_snd: TFLOW");
            set_nonblocking(fd, waits);
            DOES(t_snddis(fd, NULL), "XNS t_snddis: no flow control");
            EXPECT(t_getstate(fd), T_IDLE, "XNS t_snddis: T_IDLE");
            t_close(fd), t_close(other), t_close(listener);
        }
    }
}

static void on_sigpipe(int number) {
    (void)number;
    HOLDS(0, "XTI raises no SIGPIPE");
}

/* The death of a peer in the middle of anything sends no signal to a process that sends to it. */
static void a_killed_peer_raises_no_signal(void) {
    signal(SIGPIPE, on_sigpipe);
    for (int round = 0; round < 40; round++) {
        char name[40];
        snprintf(name, sizeof name, "killed %d", round);
        int at[2];
        open_pipe(at);
        pid_t child = fork();
        if (child == 0) {
            int listener = bound("ticots", name, 3);
            if (write(at[0], "x", 1) != 1)
                _exit(1);
            for (;;) {
                struct t_call call = {.sequence = 0};
                int fd = open_transport("ticots", 0);
                if (t_listen(listener, &call) != 0 || t_accept(listener, fd, &call) != 0)
                    t_rcvdis(listener, NULL);
                t_close(fd);
            }
        }
        char x;
        NEEDS(read(at[1], &x, 1) == 1, "the child is ready");
        pid_t killer = fork();
        if (killer == 0) {
            usleep(200 + round * 397 % 5000);
            kill(child, SIGKILL);
            _exit(0);
        }
        while (waitpid(child, NULL, WNOHANG) == 0) {
            int fd = bound("ticots", "", 0);
            if (connect_to(fd, name) == 0)
                t_snd(fd, "x", 1, 0);
            t_close(fd);
        }
        waitpid(killer, NULL, 0);
        close(at[0]), close(at[1]);
    }
}

static void datagrams_between_processes(void) {
    int fd = bound("ticlts", "parent", 0), flags;
    pid_t child = fork();
    if (child == 0) {
        int own = bound("ticlts", "child", 0);
        for (int at = 0; at < 1000; at++) {
            struct t_iovec pieces[2] = {{"number ", 7}, {&at, sizeof at}};
            struct t_unitdata datagram = {.addr = text_of("parent")};
            if (t_sndvudata(own, &datagram, pieces, 2) == -1)
                _exit(1);
        }
        _exit(0);
    }
    char address[16], text[7];
    for (int at = 0; at < 1000; at++) {
        int number = -1;
        struct t_iovec pieces[2] = {{text, 7}, {&number, sizeof number}};
        struct t_unitdata datagram = {.addr = room_of(address, sizeof address)};
        NEEDS(t_rcvvudata(fd, &datagram, pieces, 2, &flags) == 11, "XNS t_rcvvudata");
        NEEDS(number == at && datagram.addr.len == 5 && flags == 0, "ticlts: nothing is lost, in order");
    }
    EXPECT(ended_within(child, 5000), 0, "the sender has succeeded");
    BYTES(address, 5, "child", "XNS t_rcvvudata: the address");
}

static void expedited_data(void) {
    int near, far, flags;
    char text[16];
    connected("ticots", &near, &far);
    EXPECT(t_snd(near, "slow", 4, T_MORE), 4, "XNS t_snd: T_MORE");
    EXPECT(t_snd(near, "fast", 4, T_EXPEDITED), 4, "XNS t_snd: T_EXPEDITED");
    EXPECT(t_look(far), T_EXDATA, "XNS t_look: T_EXDATA");
    EXPECT(t_rcv(far, text, 3, &flags), 3, "XNS t_rcv");
    EXPECT(flags, T_EXPEDITED | T_MORE, "XNS t_rcv: T_EXPEDITED and T_MORE");
    EXPECT(t_rcv(far, text, 16, &flags), 1, "XNS t_rcv");
    EXPECT(flags, T_EXPEDITED, "XNS t_rcv: T_EXPEDITED");
    EXPECT(t_look(far), T_DATA, "XNS t_look: T_DATA");
    EXPECT(t_rcv(far, text, 16, &flags), 4, "XNS t_rcv");
    EXPECT(flags, T_MORE, "XNS t_rcv: T_MORE of the sender");
    EXPECT(t_snd(near, "", 0, 0), 0, "XNS t_snd: the end of a message");
    EXPECT(t_rcv(far, text, 16, &flags), 0, "XNS t_rcv: the end of a message");
    EXPECT(flags, 0, "XNS t_rcv: no T_MORE");
}

static void caught(int number) { (void)number; }

static void a_signal_ends_a_call_that_waits(void) {
    int near, far, flags, fd = bound("ticlts", "me", 0), listener = connected("ticots", &near, &far);
    int caller = bound("ticots", "caller", 0);
    char bytes[4];
    struct t_unitdata room = {room_of(NULL, 0), room_of(NULL, 0), room_of(bytes, 4)};
    for (int restarts = 0; restarts < 2; restarts++) {
        struct sigaction action = {.sa_handler = caught, .sa_flags = restarts ? SA_RESTART : 0};
        NEEDS(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction succeeds");
        for (int which = 0; which < 4; which++) {
            in_context("call %d, SA_RESTART %d", which, restarts);
            pid_t parent = getpid(), child = fork();
            if (child == 0) {
                for (int at = 0; at < 400; at++) {
                    sleep_ms(10);
                    kill(parent, SIGUSR1);
                }
                _exit(0);
            }
            struct t_call call = {.sequence = 0};
            switch (which) {
            case 0:
                SYSTEM(t_rcvudata(fd, &room, &flags), EINTR, "STREAMS 6: TSYSERR and EINTR");
                break;
            case 1:
                SYSTEM(t_rcv(near, bytes, 4, &flags), EINTR, "STREAMS 6: TSYSERR and EINTR");
                break;
            case 2:
                SYSTEM(t_listen(listener, &call), EINTR, "STREAMS 6: TSYSERR and EINTR");
                EXPECT(t_getstate(listener), T_IDLE, "XNS t_listen: the state");
                break;
            case 3:
                if (t_getstate(caller) == T_IDLE)
                    SYSTEM(connect_to(caller, "listener"), EINTR, "STREAMS 6: TSYSERR and EINTR");
                else
                    SYSTEM(t_rcvconnect(caller, NULL), EINTR, "STREAMS 6: TSYSERR and EINTR");
                EXPECT(t_getstate(caller), T_OUTCON, "XNS t_connect: T_OUTCON after a signal");
                /* The listener's part of the next round. */
                if (restarts == 0) {
                    DOES(t_snddis(caller, NULL), "XNS t_snddis: gives up");
                    while (t_look(listener) == T_LISTEN)
                        t_listen(listener, &call);
                    if (event_within(listener, T_DISCONNECT, 2000))
                        t_rcvdis(listener, NULL);
                }
                break;
            }
            kill(child, SIGKILL);
            waitpid(child, NULL, 0);
        }
    }
    in_context("%s", "");
}

static void numbers_of_one_endpoint(void) {
    int fd = open_transport("ticots", 0), copy = dup(fd);
    EXPECT(t_getstate(copy), T_UNBND, "dup: the same endpoint");
    DOES(t_bind(fd, NULL, NULL), "XNS t_bind");
    EXPECT(t_getstate(copy), T_IDLE, "dup: the same state");
    DOES(t_close(fd), "XNS t_close");
    EXPECT(t_sync(copy), T_IDLE, "XNS t_sync");
    DOES(t_unbind(copy), "XNS t_unbind");
    int raw = open("/dev/streams/ticotsord", O_RDWR);
    REFUSED(t_getstate(raw), TBADF, "XNS: open is no t_open");
    EXPECT(t_sync(raw), T_UNBND, "XNS t_sync: a stream of open");
    DOES(t_bind(raw, NULL, NULL), "XNS t_bind after t_sync");
    REFUSED(t_sync(999), TBADF, "XNS t_sync: TBADF");
    int plain = open("/dev/null", O_RDWR);
    REFUSED(t_sync(plain), TBADF, "XNS t_sync: TBADF");
}

static void forked_child_uses_the_connection(void) {
    int near, far, flags;
    char text[8];
    connected("ticotsord", &near, &far);
    pid_t child = fork();
    if (child == 0) {
        if (t_getstate(near) != T_DATAXFER || t_sync(near) != T_DATAXFER)
            _exit(1);
        if (t_snd(near, "child", 5, 0) != 5 || t_sndrel(near) == -1)
            _exit(2);
        _exit(0);
    }
    EXPECT(ended_within(child, 5000), 0, "the child has succeeded");
    EXPECT(t_getstate(near), T_DATAXFER, "XNS: the parent does not know what the child has done");
    EXPECT(t_sync(near), T_OUTREL, "XNS t_sync: what another process has done");
    EXPECT(t_rcv(far, text, sizeof text, &flags), 5, "XNS t_rcv");
    HOLDS(event_within(far, T_ORDREL, 5000), "XNS t_look: T_ORDREL");
}

static void executed_program_uses_t_sync(void) {
    if (getenv("XTI_NUMBER")) {
        int number = atoi(getenv("XTI_NUMBER")), flags;
        char text[8];
        struct t_unitdata room = {.udata = room_of(text, sizeof text)};
        REFUSED(t_getstate(number), TBADF, "XNS: t_sync is needed after exec");
        EXPECT(t_sync(number), T_IDLE, "XNS t_sync after exec");
        DOES(t_rcvudata(number, &room, &flags), "XNS t_rcvudata after t_sync");
        BYTES(text, room.udata.len, "over", "XNS t_rcvudata after exec");
        return;
    }
    int fd = bound("ticlts", "exec", 0);
    DOES(send_to(fd, "exec", "over"), "XNS t_sndudata");
    char number[16], self[200];
    snprintf(number, sizeof number, "%d", fd);
    setenv("XTI_NUMBER", number, 1);
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    NEEDS(len > 0, "readlink succeeds");
    self[len] = 0;
    pid_t child = fork();
    if (child == 0) {
        execl(self, self, "-f", "executed_program_uses_t_sync", (char *)NULL);
        _exit(99);
    }
    EXPECT(ended_within(child, 8000), 0, "the program has succeeded");
}

static int shared_fd;

static void *receives(void *failures) {
    int flags;
    for (int at = 0; at < 5000; at++) {
        int number = -1;
        if (t_rcv(shared_fd, &number, sizeof number, &flags) != sizeof number || number != at)
            ++*(int *)failures;
    }
    return NULL;
}

static void *fails_by_itself(void *seen) {
    t_errno = 0;
    t_close(-1);
    *(int *)seen = t_errno;
    return NULL;
}

static void threads(void) {
    int near, far, flags, failures = 0, seen = 0;
    char byte;
    connected("ticots", &near, &far);
    pthread_t thread;
    shared_fd = far;
    NEEDS(pthread_create(&thread, NULL, receives, &failures) == 0, "pthread_create succeeds");
    /* The receiving endpoint's thread waits while this thread sends on the same endpoint. */
    for (int at = 0; at < 5000; at++)
        NEEDS(t_snd(near, &at, sizeof at, 0) == sizeof at && t_snd(far, "x", 1, 0) == 1 && t_rcv(near, &byte, 1, &flags) == 1,
              "XNS t_snd");
    pthread_join(thread, NULL);
    EXPECT(failures, 0, "a thread receives while another sends");
    t_errno = 0;
    NEEDS(pthread_create(&thread, NULL, fails_by_itself, &seen) == 0, "pthread_create succeeds");
    pthread_join(thread, NULL);
    EXPECT(seen, TBADF, "XNS t_errno: of the thread");
    EXPECT(t_errno, 0, "XNS t_errno: not of other threads");
}

static void poll_tells_events(void) {
    int near, far, flags;
    char byte;
    connected("ticotsord", &near, &far);
    struct pollfd one = {.fd = near, .events = POLLIN};
    EXPECT(poll(&one, 1, 0), 0, "poll: nothing");
    EXPECT(t_snd(far, "x", 1, 0), 1, "XNS t_snd");
    EXPECT(poll(&one, 1, 5000), 1, "poll: data");
    EXPECT(t_rcv(near, &byte, 1, &flags), 1, "XNS t_rcv");
    EXPECT(t_sndrel(far), 0, "XNS t_sndrel");
    EXPECT(poll(&one, 1, 5000), 1, "poll: an orderly release");
    EXPECT(t_look(near), T_ORDREL, "XNS t_look: T_ORDREL");
}

static const struct test TESTS[] = {
    TEST_OF(a_server_and_a_client_in_two_processes, 30),
    TEST(a_killed_peer_is_a_disconnection),
    TEST_OF(an_end_does_not_wait_for_room, 30),
    TEST_OF(a_killed_peer_raises_no_signal, 60),
    TEST(datagrams_between_processes),
    TEST(expedited_data),
    TEST_OF(a_signal_ends_a_call_that_waits, 40),
    TEST(numbers_of_one_endpoint),
    TEST_OF(forked_child_uses_the_connection, 20),
    TEST_OF(executed_program_uses_t_sync, 20),
    TEST_OF(threads, 30),
    TEST(poll_tells_events),
};

MAIN(TESTS)
