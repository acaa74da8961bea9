/* The standard I/O library and other programs on the descriptor of a stream: fdopen, printf to a stream as standard output,
 * system, popen. Either the bytes arrive, or a call of one side fails: no data are lost without an error. (The C library's own
 * calls of write do not pass through an interposed write.) */
#include "stream.h"
#include <sys/syscall.h>

static void prepare(void) {
    open_ends();
    set_nonblocking(near, 1);
}

/* Checks that the reader gets the text, or that a side gets an error. `wrote` is whether the writer's calls succeeded. */
static void check_arrival(int fd, int wrote, const char *text, const char *rule) {
    char bytes[200];
    size_t len = 0;
    ssize_t count = 0;
    long long end = now_ms() + 3000;
    while (len < strlen(text) && now_ms() < end) {
        count = read(fd, bytes + len, sizeof bytes - len);
        if (count > 0)
            len += (size_t)count;
        else if (count == 0 || errno != EAGAIN)
            break;
        else
            sleep_ms(2);
    }
    int arrived = len == strlen(text) && memcmp(bytes, text, len) == 0, told = count == -1 && errno != EAGAIN;
    counted();
    if (!arrived && !told && wrote)
        failed(__FILE__, __LINE__, rule, "expected \"%s\" or an error, seen %zu bytes, then %zd %s", text, len, count,
               error_name(count, errno));
    dprintf(1, "%s: %s\n", rule, arrived ? "arrives" : told ? "the reader's call fails" : wrote ? "LOST" : "the writer's call fails");
}

static void fprintf_to_a_stream(void) {
    prepare();
    FILE *file = fdopen(far, "w");
    NEEDS(file != NULL, "POSIX fdopen");
    int wrote = fprintf(file, "line %d\n", 1) > 0 && fflush(file) == 0;
    check_arrival(near, wrote, "line 1\n", "fprintf to a stream");
}

static void fclose_of_a_stream(void) {
    prepare();
    FILE *file = fdopen(far, "w");
    int wrote = fputs("last words", file) >= 0 && fclose(file) == 0;
    check_arrival(near, wrote, "last words", "fclose with unwritten bytes");
}

static void fgets_from_a_stream(void) {
    prepare();
    EXPECT(write(near, "line\n", 5), 5, "write");
    close(near);
    FILE *file = fdopen(far, "r");
    char text[20] = "";
    char *line = fgets(text, sizeof text, file);
    /* A line that describes the descriptor shows that something went wrong, but it is not the data. */
    counted();
    if (line == NULL ? !ferror(file) : strcmp(line, "line\n") != 0 && strncmp(line, "headwater", 9) != 0)
        failed(__FILE__, __LINE__, "fgets from a stream", "expected \"line\\n\", or an error, seen \"%s\"", line ? line : "the end of the file");
    dprintf(1, "fgets from a stream: %s\n", line == NULL ? "fails" : strcmp(line, "line\n") == 0 ? "arrives" : "told in a line of text");
}

static void printf_to_standard_output(void) {
    prepare();
    int saved = dup(1);
    fflush(stdout);
    EXPECT(dup2(far, 1), 1, "POSIX dup2: a stream as standard output");
    int wrote = printf("by printf\n") > 0 && fflush(stdout) == 0;
    dup2(saved, 1);
    check_arrival(near, wrote, "by printf\n", "printf to a stream");
}

static void write_to_standard_output_and_error(void) {
    prepare();
    int saved[2] = {dup(1), dup(2)};
    fflush(stdout);
    dup2(far, 1);
    dup2(far, 2);
    ssize_t out = write(1, "to 1;", 5), error = write(2, "to 2;", 5);
    dup2(saved[0], 1);
    dup2(saved[1], 2);
    EXPECT(out, 5, "POSIX write to a stream as standard output");
    EXPECT(error, 5, "POSIX write to a stream as standard error");
    EXPECT(read(near, got.data_bytes, 20), 10, "POSIX write to a stream as standard output");
}

static void dprintf_to_a_stream(void) {
    prepare();
    int wrote = dprintf(far, "by %s", "dprintf") == 10;
    check_arrival(near, wrote, "by dprintf", "dprintf to a stream");
}

static void perror_to_a_stream(void) {
    prepare();
    int saved = dup(2);
    dup2(far, 2);
    errno = ENOENT;
    perror("p");
    dup2(saved, 2);
    check_arrival(near, 1, "p: No such file or directory\n", "perror to a stream");
}

static void system_beside_streams(void) {
    prepare();
    EXPECT(write(near, "kept", 4), 4, "write");
    EXPECT(system("echo beside > /dev/null"), 0, "POSIX system");
    EXPECT(read(far, got.data_bytes, 20), 4, "POSIX system: streams are as before");
}

static void a_program_writes_to_a_stream(void) {
    prepare();
    char command[60];
    snprintf(command, sizeof command, "echo by the shell >&%d", far);
    int status = system(command);
    close(far);
    check_arrival(near, status == 0, "by the shell\n", "a shell writes to a stream");
}

