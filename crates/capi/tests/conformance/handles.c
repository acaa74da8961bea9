/* Threads make short reads and writes again and again. Once a thread knows a stream, such calls take a fast path through the
 * library. None of them may reach another stream, or disturb another call. (POSIX: a call is made on the file that the descriptor
 * is at that time; calls of threads, processes and signal handlers are atomic.) */
#include "joined.h"
#include "stream.h"
#include <sys/time.h>

enum { AHEAD = 3 };

/* Words that a writer sends to another process or thread. */
static int few, many;

__attribute__((constructor)) static void set_extents(void) {
    few = (int)extent(2000);
    many = (int)extent(20000);
}

static void *joined(pthread_t thread, const char *rule) { return joined_within(thread, 20, rule); }

/* A word of a writer: the writer's number, and how many words it has written before. */
static int write_words(int fd, int writer, int count) {
    for (int at = 0; at < count; at++) {
        int words[2] = {writer, at};
        if (write(fd, words, sizeof words) != sizeof words)
            return -1;
    }
    return 0;
}

/* Reads words of two writers until each has sent its count. Returns what is wrong, or 0. */
static int read_words(int fd, int count) {
    int next[2] = {0, 0};
    while (next[0] < count || next[1] < count) {
        int words[2] = {-1, -1};
        if (read_all(fd, words, sizeof words) != sizeof words)
            return 1;
        if (words[0] < 0 || words[0] > 1 || words[1] != next[words[0]])
            return 2;
        next[words[0]]++;
    }
    return 0;
}

static pthread_barrier_t turn;

/* Writes in each round the letter of the round. The thread knows the stream of the round before. */
static void *write_in_rounds(void *rounds) {
    intptr_t wrong = 0;
    for (int round = 0; round < (int)(intptr_t)rounds; round++) {
        char letter = (char)('a' + round % 26);
        pthread_barrier_wait(&turn);
        for (int at = 0; at < AHEAD; at++)
            wrong += write(near, &letter, 1) != 1;
        pthread_barrier_wait(&turn);
    }
    return (void *)wrong;
}

static void descriptor_reused_for_another_stream(void) {
    enum { ROUNDS = 300 };
    int first = -1, mixed = 0, moved = 0;
    pthread_barrier_init(&turn, NULL, 2);
    pthread_t writer = started(write_in_rounds, (void *)(intptr_t)ROUNDS);
    for (int round = 0; round < ROUNDS; round++) {
        char bytes[AHEAD + 1];
        open_ends();
        if (first < 0)
            first = near;
        moved += near != first;
        pthread_barrier_wait(&turn);
        pthread_barrier_wait(&turn);
        for (int at = 0; at < AHEAD; at++)
            mixed += read(far, &bytes[at], 1) != 1 || bytes[at] != 'a' + round % 26;
        close(near);
        close(far);
    }
    EXPECT(moved, 0, "POSIX open: the lowest descriptor that is free");
    EXPECT(mixed, 0, "POSIX write: to the file that the descriptor is now");
    EXPECT((intptr_t)joined(writer, "the writer ends"), 0, "each write succeeds");
}

static volatile int current;

/* Writes again and again the number of the stream that the descriptor is, or was when the number was read. */
static void *write_current(void *unused) {
    (void)unused;
    int word;
    while ((word = __atomic_load_n(&current, __ATOMIC_SEQ_CST)) >= 0)
        /* libheadwater(7): a call that waits on a stream ends when the last descriptor of the stream is closed. */
        if (write(near, &word, sizeof word) != sizeof word && errno != EBADF)
            return (void *)1;
    return NULL;
}

static void descriptor_replaced_while_threads_write(void) {
    pthread_t writers[2];
    int late = 0, words = 0;
    open_ends();
    current = 0;
    for (int at = 0; at < 2; at++)
        writers[at] = started(write_current, NULL);
    for (int round = 1; round <= 200; round++) {
        int ends[2], word, old = far;
        open_pipe(ends);
        EXPECT(dup2(ends[0], near), near, "POSIX dup2: the descriptor is the other stream at once");
        __atomic_store_n(&current, round, __ATOMIC_SEQ_CST);
        close(ends[0]);
        far = ends[1];
        while (read_all(old, &word, sizeof word) == sizeof word) {
            words++;
            late += word >= round;
        }
        close(old);
        sleep_ms(1);
    }
    current = -1;
    set_nonblocking(far, 1);
    for (int word; read(far, &word, sizeof word) == sizeof word;)
        words++;
    for (int at = 0; at < 2; at++)
        EXPECT((intptr_t)joined(writers[at], "a writer ends"), 0, "POSIX dup2: each write finds one stream or the other");
    EXPECT(late, 0, "POSIX dup2: no write reaches the old stream once the descriptor is the new one");
    HOLDS(words > 200, "the writers write meanwhile");
}

