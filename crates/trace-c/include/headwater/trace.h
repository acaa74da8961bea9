/*
 * Events of C and C++ programs, recorded as those of Rust programs are. C11 or C++11; link with -lheadwater_trace_c.
 *
 *     HEADWATER_EVENT(shop_answered, "shop:answered", (u64, request), (u16, status), (f32, took_us), (str, path));
 *
 *     shop_answered(7, 200, 1.5f, "/cart");
 *
 * declares, at file scope, a function that writes a record of its arguments if a session records the event. If none does,
 * it costs a load and a branch. Types are u8, u16, u32, u64, i8, i16, i32, i64, f32, f64 and str (UTF-8 with a NUL, of which at
 * most 2047 bytes are written, and fewer if the fields behind would have no room: 4080 bytes in all, 127 of each text. A text
 * of more than 127 bytes takes 4 KiB of the stack meanwhile). An event has at most 8 fields. Its name is a provider and an event, letters, digits and _
 * around a colon; an event with another name, or two fields of one name, is never recorded.
 *
 * Each file that declares an event has its own copy; copies with one name and the same fields are one event in the
 * trace.
 *
 * A program joins the session that HEADWATER_TRACE names at its first event. The functions may be called by any thread;
 * events also in a signal handler, if hw_trace_init() was called before.
 */
#ifndef HEADWATER_TRACE_H
#define HEADWATER_TRACE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How the structures below lie in memory; raised by any change. */
#define HW_TRACE_ABI 1

/* A field: its name, and its type: 'u', 'i', 'f' with its bytes, or 's'. */
struct hw_trace_field {
    const char *name;
    uint32_t type;
    uint32_t bytes;
};

/* An event. The library writes to `state` and `event`. */
struct hw_trace_event {
    uint32_t state; /* 0: no session records it. Read and written as an atomic. */
    uint32_t abi;
    const char *name;
    const struct hw_trace_field *fields;
    uint64_t count; /* of fields */
    void *event;    /* the library's own; atomic */
};

/*
 * Joins the session that the environment names, if it names one, and lets tracers in if HEADWATER_TRACE_LISTEN=1. 0, or an
 * errno with the reason of a failure: the program can continue without.
 */
int hw_trace_init(void);
/* Joins the session whose memory is the file `path`, and leaves the one before. 0 or an errno. */
int hw_trace_join(const char *path);
/* Leaves the session. */
void hw_trace_leave(void);
/* Lets tracers in from now on: `headwater trace attach PID` finds this process. 0 or an errno. */
int hw_trace_listen(void);

/* For the macros alone: writes a record of `bytes`, two words of head, which are the library's, and the fields. */
void hw_trace_write(struct hw_trace_event *event, uint64_t *words, size_t bytes);

#ifdef __cplusplus
}
#endif

/* Longest text that is written, bytes, and the longest that has a place in any record. */
#define HW_TRACE_TEXT_MAX 2047
#define HW_TRACE_SHORT_TEXT_MAX 127
#define HW_TRACE_HEAD 16
#define HW_TRACE_RECORD_MAX 4096

#if defined(__GNUC__) || defined(__clang__)
#define HW_TRACE_COLD __attribute__((cold, noinline, unused))
#define HW_TRACE_UNUSED __attribute__((unused))
#define HW_TRACE_UNLIKELY(x) __builtin_expect((x), 0)
#define HW_TRACE_LOAD(place) __atomic_load_n((place), __ATOMIC_RELAXED)
#else
#error "headwater/trace.h needs GCC or Clang"
#endif

/* By this the library, which is itself compiled without frame pointers, finds the stack of an event. */
#define HW_TRACE_FRAME(words) (words)[0] = (uint64_t)(uintptr_t)__builtin_frame_address(0)

/* The bytes of a text that are written, without its NUL, if there are at most `most`: no character of UTF-8 is cut. */
static inline HW_TRACE_UNUSED size_t hw_trace_text(const char *text, size_t most, int *is_longer) {
    /* It reads no further than the NUL, which may be the last mapped byte. */
    const char *end = (const char *)memchr(text, 0, most + 1);
    size_t bytes = most;
    if (end != NULL) {
        return (size_t)(end - text);
    }
    *is_longer = 1;
    while (bytes > 0 && ((unsigned char)text[bytes] & 0xc0) == 0x80) {
        bytes--;
    }
    return bytes;
}

/* Appends a field of at most `most` bytes. */
#define HW_TRACE_PUT_NUMBER(field, most) \
    memcpy((char *)hw_words + hw_bytes, &field, sizeof field); \
    hw_bytes += sizeof field;
#define HW_TRACE_PUT_TEXT(field, most) \
    { \
        const char *hw_text = field ? field : "(null)"; \
        const size_t hw_len = hw_trace_text(hw_text, most, &hw_is_longer); \
        memcpy((char *)hw_words + hw_bytes, hw_text, hw_len); \
        hw_bytes += hw_len + 1; \
    }

