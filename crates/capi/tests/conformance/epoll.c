/* epoll with streams: level and edge, one-shot, with other kinds of descriptors, with closed, duplicated and nested ones
 * (epoll(7)). */
#include "stream.h"
#include <sys/epoll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>

static int set;

static void prepare(void) {
    open_ends();
    set = epoll_create1(EPOLL_CLOEXEC);
    NEEDS(set >= 0, "epoll_create1");
}

static int add(int fd, uint32_t events, uint64_t data) {
    struct epoll_event event = {.events = events, .data.u64 = data};
    return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
}

/* Returns the events of the only ready descriptor within the time; 0 if none is ready; -1 for more than one or an error. */
static int events_within(int ms, uint64_t expected_data) {
    struct epoll_event events[4];
    int count = epoll_wait(set, events, 4, ms);
    if (count != 1)
        return count == 0 ? 0 : -1;
    EXPECT((long long)events[0].data.u64, (long long)expected_data, "epoll_ctl: the data are returned as they were given");
    return (int)events[0].events;
}

static int drain(void) {
    int sum = 0;
    ssize_t count;
    set_nonblocking(far, 1);
    while ((count = read(far, got.data_bytes, sizeof got.data_bytes)) > 0)
        sum += (int)count;
    HOLDS(count == -1 && errno == EAGAIN, "POSIX read: EAGAIN");
    return sum;
}

static void level(void) {
    prepare();
    EXPECT(add(far, EPOLLIN, 77), 0, "EPOLL_CTL_ADD");
    EXPECT(events_within(0, 77), 0, "epoll_wait: nothing is readable");
    EXPECT(write(near, "x", 1), 1, "write");
    EXPECT(events_within(1000, 77), EPOLLIN, "epoll_wait: readable");
    EXPECT(events_within(0, 77), EPOLLIN, "epoll(7): level-triggered: again");
    EXPECT(drain(), 1, "read");
    EXPECT(events_within(0, 77), 0, "epoll(7): no longer readable");
    EXPECT(write(near, "x", 1), 1, "write");
    EXPECT(events_within(1000, 77), EPOLLIN, "epoll_wait: readable again");
}

static void level_after_blocking_reads(void) {
    prepare();
    char byte;
    EXPECT(add(far, EPOLLIN, 77), 0, "EPOLL_CTL_ADD");
    for (int round = 0; round < 5; round++) {
        EXPECT(write(near, "x", 1), 1, "write");
        EXPECT(events_within(1000, 77), EPOLLIN, "epoll_wait: readable");
        EXPECT(read(far, &byte, 1), 1, "read");
        EXPECT(events_within(0, 77), 0, "epoll(7): a descriptor without data is not readable, though no read has failed");
    }
}

static void edge(void) {
    prepare();
    EXPECT(add(far, EPOLLIN | EPOLLET, 1), 0, "EPOLL_CTL_ADD");
    EXPECT(write(near, "x", 1), 1, "write");
    EXPECT(events_within(1000, 1), EPOLLIN, "epoll(7): an edge");
    EXPECT(events_within(50, 1), 0, "epoll(7): no second event for the same data");
    EXPECT(drain(), 1, "read until EAGAIN");
    for (int round = 0; round < 10; round++) {
        EXPECT(write(near, "yz", 2), 2, "write");
        EXPECT(events_within(1000, 1), EPOLLIN, "epoll(7): an edge after each EAGAIN");
        EXPECT(drain(), 2, "read until EAGAIN");
    }
}

static void an_edge_for_data_from_before(void) {
    prepare();
    EXPECT(write(near, "x", 1), 1, "write");
    EXPECT(add(far, EPOLLIN | EPOLLET, 1), 0, "EPOLL_CTL_ADD");
    EXPECT(events_within(1000, 1), EPOLLIN, "epoll(7): data that was there before the descriptor was added");
}

static void edges_for_room(void) {
    prepare();
    EXPECT(add(near, EPOLLOUT | EPOLLET, 5), 0, "EPOLL_CTL_ADD");
    EXPECT(events_within(1000, 5), EPOLLOUT, "epoll(7): writable at first");
    for (int round = 0; round < 5; round++) {
        fill(near);
        EXPECT(events_within(20, 5), 0, "epoll(7): no event while it is full");
        HOLDS(drain() > 0, "read");
        EXPECT(events_within(1000, 5), EPOLLOUT, "epoll(7): an edge when there is room again");
    }
}

