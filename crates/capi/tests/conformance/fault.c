/* EFAULT: each pointer argument of each entry point is NULL, an address without access, a read-only page that the call would
 * write, and a range that crosses into a barred page. The call fails before anything is consumed or sent (STREAMS 4.1). */
#include "stream.h"
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/select.h>

static char *writable, *read_only, *barred; /* a page each; `barred` follows `writable` */
static int mux;

static void map_pages(void) {
    writable = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    read_only = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEEDS(writable != MAP_FAILED && read_only != MAP_FAILED, "mmap");
    barred = writable + 4096;
    /* The pages lose their access and stay mapped: the next mmap would use a hole. */
    NEEDS(mprotect(barred, 4096, PROT_NONE) == 0, "mprotect");
}

static void prepare(void) {
    map_pages();
    open_ends();
    set_nonblocking(near, 1);
    set_nonblocking(far, 1);
}

/* The bad addresses for an object of that length. */
static void *bad_address(int which, size_t len) {
    switch (which) {
    case 0: return NULL;
    case 1: return (void *)16;
    case 2: return barred;
    case 3: return (void *)0x7fffffffffff0000; /* near the end of what a process may map */
    case 4: return barred - len / 2;          /* crosses; len of at least 2 */
    default: return read_only;
    }
}

enum { INPUTS = 5, OUTPUTS = 6 };