/* By type: C's, its letter, its bytes, most bytes in a record, and how it is appended. */
#define HW_TRACE_TYPE_u8(what) HW_TRACE_##what(uint8_t, 'u', 1, 1, HW_TRACE_PUT_NUMBER)
#define HW_TRACE_TYPE_u16(what) HW_TRACE_##what(uint16_t, 'u', 2, 2, HW_TRACE_PUT_NUMBER)
#define HW_TRACE_TYPE_u32(what) HW_TRACE_##what(uint32_t, 'u', 4, 4, HW_TRACE_PUT_NUMBER)
#define HW_TRACE_TYPE_u64(what) HW_TRACE_##what(uint64_t, 'u', 8, 8, HW_TRACE_PUT_NUMBER)
#define HW_TRACE_TYPE_i8(what) HW_TRACE_##what(int8_t, 'i', 1, 1, HW_TRACE_PUT_NUMBER)
#define HW_TRACE_TYPE_i16(what) HW_TRACE_##what(int16_t, 'i', 2, 2, HW_TRACE_PUT_NUMBER)
#define HW_TRACE_TYPE_i32(what) HW_TRACE_##what(int32_t, 'i', 4, 4, HW_TRACE_PUT_NUMBER)
#define HW_TRACE_TYPE_i64(what) HW_TRACE_##what(int64_t, 'i', 8, 8, HW_TRACE_PUT_NUMBER)
#define HW_TRACE_TYPE_f32(what) HW_TRACE_##what(float, 'f', 4, 4, HW_TRACE_PUT_NUMBER)
#define HW_TRACE_TYPE_f64(what) HW_TRACE_##what(double, 'f', 8, 8, HW_TRACE_PUT_NUMBER)
#define HW_TRACE_TYPE_str(what) HW_TRACE_##what(const char *, 's', 0, HW_TRACE_SHORT_TEXT_MAX + 1, HW_TRACE_PUT_TEXT)

#define HW_TRACE_C_TYPE(type, letter, bytes, most, put) type
#define HW_TRACE_LETTER(type, letter, bytes, most, put) letter
#define HW_TRACE_BYTES(type, letter, bytes, most, put) bytes
#define HW_TRACE_MOST(type, letter, bytes, most, put) most
#define HW_TRACE_PUT(type, letter, bytes, most, put) put

/* By field, which is (type, name). */
#define HW_TRACE_PARAMETER(type, field) HW_TRACE_TYPE_##type(C_TYPE) field
#define HW_TRACE_ARGUMENT(type, field) field
#define HW_TRACE_FIELD(type, field) {#field, HW_TRACE_TYPE_##type(LETTER), HW_TRACE_TYPE_##type(BYTES)}
#define HW_TRACE_SIZE(type, field) HW_TRACE_TYPE_##type(MOST)
#define HW_TRACE_APPEND(type, field) HW_TRACE_TYPE_##type(PUT)(field, HW_TRACE_SHORT_TEXT_MAX)
/* So that the fields behind it have their place: `hw_end` is the end of what this field may take. */
#define HW_TRACE_APPEND_LONG(type, field) \
    hw_end += HW_TRACE_TYPE_##type(MOST); \
    HW_TRACE_TYPE_##type(PUT)(field, hw_end - hw_bytes - 1 < HW_TRACE_TEXT_MAX ? hw_end - hw_bytes - 1 : HW_TRACE_TEXT_MAX)

#define HW_TRACE_COMMA() ,
#define HW_TRACE_PLUS() +
#define HW_TRACE_NOTHING()

/* Applies `what` to each field, with `between` between. */
#define HW_TRACE_EACH_1(what, between, a) what a
#define HW_TRACE_EACH_2(what, between, a, b) what a between() what b
#define HW_TRACE_EACH_3(what, between, a, b, c) HW_TRACE_EACH_2(what, between, a, b) between() what c
#define HW_TRACE_EACH_4(what, between, a, b, c, d) HW_TRACE_EACH_3(what, between, a, b, c) between() what d
#define HW_TRACE_EACH_5(what, between, a, b, c, d, e) HW_TRACE_EACH_4(what, between, a, b, c, d) between() what e
#define HW_TRACE_EACH_6(what, between, a, b, c, d, e, f) \
    HW_TRACE_EACH_5(what, between, a, b, c, d, e) between() what f
#define HW_TRACE_EACH_7(what, between, a, b, c, d, e, f, g) \
    HW_TRACE_EACH_6(what, between, a, b, c, d, e, f) between() what g
#define HW_TRACE_EACH_8(what, between, a, b, c, d, e, f, g, h) \
    HW_TRACE_EACH_7(what, between, a, b, c, d, e, f, g) between() what h

#define HW_TRACE_JOIN(a, b) HW_TRACE_JOIN_(a, b)
#define HW_TRACE_JOIN_(a, b) a##b
/* How many fields follow the event's name: _0 to _8. */
#define HW_TRACE_COUNT(...) HW_TRACE_COUNT_(__VA_ARGS__, _8, _7, _6, _5, _4, _3, _2, _1, _0, )
#define HW_TRACE_COUNT_(name, a, b, c, d, e, f, g, h, count, ...) count