static void one_shot(void) {
    prepare();
    EXPECT(add(far, EPOLLIN | EPOLLONESHOT, 9), 0, "EPOLL_CTL_ADD");
    EXPECT(write(near, "x", 1), 1, "write");
    EXPECT(events_within(1000, 9), EPOLLIN, "epoll_ctl: EPOLLONESHOT: once");
    EXPECT(events_within(20, 9), 0, "epoll_ctl: EPOLLONESHOT: not twice");
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = 10};
    EXPECT(epoll_ctl(set, EPOLL_CTL_MOD, far, &event), 0, "EPOLL_CTL_MOD");
    EXPECT(events_within(1000, 10), EPOLLIN, "epoll_ctl: armed again");
}

static void both_kinds(void) {
    prepare();
    int event = eventfd(0, EFD_NONBLOCK);
    EXPECT(add(far, EPOLLIN, 1), 0, "EPOLL_CTL_ADD of a stream");
    EXPECT(add(event, EPOLLIN, 2), 0, "EPOLL_CTL_ADD of an event descriptor");
    EXPECT(add(near, EPOLLIN | EPOLLOUT, 3), 0, "EPOLL_CTL_ADD of the other end");
    struct epoll_event events[8];
    EXPECT(epoll_wait(set, events, 8, 0), 1, "epoll_wait: the writable end alone");
    EXPECT(write(near, "x", 1), 1, "write");
    EXPECT(eventfd_write(event, 1), 0, "eventfd_write");
    EXPECT(epoll_wait(set, events, 8, 1000), 3, "epoll_wait: all of them");
    int first = epoll_wait(set, events, 1, 0);
    EXPECT(first, 1, "epoll_wait: at most maxevents");
    pid_t child = fork();
    if (child == 0) {
        sleep_ms(50);
        _exit(write(far, "back", 4) == 4 ? 0 : 1);
    }
    struct epoll_event change = {.events = EPOLLIN, .data.u64 = 3};
    EXPECT(epoll_ctl(set, EPOLL_CTL_MOD, near, &change), 0, "EPOLL_CTL_MOD");
    EXPECT(epoll_ctl(set, EPOLL_CTL_DEL, far, NULL), 0, "EPOLL_CTL_DEL");
    EXPECT(epoll_ctl(set, EPOLL_CTL_DEL, event, NULL), 0, "EPOLL_CTL_DEL");
    EXPECT(events_within(2000, 3), EPOLLIN, "epoll_wait: woken by a write of another process");
    EXPECT(ended_within(child, 2000), 0, "the writer ends");
}

static void errors_of_epoll_ctl(void) {
    prepare();
    struct epoll_event event = {.events = EPOLLIN};
    FAILS(epoll_ctl(set, EPOLL_CTL_MOD, far, &event), ENOENT, "epoll_ctl: MOD of what is not in the set");
    FAILS(epoll_ctl(set, EPOLL_CTL_DEL, far, &event), ENOENT, "epoll_ctl: DEL of what is not in the set");
    EXPECT(add(far, EPOLLIN, 1), 0, "EPOLL_CTL_ADD");
    FAILS(add(far, EPOLLIN, 1), EEXIST, "epoll_ctl: ADD twice");
    FAILS(epoll_ctl(set, EPOLL_CTL_ADD, 999, &event), EBADF, "epoll_ctl: a descriptor that is not open");
    FAILS(epoll_ctl(far, EPOLL_CTL_ADD, near, &event), EINVAL, "epoll_ctl: a stream is no epoll set");
    FAILS(epoll_wait(far, &event, 1, 0), EINVAL, "epoll_wait: a stream is no epoll set");
    FAILS(epoll_wait(set, &event, 0, 0), EINVAL, "epoll_wait: maxevents 0");
    FAILS(epoll_wait(999, &event, 1, 0), EBADF, "epoll_wait: EBADF");
}

static void closing_removes_from_the_set(void) {
    prepare();
    EXPECT(add(far, EPOLLIN, 1), 0, "EPOLL_CTL_ADD");
    EXPECT(write(near, "x", 1), 1, "write");
    EXPECT(events_within(1000, 1), EPOLLIN, "epoll_wait");
    close(far);
    EXPECT(events_within(0, 1), 0, "epoll(7): closing the last descriptor removes it");
    int ends[2];
    open_pipe(ends);
    EXPECT(add(ends[0], EPOLLIN, 2), 0, "epoll(7): the descriptor may be added anew");
    EXPECT(write(ends[1], "y", 1), 1, "write");
    EXPECT(events_within(1000, 2), EPOLLIN, "epoll(7): the new stream is watched");
}