static volatile int copy_of_near;

/* Writes to the copy of each round until the copy is closed. Returns how many words, or -1 after an error other than EBADF. */
static void *write_until_closed(void *rounds) {
    intptr_t words = 0;
    for (int round = 0; round < (int)(intptr_t)rounds; round++) {
        pthread_barrier_wait(&turn);
        errno = 0;
        while (errno == 0 || errno == EAGAIN) {
            errno = 0;
            words += write(copy_of_near, &(int){round}, sizeof round) == sizeof round;
        }
        if (errno != EBADF)
            words = -(1 << 30);
        pthread_barrier_wait(&turn);
    }
    return (void *)(words < 0 ? -1 : words);
}

static void descriptor_closed_while_a_thread_writes(void) {
    const int rounds = (int)extent(500);
    intptr_t words = 0;
    open_ends();
    set_nonblocking(near, 1);
    set_nonblocking(far, 1);
    pthread_barrier_init(&turn, NULL, 2);
    pthread_t writer = started(write_until_closed, (void *)(intptr_t)rounds);
    for (int round = 0; round < rounds; round++) {
        int word;
        copy_of_near = dup(near);
        pthread_barrier_wait(&turn);
        for (volatile int spin = 0; spin < round % 1000; spin++)
            ;
        EXPECT(close(copy_of_near), 0, "close");
        pthread_barrier_wait(&turn);
        while (read_all(far, &word, sizeof word) == sizeof word) {
            words++;
            if (word != round)
                EXPECT(word, round, "POSIX write: what is written to a descriptor is there");
        }
        FAILS(read(far, &word, sizeof word), EAGAIN, "POSIX close: the other descriptor of the stream is as it was");
    }
    EXPECT((intptr_t)joined(writer, "the writer ends"), words, "POSIX write: EBADF once the descriptor is closed, and no word is lost");
    EXPECT(write(near, "abcd", 4), 4, "the stream can be written to");
    EXPECT(read_all(far, (char[4]){0}, 4), 4, "the stream can be read");
}

static volatile int handled, refused, failed_otherwise;

static void write_in_handler(int number) {
    int words[2] = {1, handled}, saved = errno;
    (void)number;
    if (write(near, words, sizeof words) == sizeof words)
        handled++;
    else if (errno == EAGAIN)
        refused++; /* libheadwater(7): the handler would wait for the call that it has interrupted */
    else
        failed_otherwise = errno;
    errno = saved;
}

static int words_read[2];

/* Reads to the end. Returns whether a word is missing or torn. */
static void *read_to_end(void *fd) {
    int words[2];
    ssize_t count;
    while ((count = read_all((int)(intptr_t)fd, words, sizeof words)) == sizeof words)
        if (words[0] < 0 || words[0] > 1 || words[1] != words_read[words[0]]++)
            return (void *)1;
    return (void *)(intptr_t)(count == 0 ? 0 : 2);
}

static void handler_writes_to_the_interrupted_stream(void) {
    struct itimerval once = {{0, 0}, {0, 20}};
    sigset_t alarms;
    int wrong = 0, word = 0;
    open_ends();
    /* The reader's thread is not the one that signals interrupt. */
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    pthread_t reader = started(read_to_end, (void *)(intptr_t)far);
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    on_signal(SIGALRM, write_in_handler, SA_RESTART);
    for (long long end = now_ms() + 3000; now_ms() < end;) {
        /* The alarm is set again each time, because the handler takes longer than a write. Nearly every signal comes in the
         * middle of a write. */
        setitimer(ITIMER_REAL, &once, NULL);
        for (int at = 0, before = handled + refused; at < 2000 && handled + refused == before; at++, word++) {
            int words[2] = {0, word};
            wrong += write(near, words, sizeof words) != sizeof words;
        }
    }
    sleep_ms(10);
    close(near);
    EXPECT(wrong, 0, "POSIX write: with SA_RESTART it is not interrupted");
    EXPECT(failed_otherwise, 0, "libheadwater(7): a handler's call succeeds or fails with EAGAIN");
    HOLDS(handled > 0, "the handler's writes succeed where they need not wait");
    EXPECT((intptr_t)joined(reader, "the reader ends"), 0, "POSIX write: of a handler is whole, and that which it interrupts");
    EXPECT(words_read[0], word, "POSIX write: each one is there");
    EXPECT(words_read[1], handled, "POSIX write: each one of the handler is there");
}