/* The event's state in this process. */
#define HW_TRACE_STANDING(function, name, fields, count) \
    static struct hw_trace_event function##_event = {1, HW_TRACE_ABI, name, fields, count, NULL};

#define HW_TRACE_DECLARE_0(function, name) \
    HW_TRACE_STANDING(function, name, NULL, 0) \
    static HW_TRACE_COLD void function##_record(void) { \
        uint64_t hw_words[4] = {0}; \
        HW_TRACE_FRAME(hw_words); \
        hw_trace_write(&function##_event, hw_words, HW_TRACE_HEAD); \
    } \
    static inline HW_TRACE_UNUSED void function(void) { \
        if (HW_TRACE_UNLIKELY(HW_TRACE_LOAD(&function##_event.state) != 0)) { \
            function##_record(); \
        } \
    } \
    struct hw_trace_event

#define HW_TRACE_DECLARE_N(each, function, name, ...) \
    static const struct hw_trace_field function##_fields[] = {each(HW_TRACE_FIELD, HW_TRACE_COMMA, __VA_ARGS__)}; \
    HW_TRACE_STANDING(function, name, function##_fields, sizeof function##_fields / sizeof function##_fields[0]) \
    static HW_TRACE_COLD void function##_record_long(each(HW_TRACE_PARAMETER, HW_TRACE_COMMA, __VA_ARGS__)) { \
        uint64_t hw_words[HW_TRACE_RECORD_MAX / 8] = {0}; \
        size_t hw_bytes = HW_TRACE_HEAD; \
        size_t hw_end = HW_TRACE_RECORD_MAX - (each(HW_TRACE_SIZE, HW_TRACE_PLUS, __VA_ARGS__)); \
        int hw_is_longer = 0; \
        each(HW_TRACE_APPEND_LONG, HW_TRACE_NOTHING, __VA_ARGS__) \
        (void)hw_end; \
        (void)hw_is_longer; \
        HW_TRACE_FRAME(hw_words); \
        hw_trace_write(&function##_event, hw_words, hw_bytes); \
    } \
    static HW_TRACE_COLD void function##_record(each(HW_TRACE_PARAMETER, HW_TRACE_COMMA, __VA_ARGS__)) { \
        uint64_t hw_words[(HW_TRACE_HEAD + each(HW_TRACE_SIZE, HW_TRACE_PLUS, __VA_ARGS__) + 7) / 8] = {0}; \
        size_t hw_bytes = HW_TRACE_HEAD; \
        int hw_is_longer = 0; \
        each(HW_TRACE_APPEND, HW_TRACE_NOTHING, __VA_ARGS__) \
        if (HW_TRACE_UNLIKELY(hw_is_longer)) { \
            function##_record_long(each(HW_TRACE_ARGUMENT, HW_TRACE_COMMA, __VA_ARGS__)); \
            return; \
        } \
        HW_TRACE_FRAME(hw_words); \
        hw_trace_write(&function##_event, hw_words, hw_bytes); \
    } \
    static inline HW_TRACE_UNUSED void function(each(HW_TRACE_PARAMETER, HW_TRACE_COMMA, __VA_ARGS__)) { \
        if (HW_TRACE_UNLIKELY(HW_TRACE_LOAD(&function##_event.state) != 0)) { \
            function##_record(each(HW_TRACE_ARGUMENT, HW_TRACE_COMMA, __VA_ARGS__)); \
        } \
    } \
    struct hw_trace_event

#define HW_TRACE_DECLARE_1(function, ...) HW_TRACE_DECLARE_N(HW_TRACE_EACH_1, function, __VA_ARGS__)
#define HW_TRACE_DECLARE_2(function, ...) HW_TRACE_DECLARE_N(HW_TRACE_EACH_2, function, __VA_ARGS__)
#define HW_TRACE_DECLARE_3(function, ...) HW_TRACE_DECLARE_N(HW_TRACE_EACH_3, function, __VA_ARGS__)
#define HW_TRACE_DECLARE_4(function, ...) HW_TRACE_DECLARE_N(HW_TRACE_EACH_4, function, __VA_ARGS__)
#define HW_TRACE_DECLARE_5(function, ...) HW_TRACE_DECLARE_N(HW_TRACE_EACH_5, function, __VA_ARGS__)
#define HW_TRACE_DECLARE_6(function, ...) HW_TRACE_DECLARE_N(HW_TRACE_EACH_6, function, __VA_ARGS__)
#define HW_TRACE_DECLARE_7(function, ...) HW_TRACE_DECLARE_N(HW_TRACE_EACH_7, function, __VA_ARGS__)
#define HW_TRACE_DECLARE_8(function, ...) HW_TRACE_DECLARE_N(HW_TRACE_EACH_8, function, __VA_ARGS__)

/* Declares an event; a semicolon follows. */
#define HEADWATER_EVENT(function, ...) \
    HW_TRACE_JOIN(HW_TRACE_DECLARE, HW_TRACE_COUNT(__VA_ARGS__))(function, __VA_ARGS__)

#endif