static void a_hangup(void) {
    prepare();
    EXPECT(add(far, EPOLLIN | EPOLLRDHUP, 1), 0, "EPOLL_CTL_ADD");
    close(near);
    int events = events_within(1000, 1);
    EXPECT(events & EPOLLHUP, EPOLLHUP, "epoll_ctl: EPOLLHUP is always reported");
}

static long long cpu_ms(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return used.tv_sec * 1000LL + used.tv_nsec / 1000000;
}

static void priorities(void) {
    prepare();
    EXPECT(add(far, EPOLLPRI, 1), 0, "EPOLL_CTL_ADD");
    EXPECT(write(near, "x", 1), 1, "write");
    long long before = cpu_ms();
    EXPECT(events_within(200, 1), 0, "STREAMS 4.14: POLLPRI only for M_PCPROTO");
    HOLDS(cpu_ms() - before < 100, "a wait that sleeps");
    EXPECT(put_message(near, "c", NULL, RS_HIPRI), 0, "putmsg");
    EXPECT(events_within(1000, 1), EPOLLPRI, "STREAMS 4.14: POLLPRI for M_PCPROTO");
}

static void epoll_pwait_with_a_mask(void) {
    prepare();
    EXPECT(add(far, EPOLLIN, 1), 0, "EPOLL_CTL_ADD");
    on_signal(SIGUSR1, count_signal, 0);
    sigset_t blocked, none;
    sigemptyset(&none), sigemptyset(&blocked), sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    kill(getpid(), SIGUSR1);
    struct epoll_event event;
    EXPECT(epoll_wait(set, &event, 1, 20), 0, "epoll_wait: the signal is blocked");
    FAILS(epoll_pwait(set, &event, 1, 5000, &none), EINTR, "epoll_pwait: a pending signal that the mask lets through");
    EXPECT(signals_seen, 1, "the signal was delivered");
    long long start = now_ms();
    EXPECT(epoll_wait(set, &event, 1, 100), 0, "epoll_wait: 0 after the time-out");
    HOLDS(now_ms() - start >= 99, "epoll_wait: the time-out");
}

static void a_set_in_a_set(void) {
    prepare();
    EXPECT(add(far, EPOLLIN, 1), 0, "EPOLL_CTL_ADD");
    struct pollfd one = {.fd = set, .events = POLLIN};
    EXPECT(poll(&one, 1, 0), 0, "epoll(7): a set without events is not readable");
    EXPECT(write(near, "x", 1), 1, "write");
    EXPECT(poll(&one, 1, 1000), 1, "epoll(7): a set with events is readable");
}

static void dup_stays_in_the_set(void) {
    prepare();
    int copy = dup(far);
    EXPECT(add(copy, EPOLLIN, 4), 0, "EPOLL_CTL_ADD of a duplicate");
    EXPECT(write(near, "x", 1), 1, "write");
    EXPECT(events_within(1000, 4), EPOLLIN, "epoll(7): a duplicate is watched");
    close(far);
    EXPECT(events_within(1000, 4), EPOLLIN, "epoll(7): closing another descriptor of the same end removes nothing");
}

/* epoll(7): a read that returns less than it was asked for has read everything. */
static void an_edge_after_a_short_read(void) {
    prepare();
    set_nonblocking(far, 1);
    EXPECT(add(far, EPOLLIN | EPOLLOUT | EPOLLET, 1), 0, "EPOLL_CTL_ADD");
    EXPECT(events_within(1000, 1), EPOLLOUT, "epoll(7): writable at first");
    for (int round = 0; round < 10; round++) {
        EXPECT(write(near, "abc", 3), 3, "write");
        EXPECT(events_within(1000, 1) & EPOLLIN, EPOLLIN, "epoll(7): an edge after each short read");
        EXPECT(read(far, got.data_bytes, sizeof got.data_bytes), 3, "read: less than it was asked for");
        EXPECT(events_within(0, 1), 0, "epoll(7): nothing more");
    }
}