static void a_program_reads_from_a_stream(void) {
    prepare();
    int kernel[2] = {-1, -1};
    NEEDS(syscall(SYS_pipe2, kernel, 0) == 0, "a pipe of the kernel");
    EXPECT(write(near, "for cat\n", 8), 8, "write");
    pid_t child = fork();
    if (child == 0) {
        dup2(far, 0);
        dup2(kernel[1], 1);
        close(near), close(far), close(kernel[0]), close(kernel[1]);
        execlp("cat", "cat", NULL);
        _exit(99);
    }
    close(far), close(kernel[1]);
    close(near);
    ssize_t len = read_all(kernel[0], got.data_bytes, 300);
    int status = ended_within(child, 3000);
    counted();
    int arrived = len == 8 && memcmp(got.data_bytes, "for cat\n", 8) == 0, told = len >= 9 && memcmp(got.data_bytes, "headwater", 9) == 0;
    if (!arrived && !told && status == 0)
        failed(__FILE__, __LINE__, "cat reads from a stream", "expected the data, a message or a failure, seen %zd bytes, status %d", len, status);
    dprintf(1, "cat reads from a stream: %s\n", arrived ? "arrives" : told ? "told in a line of text" : "fails");
}

static void popen_works(void) {
    char text[50] = "";
    FILE *file = popen("echo out of a program", "r");
    NEEDS(file != NULL, "POSIX popen");
    HOLDS(fgets(text, sizeof text, file) != NULL && strcmp(text, "out of a program\n") == 0, "POSIX popen: reads what the program writes");
    EXPECT(pclose(file), 0, "POSIX pclose");
    file = popen("cat >/dev/null; exit 7", "w");
    NEEDS(file != NULL, "POSIX popen");
    HOLDS(fputs("into it", file) >= 0, "POSIX popen: writes");
    EXPECT(pclose(file), 7 << 8, "POSIX pclose: the status");
}

static void files_are_not_disturbed(void) {
    FILE *file = tmpfile();
    char text[20];
    NEEDS(file != NULL, "POSIX tmpfile");
    prepare();
    HOLDS(fprintf(file, "%d %s", 42, "words") == 8 && fseek(file, 0, SEEK_SET) == 0, "stdio of a file beside streams");
    HOLDS(fgets(text, sizeof text, file) && strcmp(text, "42 words") == 0, "stdio of a file beside streams");
    EXPECT(fclose(file), 0, "POSIX fclose");
}

static void fclose_closes_the_stream(void) {
    prepare();
    FILE *file = fdopen(far, "r+");
    NEEDS(file != NULL, "POSIX fdopen");
    EXPECT(isastream(fileno(file)), 1, "POSIX isastream of fileno");
    EXPECT(fclose(file), 0, "POSIX fclose");
    EXPECT(read(near, got.data_bytes, 9), 0, "POSIX fclose: the stream is closed, the other end is hung up");
}

static void the_number_after_fclose(void) {
    prepare();
    FILE *file = fdopen(far, "r+");
    NEEDS(file != NULL, "POSIX fdopen");
    EXPECT(fclose(file), 0, "POSIX fclose");
    FAILS(isastream(far), EBADF, "POSIX fclose: the descriptor is closed");
    int fd = open("/dev/null", O_RDWR);
    EXPECT(fd, far, "POSIX fclose: the descriptor is free");
    EXPECT(isastream(fd), 0, "POSIX fclose: the descriptor has no memory of the stream");
    EXPECT(read(fd, got.data_bytes, 9), 0, "POSIX fclose: the descriptor has no memory of the stream");
    EXPECT(write(fd, "x", 1), 1, "POSIX fclose: the descriptor has no memory of the stream");
}

static void freopen_closes_the_stream(void) {
    prepare();
    FILE *file = fdopen(far, "r+");
    NEEDS(file != NULL && freopen("/dev/null", "r", file) != NULL, "POSIX freopen");
    EXPECT(isastream(fileno(file)), 0, "POSIX freopen: the descriptor is the file");
    EXPECT(read(near, got.data_bytes, 9), 0, "POSIX freopen: the stream is closed, the other end is hung up");
}

static const struct test tests[] = {
    TEST(fprintf_to_a_stream),
    TEST(fclose_of_a_stream),
    TEST(fgets_from_a_stream),
    TEST(printf_to_standard_output),
    TEST(write_to_standard_output_and_error),
    TEST(dprintf_to_a_stream),
    TEST(perror_to_a_stream),
    TEST(system_beside_streams),
    TEST(a_program_writes_to_a_stream),
    TEST(a_program_reads_from_a_stream),
    TEST(popen_works),
    TEST(files_are_not_disturbed),
    TEST(fclose_closes_the_stream),
    TEST(the_number_after_fclose),
    TEST(freopen_closes_the_stream),
};
MAIN(tests)
