/* The traced program: threads and children emit events of each kind of field. C11 and C++11. */
#include <headwater/trace.h>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

HEADWATER_EVENT(test_step, "test:step", (u64, writer), (u64, number));
HEADWATER_EVENT(test_all, "test:all", (u8, a), (i8, b), (u16, c), (i32, d), (f32, e), (f64, f), (str, g), (i64, h));
HEADWATER_EVENT(test_bare, "test:bare");
HEADWATER_EVENT(test_text, "test:text", (str, text), (u32, behind));
HEADWATER_EVENT(test_texts, "test:texts", (str, first), (str, second), (u32, behind));
HEADWATER_EVENT(other_silent, "other:silent", (u64, number));
HEADWATER_EVENT(test_wrong, "no name", (u64, number));
HEADWATER_EVENT(test_twice, "test:twice", (u64, number));

#define WRITERS 8

static uint64_t count;

static void *write_steps(void *writer) {
    for (uint64_t number = 0; number < count; number++) {
        test_step((uint64_t)(uintptr_t)writer, number);
        other_silent(number);
        test_wrong(number);
    }
    return NULL;
}

static void threads(void) {
    pthread_t all[WRITERS];
    for (uintptr_t writer = 0; writer < WRITERS; writer++) {
        pthread_create(&all[writer], NULL, write_steps, (void *)writer);
    }
    for (int writer = 0; writer < WRITERS; writer++) {
        pthread_join(all[writer], NULL);
    }
}

static int forked(void) {
    write_steps((void *)0);
    for (uintptr_t writer = 1; writer < WRITERS; writer++) {
        if (fork() == 0) {
            write_steps((void *)writer);
            _exit(0);
        }
    }
    for (int writer = 1; writer < WRITERS; writer++) {
        int status = 0;
        if (wait(&status) < 0 || status != 0) {
            return 1;
        }
    }
    return 0;
}

static void fields(void) {
    char text[3001];
    test_all(255, -128, 65535, -2147483647 - 1, 0.5f, -0.25, "gr\xc3\xbcn", -1);
    test_bare();
    for (int at = 0; at < 3000; at++) {
        text[at] = 'x';
    }
    text[3000] = 0;
    test_texts(text, text, 6);
    /* 126 bytes, and then a character of two: not a short text any more. */
    text[126] = '\xc3';
    text[127] = '\xbc';
    text[128] = 0;
    test_text(text, 7);
    text[126] = text[127] = text[128] = 'x';
    /* A character of two that has no place. */
    text[2046] = '\xc3';
    text[2047] = '\xbc';
    test_text(text, 7);
    test_text("", 8);
    test_text(NULL, 9);
}

/* The compiler must neither inline these nor make their last call a jump. */
#define FUNCTION __attribute__((noinline)) static
#define END __asm__ volatile("" ::: "memory")

/* Not known to the compiler, which would make a copy of a function for one value. */
static volatile int no, yes = 1;

FUNCTION void outer(int is_raised);
FUNCTION void middle(void);

FUNCTION void inner(void) {
    test_step((uint64_t)(uintptr_t)middle, (uint64_t)(uintptr_t)outer);
    END;
}

FUNCTION void middle(void) {
    inner();
    END;
}

FUNCTION void handle(int signal) {
    (void)signal;
    middle();
    END;
}

FUNCTION void outer(int is_raised) {
    if (is_raised) {
        raise(SIGUSR1);
    } else {
        middle();
    }
    END;
}

static void *in_thread(void *nothing) {
    outer(no);
    return nothing;
}

static void *in_handler_on_another_stack(void *nothing) {
    /* The kernel's part of it has up to 3.5 KiB. */
    static char memory[16384];
    struct sigaction action;
    stack_t stack;
    memset(&action, 0, sizeof action);
    memset(&stack, 0, sizeof stack);
    stack.ss_sp = memory;
    stack.ss_size = sizeof memory;
    sigaltstack(&stack, NULL);
    action.sa_handler = handle;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, NULL);
    outer(yes);
    return nothing;
}

static void stacks(void) {
    pthread_t thread;
    outer(no);
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, in_handler_on_another_stack, NULL);
    pthread_join(thread, NULL);
    test_bare();
}

static void raised(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handle;
    sigaction(SIGUSR1, &action, NULL);
    outer(yes);
}

/* Opens a library beside the program, which calls back, and closes it. */
static int in_plugin(const char *program, const char *name) {
    char path[4096];
    void (*call)(void (*)(void));
    void *library, *symbol;
    snprintf(path, sizeof path, "%s.%s.so", program, name);
    library = dlopen(path, RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    symbol = dlsym(library, name);
    memcpy(&call, &symbol, sizeof call);
    call(middle);
    return dlclose(library);
}

/* The second library comes where the first was. In the child everything is where it was in the parent. */
static int plugins(const char *program) {
    int status = 1;
    pid_t child;
    outer(no);
    if (in_plugin(program, "first") != 0) {
        return 1;
    }
    usleep(1100 * 1000);
    if (in_plugin(program, "second") != 0) {
        return 1;
    }
    child = fork();
    if (child == 0) {
        outer(no);
        _exit(0);
    }
    waitpid(child, &status, 0);
    return status;
}

int main(int argc, char **argv) {
    int failed = hw_trace_init();
    if (failed != 0 || argc != 3) {
        fprintf(stderr, "no session: %d\n", failed);
        return 1;
    }
    count = strtoull(argv[2], NULL, 10);
    if (strcmp(argv[1], "threads") == 0) {
        threads();
    } else if (strcmp(argv[1], "fork") == 0) {
        return forked();
    } else if (strcmp(argv[1], "fields") == 0) {
        fields();
    } else if (strcmp(argv[1], "stacks") == 0) {
        stacks();
    } else if (strcmp(argv[1], "raised") == 0) {
        raised();
    } else if (strcmp(argv[1], "plugins") == 0) {
        return plugins(argv[0]);
    } else if (strcmp(argv[1], "leave") == 0) {
        test_twice(1);
        hw_trace_leave();
        test_twice(2);
        if (hw_trace_join("/nowhere") == 0 || hw_trace_join(getenv("HEADWATER_TRACE")) != 0) {
            return 1;
        }
        test_twice(3);
        if (test_twice_event.state == 0 || test_wrong_event.state != 1) {
            return 1;
        }
        test_wrong(1);
        return test_wrong_event.state != 0;
    }
    return 0;
}