static void an_edge_after_a_partial_read(void) {
    prepare();
    set_nonblocking(far, 1);
    EXPECT(add(far, EPOLLIN | EPOLLET, 1), 0, "EPOLL_CTL_ADD");
    for (int round = 0; round < 300; round++) {
        EXPECT(write(near, "abc", 3), 3, "write");
        EXPECT(events_within(1000, 1), EPOLLIN, "epoll(7): an edge for each arrival, whatever is unread");
        EXPECT(read(far, got.data_bytes, 1), 1, "read: a part");
        EXPECT(events_within(0, 1), 0, "epoll(7): no event for what was left");
    }
    pid_t child = fork();
    if (child == 0) {
        sleep_ms(50);
        _exit(write(near, "d", 1) == 1 ? 0 : 1);
    }
    EXPECT(events_within(5000, 1), EPOLLIN, "epoll(7): an edge for what another process writes meanwhile");
    EXPECT(ended_within(child, 2000), 0, "the writer ends");
    EXPECT(drain(), 601, "read");
}

static void room_after_a_short_write(void) {
    prepare();
    set_nonblocking(near, 1);
    EXPECT(add(near, EPOLLOUT | EPOLLET, 1), 0, "EPOLL_CTL_ADD");
    EXPECT(events_within(1000, 1), EPOLLOUT, "epoll(7): writable at first");
    static char large[1 << 20];
    for (int round = 0; round < 3; round++) {
        ssize_t written = write(near, large, sizeof large);
        if (written == (ssize_t)sizeof large)
            return;
        HOLDS(written > 0, "write: what there is room for");
        if (round < 2)
            HOLDS(drain() > 0, "read, before the wait");
        else
            EXPECT(events_within(20, 1), 0, "epoll(7): full");
        if (round == 2)
            HOLDS(drain() > 0, "read");
        EXPECT(events_within(1000, 1), EPOLLOUT, "epoll(7): an edge after a short write");
    }
}

static void copies_of_a_set(void) {
    prepare();
    EXPECT(add(far, EPOLLIN, 7), 0, "EPOLL_CTL_ADD");
    EXPECT(write(near, "x", 1), 1, "write");
    int copies[] = {dup(set), fcntl(set, F_DUPFD_CLOEXEC, 100), dup2(set, 120), dup3(set, 121, O_CLOEXEC)};
    close(set);
    for (int at = 0; at < 4; at++) {
        set = copies[at];
        EXPECT(events_within(1000, 7), EPOLLIN, "dup: the same set, with the program's data");
        EXPECT(write(near, "x", 1), 1, "write");
        HOLDS(drain() > 0, "read");
        EXPECT(events_within(0, 7), 0, "dup: the same set, which knows what is ready");
        EXPECT(write(near, "x", 1), 1, "write");
        if (at < 3)
            close(copies[at]);
    }
    struct epoll_event change = {.events = EPOLLIN, .data.u64 = 8};
    EXPECT(epoll_ctl(set, EPOLL_CTL_MOD, far, &change), 0, "EPOLL_CTL_MOD by another descriptor");
    EXPECT(events_within(1000, 8), EPOLLIN, "EPOLL_CTL_MOD by another descriptor");
    close(set);
    set = epoll_create1(0);
    EXPECT(events_within(0, 8), 0, "a new set with the descriptor of a closed one is empty");
}

static void the_same_data_for_all(void) {
    int ends[3][2];
    set = epoll_create1(0);
    for (int at = 0; at < 3; at++) {
        open_pipe(ends[at]);
        EXPECT(add(ends[at][1], EPOLLIN, 0), 0, "EPOLL_CTL_ADD");
    }
    int event = eventfd(0, EFD_NONBLOCK);
    EXPECT(add(event, EPOLLIN, 0), 0, "EPOLL_CTL_ADD of an event descriptor");
    struct epoll_event events[8];
    EXPECT(epoll_wait(set, events, 8, 0), 0, "epoll_wait: none");
    EXPECT(eventfd_write(event, 1), 0, "eventfd_write");
    EXPECT(epoll_wait(set, events, 8, 1000), 1, "epoll_wait: the event descriptor");
    EXPECT(write(ends[0][0], "x", 1), 1, "write");
    EXPECT(write(ends[2][0], "x", 1), 1, "write");
    EXPECT(epoll_wait(set, events, 8, 1000), 3, "epoll_wait: two streams and the event descriptor");
    EXPECT(read(ends[0][1], got.data_bytes, 8), 1, "read");
    EXPECT(read(ends[2][1], got.data_bytes, 8), 1, "read");
    EXPECT(epoll_wait(set, events, 8, 0), 1, "epoll_wait: the event descriptor alone");
}