static void forked_child_writes_to_the_parents_stream(void) {
    for (int round = 0; round < 5; round++) {
        open_ends();
        pid_t reader = fork();
        if (reader == 0)
            _exit(read_words(far, few));
        /* The parent knows the stream when it forks. */
        int words[2] = {0, 0};
        int failed_first = 0;
        for (; words[1] < 1000; words[1]++)
            failed_first += write(near, words, sizeof words) != sizeof words;
        EXPECT(failed_first, 0, "write");
        pid_t child = fork();
        if (child == 0)
            _exit(write_words(near, 1, few) == 0 ? 0 : 1);
        int failed = 0;
        for (; words[1] < few; words[1]++)
            failed += write(near, words, sizeof words) != sizeof words;
        EXPECT(failed, 0, "POSIX fork: the parent writes on");
        EXPECT(ended_within(child, 8000), 0, "POSIX fork: the child writes to its parent's stream");
        EXPECT(ended_within(reader, 8000), 0, "POSIX write: processes' calls are whole, each one's in their order");
        close(near);
        close(far);
    }
}

static void *write_three(void *unused) {
    (void)unused;
    return (void *)(intptr_t)(write(near, "xyz", 3) + write(near, "xyz", 3) + write(near, "xyz", 3));
}

/* Writes twice, waits until the other thread has done so too, and writes the rest. */
static void *write_beside(void *argument) {
    int writer = (int)(intptr_t)argument, words[2] = {writer, 0}, failed = 0;
    if (writer == 1)
        pthread_barrier_wait(&turn);
    for (; words[1] < 2; words[1]++)
        failed += write(near, words, sizeof words) != sizeof words;
    if (writer == 0)
        pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    for (; words[1] < many; words[1]++)
        failed += write(near, words, sizeof words) != sizeof words;
    return (void *)(intptr_t)failed;
}

static void threads_after_one_that_has_ended(void) {
    open_ends();
    pthread_barrier_init(&turn, NULL, 2);
    for (int round = 0; round < 8; round++) {
        char bytes[9];
        EXPECT((intptr_t)joined(started(write_three, NULL), "a thread ends"), 9, "write");
        EXPECT(read_all(far, bytes, 9), 9, "read");
        pthread_t writers[2] = {started(write_beside, (void *)0), started(write_beside, (void *)1)};
        EXPECT(read_words(far, many), 0, "POSIX write: threads' calls are whole, each one's in their order");
        for (int at = 0; at < 2; at++)
            EXPECT((intptr_t)joined(writers[at], "a thread ends"), 0, "each write succeeds");
    }
}

static void a_known_buffer_that_is_unmapped(void) {
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEEDS(page != MAP_FAILED, "mmap");
    open_ends();
    for (int at = 0; at < 3; at++) {
        EXPECT(write(near, page, 8), 8, "write");
        EXPECT(write(near, page, 8), 8, "write");
        EXPECT(read(far, page, 8), 8, "read");
    }
    NEEDS(mprotect(page, 4096, PROT_READ) == 0, "mprotect");
    FAILS(read(far, page, 8), EFAULT, "POSIX read: EFAULT");
    EXPECT(write(near, page, 8), 8, "POSIX write: of memory that can be read");
    NEEDS(munmap(page, 4096) == 0, "munmap");
    FAILS(write(near, page, 8), EFAULT, "POSIX write: EFAULT");
}

static void known_stream_closes_with_its_last_descriptor(void) {
    open_ends();
    int copy = dup(near);
    EXPECT(write(near, "a", 1), 1, "write");
    EXPECT(write(near, "b", 1), 1, "write");
    EXPECT(close(near), 0, "close");
    FAILS(write(near, "c", 1), EBADF, "POSIX write: EBADF");
    EXPECT(write(copy, "d", 1), 1, "POSIX dup: the other descriptor is open");
    EXPECT(write(copy, "e", 1), 1, "POSIX dup: the other descriptor is open");
    EXPECT(close(copy), 0, "close");
    FAILS(write(copy, "f", 1), EBADF, "POSIX write: EBADF");
    char bytes[10];
    EXPECT(read_all(far, bytes, sizeof bytes), 4, "POSIX read: to the end");
    BYTES(bytes, 4, "abde", "POSIX read: what was written");
}

static const struct test tests[] = {
    TEST(descriptor_reused_for_another_stream),
    TEST_OF(descriptor_replaced_while_threads_write, 30),
    TEST_OF(descriptor_closed_while_a_thread_writes, 60),
    TEST_OF(handler_writes_to_the_interrupted_stream, 30),
    TEST_OF(forked_child_writes_to_the_parents_stream, 60),
    TEST_OF(threads_after_one_that_has_ended, 60),
    TEST(a_known_buffer_that_is_unmapped),
    TEST(known_stream_closes_with_its_last_descriptor),
};
MAIN(tests)