/* Makes a call with each bad address in turn; `p` is the address. */
#define EACH_FAULTS(kinds, len, call, rule) \
    for (int which = 0; which < (kinds); which++) { \
        char *p = bad_address(which, len); \
        in_context("address kind %d of " #call, which); \
        FAILS(call, EFAULT, rule); \
        in_context("%s", ""); \
    }

static void reads(void) {
    prepare();
    EXPECT(put_message(near, NULL, "plain", 0), 0, "putmsg");
    EACH_FAULTS(OUTPUTS, 5, read(far, p, 5), "POSIX read: EFAULT");
    struct iovec pieces[2] = {{writable, 2}, {NULL, 3}};
    EACH_FAULTS(OUTPUTS, 3, (pieces[1].iov_base = p, readv(far, pieces, 2)), "POSIX readv: EFAULT in an area");
    EACH_FAULTS(INPUTS, sizeof pieces, readv(far, (struct iovec *)p, 2), "POSIX readv: EFAULT in the vector");
    EXPECT(read(far, got.data_bytes, 100), 5, "STREAMS 4.1: nothing was consumed");
}

static void writes(void) {
    prepare();
    EACH_FAULTS(INPUTS, 100, write(near, p, 100), "POSIX write: EFAULT");
    struct iovec pieces[2] = {{writable, 2}, {NULL, 100}};
    EACH_FAULTS(INPUTS, 100, (pieces[1].iov_base = p, writev(near, pieces, 2)), "POSIX writev: EFAULT in an area");
    EACH_FAULTS(INPUTS, sizeof pieces, writev(near, (struct iovec *)p, 2), "POSIX writev: EFAULT in the vector");
    FAILS(read(far, got.data_bytes, 100), EAGAIN, "STREAMS 4.1: nothing was sent");
    EXPECT(write(near, read_only, 10), 10, "a read-only page is input");
}

static void large_buffers(void) {
    prepare();
    char *large = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEEDS(large != MAP_FAILED && mprotect(large + 40960, 4096, PROT_NONE) == 0, "mmap");
    FAILS(write(near, large, 1 << 20), EFAULT, "STREAMS 4.1: a hole in the middle of a large buffer");
    FAILS(read(far, got.data_bytes, 100), EAGAIN, "STREAMS 4.1: nothing was sent");
    EXPECT(write(near, large, 40960), 40960, "up to the hole");
    FAILS(read(far, large + 20480, 40960), EFAULT, "STREAMS 4.1: the data reach into the hole");
    EXPECT(read_all(far, large, 40960), 40960, "STREAMS 4.1: nothing was consumed");
    EXPECT(write(near, "abc", 3), 3, "write");
    ssize_t count = read(far, large + 40955, 100);
    HOLDS(count == 3 || (count == -1 && errno == EFAULT), "POSIX read: the count may be larger than what is there");
}

static void messages_out(void) {
    prepare();
    struct strbuf good = part("good"), bad = {.len = 100};
    EACH_FAULTS(INPUTS, 100, (bad.buf = p, putmsg(near, &bad, NULL, 0)), "POSIX putmsg: EFAULT in the control part");
    EACH_FAULTS(INPUTS, 100, (bad.buf = p, putmsg(near, &good, &bad, 0)), "POSIX putmsg: EFAULT in the data part");
    EACH_FAULTS(INPUTS, 100, (bad.buf = p, putpmsg(near, &bad, &good, 1, MSG_BAND)), "POSIX putpmsg: EFAULT in the control part");
    EACH_FAULTS(INPUTS, 100, (bad.buf = p, putpmsg(near, NULL, &bad, 1, MSG_BAND)), "POSIX putpmsg: EFAULT in the data part");
    for (int which = 1; which < INPUTS; which++) { /* NULL: no part */
        struct strbuf *p = bad_address(which, sizeof *p);
        in_context("address kind %d", which);
        FAILS(putmsg(near, p, &good, 0), EFAULT, "POSIX putmsg: EFAULT in ctlptr");
        FAILS(putmsg(near, &good, p, 0), EFAULT, "POSIX putmsg: EFAULT in dataptr");
        FAILS(putpmsg(near, p, &good, 1, MSG_BAND), EFAULT, "POSIX putpmsg: EFAULT in ctlptr");
        FAILS(putpmsg(near, &good, p, 1, MSG_BAND), EFAULT, "POSIX putpmsg: EFAULT in dataptr");
        in_context("%s", "");
    }
    EXPECT(get_message(far)->error, EAGAIN, "STREAMS 4.1: nothing was sent");
}

static void messages_in(void) {
    prepare();
    struct strbuf good = room(writable, 100), other = room(writable + 200, 100), bad = {.maxlen = 100};
    int flags = 0, any = MSG_ANY, band = 0;
    EXPECT(put_message(near, "control", "data", 0), 0, "putmsg");
    for (int which = 0; which < OUTPUTS; which++) {
        /* The parts are shorter than half of the range: that the page before the barred one is readable must not suffice. */
        bad.buf = bad_address(which, 4);
        in_context("address kind %d", which);
        FAILS(getmsg(far, &bad, &good, &flags), EFAULT, "POSIX getmsg: EFAULT in the control part");
        FAILS(getmsg(far, &good, &bad, &flags), EFAULT, "POSIX getmsg: EFAULT in the data part");
        FAILS(getpmsg(far, &bad, &good, &band, &any), EFAULT, "POSIX getpmsg: EFAULT in the control part");
        FAILS(getpmsg(far, &good, &bad, &band, &any), EFAULT, "POSIX getpmsg: EFAULT in the data part");
        void *words = bad_address(which, 4), *parts = bad_address(which, sizeof(struct strbuf));
        FAILS(getmsg(far, &good, &other, words), EFAULT, "POSIX getmsg: EFAULT in flagsp");
        if (which < INPUTS) /* a page of zeros asks for nothing */
            FAILS(getpmsg(far, &good, &other, &band, words), EFAULT, "POSIX getpmsg: EFAULT in flagsp");
        FAILS(getpmsg(far, &good, &other, words, &any), EFAULT, "POSIX getpmsg: EFAULT in bandp");
        if (which > 0) {
            FAILS(getmsg(far, parts, &good, &flags), EFAULT, "POSIX getmsg: EFAULT in ctlptr");
            FAILS(getmsg(far, &good, parts, &flags), EFAULT, "POSIX getmsg: EFAULT in dataptr");
            FAILS(getpmsg(far, parts, &good, &band, &any), EFAULT, "POSIX getpmsg: EFAULT in ctlptr");
            FAILS(getpmsg(far, &good, parts, &band, &any), EFAULT, "POSIX getpmsg: EFAULT in dataptr");
        }
        in_context("%s", "");
    }
    get_message(far);
    PARTS("control", "data", "STREAMS 4.1: nothing was consumed");
}

static void ioctls_that_store(void) {
    prepare();
    EXPECT(ioctl(far, I_PUSH, "testmod"), 0, "I_PUSH");
    EXPECT(ioctl(far, I_SETSIG, S_ERROR), 0, "I_SETSIG");
    EXPECT(put_message(near, "control", "data", 0), 0, "putmsg");
    EACH_FAULTS(OUTPUTS, 4, ioctl(far, I_NREAD, p), "POSIX I_NREAD: EFAULT");
    EACH_FAULTS(OUTPUTS, FMNAMESZ, ioctl(far, I_LOOK, p), "POSIX I_LOOK: EFAULT");
    EACH_FAULTS(OUTPUTS, 4, ioctl(far, I_GRDOPT, p), "POSIX I_GRDOPT: EFAULT");
    EACH_FAULTS(OUTPUTS, 4, ioctl(far, I_GWROPT, p), "POSIX I_GWROPT: EFAULT");
    EACH_FAULTS(OUTPUTS, 4, ioctl(far, I_GETSIG, p), "POSIX I_GETSIG: EFAULT");
    EACH_FAULTS(OUTPUTS, 4, ioctl(far, I_GETBAND, p), "POSIX I_GETBAND: EFAULT");
    EACH_FAULTS(OUTPUTS, 4, ioctl(far, I_GETCLTIME, p), "POSIX I_GETCLTIME: EFAULT");
    EACH_FAULTS(OUTPUTS, 4, ioctl(far, I_GERROPT, p), "SVR4 I_GERROPT: EFAULT");
    EACH_FAULTS(OUTPUTS, 4, ioctl(far, I_GET_HIWAT, p), "STREAMS 4.1: I_GET_HIWAT");
    EACH_FAULTS(OUTPUTS, 4, ioctl(far, I_GET_LOWAT, p), "STREAMS 4.1: I_GET_LOWAT");
    EACH_FAULTS(INPUTS, sizeof(struct strsigset), ioctl(far, I_EGETSIG, p), "SVR4 I_EGETSIG: EFAULT");
    EACH_FAULTS(OUTPUTS, sizeof(struct strpeek), ioctl(far, I_PEEK, p), "POSIX I_PEEK: EFAULT");
    struct strpeek peek = {.ctlbuf = room(writable, 100), .databuf = room(NULL, 100), .flags = 0};
    EACH_FAULTS(OUTPUTS, 4, (peek.databuf.buf = p, ioctl(far, I_PEEK, &peek)), "POSIX I_PEEK: EFAULT in the data part");
    struct str_list list = {.sl_nmods = 1};
    EACH_FAULTS(OUTPUTS, FMNAMESZ, (list.sl_modlist = (struct str_mlist *)p, ioctl(far, I_LIST, &list)), "POSIX I_LIST: EFAULT in the list");
    for (int which = 1; which < INPUTS; which++)
        FAILS(ioctl(far, I_LIST, bad_address(which, sizeof list)), EFAULT, "POSIX I_LIST: EFAULT");
    get_message(far);
    PARTS("control", "data", "STREAMS 4.1: nothing was consumed");
}

static void ioctls_that_load(void) {
    prepare();
    EXPECT(ioctl(near, I_PUSH, "testmod"), 0, "I_PUSH");
    /* A name may end before the barred page. */
    memset(writable, 'a', 4096);
    EACH_FAULTS(INPUTS, FMNAMESZ, ioctl(near, I_PUSH, p), "POSIX I_PUSH: EFAULT");
    EACH_FAULTS(INPUTS, FMNAMESZ, ioctl(near, I_FIND, p), "POSIX I_FIND: EFAULT");
    strcpy(barred - 8, "nullmod");
    EXPECT(ioctl(near, I_PUSH, barred - 8), 0, "POSIX I_PUSH: a name at the end of a page");
    EXPECT(ioctl(near, I_FIND, barred - 8), 1, "POSIX I_FIND: a name at the end of a page");
    EACH_FAULTS(INPUTS, 4, ioctl(near, I_SETCLTIME, p), "POSIX I_SETCLTIME: EFAULT");
    EACH_FAULTS(INPUTS, sizeof(struct bandinfo), ioctl(near, I_FLUSHBAND, p), "POSIX I_FLUSHBAND: EFAULT");
    EACH_FAULTS(INPUTS, sizeof(struct strsigset), ioctl(near, I_ESETSIG, p), "SVR4 I_ESETSIG: EFAULT");
    EACH_FAULTS(INPUTS, sizeof(struct strfdinsert), ioctl(near, I_FDINSERT, p), "POSIX I_FDINSERT: EFAULT");
    struct strfdinsert insert = {.ctlbuf = {.len = 16, .buf = NULL}, .databuf = part("d"), .fildes = far, .offset = 0};
    EACH_FAULTS(INPUTS, 16, (insert.ctlbuf.buf = p, ioctl(near, I_FDINSERT, &insert)), "POSIX I_FDINSERT: EFAULT in the control part");
    EACH_FAULTS(INPUTS, sizeof(struct strioctl), ioctl(near, I_STR, p), "POSIX I_STR: EFAULT");
    struct strioctl call = {.ic_cmd = 0x4801, .ic_timout = 5, .ic_len = 16};
    EACH_FAULTS(INPUTS, 16, (call.ic_len = 16, call.ic_dp = p, ioctl(near, I_STR, &call)), "POSIX I_STR: EFAULT in the data");
    EXPECT(get_message(far)->error, EAGAIN, "STREAMS 4.1: nothing was sent");
}

static void answers_to_read_only_memory(void) {
    prepare();
    EXPECT(ioctl(near, I_PUSH, "testmod"), 0, "I_PUSH");
    struct strioctl call = {.ic_cmd = 0x4801, .ic_timout = 5, .ic_len = 16, .ic_dp = read_only};
    FAILS(ioctl(near, I_STR, &call), EFAULT, "POSIX I_STR: EFAULT for the data of the answer");
    call = (struct strioctl){.ic_cmd = 0x4801, .ic_timout = 5, .ic_len = 1, .ic_dp = writable};
    EXPECT(ioctl(near, I_STR, &call), 1, "the next ioctl succeeds");
}

static void passed_files(void) {
    prepare();
    int null = open("/dev/null", O_RDWR);
    struct strrecvfd file = {.fd = -1};
    EXPECT(ioctl(near, I_SENDFD, null), 0, "I_SENDFD");
    int lowest = dup(null);
    close(lowest);
    EACH_FAULTS(OUTPUTS, sizeof file, ioctl(far, I_RECVFD, p), "POSIX I_RECVFD: EFAULT");
    EACH_FAULTS(OUTPUTS, sizeof file, ioctl(far, I_E_RECVFD, p), "SVR4 I_E_RECVFD: EFAULT");
    int again = dup(null);
    EXPECT(again, lowest, "STREAMS 4.1: a call that fails leaves no descriptor open");
    EXPECT(ioctl(far, I_RECVFD, &file), 0, "STREAMS 4.1: nothing was consumed");
}

static void waiting_calls(void) {
    prepare();
#ifndef __SANITIZE_ADDRESS__ /* whose own poll reads the array */
    EACH_FAULTS(INPUTS, sizeof(struct pollfd), poll((struct pollfd *)p, 1, 0), "POSIX poll: EFAULT");
#endif
    struct pollfd one = {.fd = far, .events = POLLIN};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(far, &set);
    struct timeval none = {0, 0};
    for (int which = 1; which < 3; which++) { /* NULL is no set, no time-out, no mask */
        void *p = bad_address(which, 16);
        in_context("address kind %d", which);
        FAILS(select(far + 1, p, NULL, NULL, &none), EFAULT, "Linux select: EFAULT in readfds");
        FAILS(select(far + 1, NULL, p, NULL, &none), EFAULT, "Linux select: EFAULT in writefds");
        FAILS(select(far + 1, NULL, NULL, p, &none), EFAULT, "Linux select: EFAULT in exceptfds");
        FAILS(ppoll(&one, 1, NULL, p), EFAULT, "Linux ppoll: EFAULT in the mask");
        in_context("%s", "");
    }
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    for (int which = 0; which < 3; which++)
        FAILS(epoll_ctl(epoll, EPOLL_CTL_ADD, far, bad_address(which, sizeof event)), EFAULT, "epoll_ctl: EFAULT");
    EXPECT(epoll_ctl(epoll, EPOLL_CTL_ADD, far, &event), 0, "EPOLL_CTL_ADD");
    EXPECT(write(near, "x", 1), 1, "write");
    for (int which = 0; which < 3; which++)
        FAILS(epoll_wait(epoll, bad_address(which, sizeof event), 1, 1000), EFAULT, "epoll_wait: EFAULT");
    EXPECT(epoll_wait(epoll, &event, 1, 1000), 1, "STREAMS 4.1: the event is still there");
}

static void names_and_pairs(void) {
    prepare();
    memset(writable, 'a', 4096);
    for (int which = 0; which < 3; which++) {
        void *p = bad_address(which, 16);
        in_context("address kind %d", which);
        FAILS(open(p, O_RDWR), EFAULT, "POSIX open: EFAULT");
        in_context("%s", "");
    }
    FAILS(open(barred - 8, O_RDWR), EFAULT, "POSIX open: a path that reaches into an barred page");
    int lowest = dup(near);
    close(lowest);
    for (int which = 0; which < OUTPUTS; which++)
        FAILS(pipe(bad_address(which, 8)), EFAULT, "Linux pipe: EFAULT");
    int again = dup(near);
    EXPECT(again, lowest, "STREAMS 4.1: a pipe that fails leaves no descriptor open");
}

static void files_that_are_no_streams(void) {
    map_pages();
    int zero = open("/dev/zero", O_RDWR), kernel = open("/proc/self/status", O_RDONLY);
    FAILS(read(zero, barred, 10), EFAULT, "Linux read: of a file that is no stream");
    FAILS(read(kernel, bad_pointer, 10), EFAULT, "Linux read: of a file that is no stream");
    HOLDS(write(zero, barred, 10) == 10 || errno == EFAULT, "Linux write: of a file that is no stream: what the kernel says");
}

static void a_linked_stream(void) {
    prepare();
    mux = open_device("mux");
    char id[4];
    int number = ioctl(mux, I_LINK, near);
    HOLDS(number > 0, "I_LINK");
    memcpy(id, &number, 4);
    struct strbuf control = {.len = 4, .buf = id}, data = {.len = 100};
    EACH_FAULTS(INPUTS, 100, (data.buf = p, putmsg(mux, &control, &data, 0)), "POSIX putmsg: EFAULT on a multiplexer");
    EXPECT(get_message(far)->error, EAGAIN, "STREAMS 4.1: nothing was sent");
}

/* Memory that a call has used and that is unmapped afterwards (Linux: EFAULT). */
#define GOES(page, action, rule) \
    do { \
        EXPECT(write(near, page, 10), 10, "memory that is there"); \
        EXPECT(read(far, page, 10), 10, "memory that is there"); \
        action; \
        FAILS(write(near, page, 10), EFAULT, rule); \
        EXPECT(write(near, "still here", 10), 10, "write"); \
        FAILS(read(far, page, 10), EFAULT, rule); \
        EXPECT(read(far, got.data_bytes, 100), 10, "STREAMS 4.1: nothing was consumed"); \
    } while (0)

static void memory_that_the_program_takes_away(void) {
    prepare();
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    GOES(page, pkey_mprotect(page, 4096, PROT_NONE, -1), "Linux pkey_mprotect");
    int file = memfd_create("cut", 0);
    NEEDS(ftruncate(file, 8192) == 0, "ftruncate");
    char *mapped = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    NEEDS(mapped != MAP_FAILED, "mmap");
    GOES(mapped + 4096, EXPECT(ftruncate(file, 4096), 0, "ftruncate"), "Linux ftruncate: of a mapped file");
    char path[60];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    GOES(mapped, EXPECT(truncate(path, 0), 0, "truncate"), "Linux truncate: of a mapped file");
    EXPECT(ftruncate(file, 8192), 0, "ftruncate");
    GOES(mapped, close(open(path, O_RDWR | O_TRUNC)), "Linux open: O_TRUNC of a mapped file");
}

#ifndef __SANITIZE_ADDRESS__ /* which has its own heap */
static void the_end_of_the_heap(void) {
    prepare();
    char *end = sbrk(0), *page = (char *)(((uintptr_t)end + 4095) & ~(uintptr_t)4095);
    EXPECT(brk(page + 4096), 0, "brk");
    GOES(page, EXPECT(brk(end), 0, "brk"), "Linux brk: a lower end");
    long more = page + 4096 - end;
    NEEDS(sbrk(more) == end, "sbrk");
    GOES(page, sbrk(-more), "Linux sbrk: a lower end");
}
#endif

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
/* Memory that the C library itself unmaps. The compiler must not know that it is freed memory. */
static char *volatile kept;

static void *lend_an_address(void *barrier) {
    char bytes[8192];
    kept = (char *)(((uintptr_t)bytes + 4095) & ~(uintptr_t)4095);
    pthread_barrier_wait(barrier);
    pthread_barrier_wait(barrier);
    return NULL;
}

static void memory_that_is_freed(void) {
    prepare();
    char *block = malloc(1 << 20);
    kept = block + 65536;
    GOES(kept, free(block), "glibc free: of a large block");
    enum { BLOCKS = 20 };
    char *blocks[BLOCKS];
    for (int at = 0; at < BLOCKS; at++)
        blocks[at] = malloc(100000);
    kept = blocks[BLOCKS - 1] + 50000;
    GOES(kept, for (int at = 0; at < BLOCKS; at++) free(blocks[at]), "glibc free: of the end of the heap");
}

static void a_threads_stack(void) {
    prepare();
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    /* This is more than glibc keeps for the next thread. */
    NEEDS(pthread_attr_setstacksize(&attributes, 100 << 20) == 0, "pthread_attr_setstacksize");
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 2);
    NEEDS(pthread_create(&thread, &attributes, lend_an_address, &barrier) == 0, "pthread_create");
    pthread_barrier_wait(&barrier);
    GOES(kept, (pthread_barrier_wait(&barrier), pthread_join(thread, NULL)), "glibc pthread_join: the stack is gone");
}
#endif

static const struct test tests[] = {
    TEST(reads),
    TEST(writes),
    TEST(large_buffers),
    TEST(messages_out),
    TEST(messages_in),
    TEST(ioctls_that_store),
    TEST(ioctls_that_load),
    TEST(answers_to_read_only_memory),
    TEST(passed_files),
    TEST(waiting_calls),
    TEST(names_and_pairs),
    TEST(files_that_are_no_streams),
    TEST(a_linked_stream),
    TEST(memory_that_the_program_takes_away),
#ifndef __SANITIZE_ADDRESS__
    TEST(the_end_of_the_heap),
#endif
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
    TEST(memory_that_is_freed),
    TEST(a_threads_stack),
#endif
};
MAIN(tests)