static void a_child_and_its_parent_share_a_set(void) {
    prepare();
    EXPECT(add(far, EPOLLIN, 1), 0, "EPOLL_CTL_ADD");
    pid_t child = fork();
    if (child == 0) {
        /* What the child closes stays open in the parent, and in the set. */
        close(far);
        int ends[2];
        open_pipe(ends);
        if (add(ends[0], EPOLLIN, 42) != 0 || write(ends[1], "x", 1) != 1)
            _exit(1);
        sleep_ms(300);
        _exit(0);
    }
    EXPECT(events_within(2000, 42), EPOLLIN, "epoll(7): what a child adds has its own data");
    EXPECT(ended_within(child, 2000), 0, "the child ends");
    EXPECT(write(near, "x", 1), 1, "write");
    EXPECT(events_within(2000, 1), EPOLLIN, "epoll(7): a child's close removes nothing of its parent's");
}

static void dup2_over_a_member_removes_it(void) {
    prepare();
    EXPECT(add(far, EPOLLIN, 1), 0, "EPOLL_CTL_ADD");
    EXPECT(write(near, "x", 1), 1, "write");
    int copy = dup(far), null = open("/dev/null", O_RDONLY);
    EXPECT(dup2(null, far), far, "dup2");
    EXPECT(events_within(20, 1), 0, "epoll(7): what dup2 closes leaves the set");
    EXPECT(write(near, "y", 1), 1, "write");
    EXPECT(epoll_wait(set, (struct epoll_event[1]){{0}}, 1, 20), 0, "epoll(7): what dup2 closes leaves the set");
    EXPECT(add(copy, EPOLLIN, 2), 0, "EPOLL_CTL_ADD of the other descriptor");
    EXPECT(events_within(1000, 2), EPOLLIN, "the stream has its data");
}

static void one_shot_of_a_hung_up_stream(void) {
    prepare();
    EXPECT(add(far, EPOLLIN | EPOLLONESHOT, 9), 0, "EPOLL_CTL_ADD");
    close(near);
    HOLDS(events_within(1000, 9) & EPOLLHUP, "EPOLLHUP");
    long long before = cpu_ms();
    EXPECT(events_within(200, 9), 0, "epoll_ctl: EPOLLONESHOT: not twice, a hang-up neither");
    HOLDS(cpu_ms() - before < 100, "a wait that sleeps");
}

static void more_edges_than_room_in_the_array(void) {
    int ends[2][2];
    set = epoll_create1(0);
    for (int at = 0; at < 2; at++) {
        open_pipe(ends[at]);
        EXPECT(add(ends[at][1], EPOLLIN | EPOLLET, (uint64_t)at), 0, "EPOLL_CTL_ADD");
    }
    struct epoll_event events[2];
    for (int round = 0; round < 5; round++) {
        for (int at = 0; at < 2; at++)
            EXPECT(write(ends[at][0], "x", 1), 1, "write");
        EXPECT(epoll_wait(set, events, 1, 1000), 1, "epoll_wait: one of two edges");
        EXPECT(epoll_wait(set, events + 1, 1, 1000), 1, "epoll_wait: the other one");
        EXPECT((long long)(events[0].data.u64 + events[1].data.u64), 1, "epoll_wait: each once");
    }
}

static int tokens[2], reported;

static void *wait_for_one_shot(void *unused) {
    struct epoll_event event;
    char byte;
    (void)unused;
    while (epoll_wait(set, &event, 1, -1) == 1) {
        if (event.data.u64 == 99)
            return NULL;
        __atomic_fetch_add(&reported, 1, __ATOMIC_SEQ_CST);
        if (read(far, &byte, 1) != 1 || write(tokens[1], "t", 1) != 1)
            break;
    }
    return NULL;
}

static void one_shot_for_several_threads(void) {
    enum { THREADS = 4, ROUNDS = 300 };
    pthread_t threads[THREADS];
    char byte;
    prepare();
    EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, tokens), 0, "socketpair");
    for (int at = 0; at < THREADS; at++)
        NEEDS(pthread_create(&threads[at], NULL, wait_for_one_shot, NULL) == 0, "pthread_create");
    /* The threads wait on an empty set when the stream is added. */
    sleep_ms(20);
    reported = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = 1};
        EXPECT(epoll_ctl(set, round == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, far, &event), 0, "epoll_ctl");
        EXPECT(write(near, "x", 1), 1, "write");
        EXPECT(read(tokens[0], &byte, 1), 1, "one thread is told");
        EXPECT(__atomic_load_n(&reported, __ATOMIC_SEQ_CST), round + 1, "epoll_ctl: EPOLLONESHOT: to one thread");
    }
    int end = eventfd(1, 0);
    EXPECT(add(end, EPOLLIN, 99), 0, "EPOLL_CTL_ADD");
    for (int at = 0; at < THREADS; at++)
        pthread_join(threads[at], NULL);
}

static void waits_do_not_become_slower(void) {
    prepare();
    EXPECT(add(far, EPOLLIN, 1), 0, "EPOLL_CTL_ADD");
    pid_t child = fork();
    if (child == 0) {
        for (int round = 0; round < 2000; round++) {
            char byte;
            if (write(near, "x", 1) != 1 || read(near, &byte, 1) != 1)
                _exit(1);
        }
        _exit(0);
    }
    long long start = now_ms(), early = 0;
    for (int round = 0; round < 2000; round++) {
        EXPECT(events_within(2000, 1), EPOLLIN, "epoll_wait");
        EXPECT(read(far, got.data_bytes, 8), 1, "read");
        EXPECT(write(far, "y", 1), 1, "write");
        if (round == 199)
            early = now_ms() - start;
    }
    long long late = (now_ms() - start - early) / 9;
    EXPECT(ended_within(child, 2000), 0, "the writer ends");
    /* 200 rounds take some 10 ms. They took 100 ms when each wait looked once more than needed. */
    HOLDS(late < 4 * early + 40, "epoll_wait: no slower than before");
}

/* Returns the CPU time of this thread. Other load of the machine adds nothing to it, unlike to the time of a clock. */
static long long used_us(void) {
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return used.tv_sec * 1000000LL + used.tv_nsec / 1000;
}

static void many_members(void) {
    enum { COUNT = 400, WAITS = 200 };
    int ends[COUNT][2];
    struct rlimit limit = {4 * COUNT + 4096, 4 * COUNT + 4096};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    set = epoll_create1(0);
    for (int at = 0; at < COUNT; at++) {
        open_pipe(ends[at]);
        EXPECT(add(ends[at][1], EPOLLIN, (uint64_t)at), 0, "EPOLL_CTL_ADD");
    }
    long long start = used_us();
    for (int round = 0; round < WAITS; round++) {
        int at = round * 7 % COUNT;
        EXPECT(write(ends[at][0], "x", 1), 1, "write");
        EXPECT(events_within(1000, (uint64_t)at), EPOLLIN, "epoll_wait: the one of many");
        EXPECT(read(ends[at][1], got.data_bytes, 8), 1, "read");
    }
    EXPECT(events_within(0, 0), 0, "epoll_wait: none of many");
    /* One look at each of 400 streams takes some 1 ms; a wait needs no such look. */
    HOLDS(used_us() - start < WAITS * 500LL, "epoll_wait: does not look at each member");
    for (int at = 0; at < COUNT; at++)
        close(ends[at][0]), close(ends[at][1]);
}

static const struct test tests[] = {
    TEST(level),
    TEST(level_after_blocking_reads),
    TEST(edge),
    TEST(an_edge_for_data_from_before),
    TEST(edges_for_room),
    TEST(one_shot),
    TEST(both_kinds),
    TEST(errors_of_epoll_ctl),
    TEST(closing_removes_from_the_set),
    TEST(a_hangup),
    TEST(priorities),
    TEST(epoll_pwait_with_a_mask),
    TEST(a_set_in_a_set),
    TEST(dup_stays_in_the_set),
    TEST(an_edge_after_a_short_read),
    TEST(an_edge_after_a_partial_read),
    TEST(room_after_a_short_write),
    TEST(copies_of_a_set),
    TEST(the_same_data_for_all),
    TEST(a_child_and_its_parent_share_a_set),
    TEST(dup2_over_a_member_removes_it),
    TEST(one_shot_of_a_hung_up_stream),
    TEST(more_edges_than_room_in_the_array),
    TEST(one_shot_for_several_threads),
    TEST(waits_do_not_become_slower),
    TEST(many_members),
};
MAIN(tests)
