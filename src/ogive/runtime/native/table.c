/* Tables: what a kernel of one 16-bit operand computes, for all 65,536 of its values.
 *
 * Looking a result up takes 0.2 to 0.3 ns, whatever the formula; computing gelu in float16 takes 0.8. The entries are
 * what the kernel computed, so the bits are the same. A loop makes its table once it has computed so much
 * that another 65,536 elements do not matter; until then, and for short arrays, there is nothing to gain.
 */
#include "native.h"
#include "floating_point.h"

#include <string.h>

#define ENTRIES 65536
#define COMPUTED_BEFORE (8 * ENTRIES) /* elements that a loop computes before it makes a table */
#define SHORTEST 4096                 /* elements of an array: 128 KiB of entries are not brought close for fewer */
#define MOST_TABLES 64                /* of all loops together: 8 MiB */
#define AT_A_TIME 8                   /* elements */
#define LINE 32                       /* elements of a line of the cache */
#define BYTES_FETCHED_AHEAD 1024

/* Processors do not see by themselves what comes next among so many addresses: 2**24 elements would take twice the
 * time. There need not be any memory. */
static void ask_for(uintptr_t address) {
#if defined(__x86_64__) || defined(_M_X64)
    _mm_prefetch((const char *)address, _MM_HINT_T0);
#else
    (void)address;
#endif
}

static void write_past_caches(uint16_t *to, const uint16_t *from) {
#if defined(__x86_64__) || defined(_M_X64)
    _mm_stream_si128((__m128i *)(void *)to, _mm_loadu_si128((const __m128i *)(const void *)from));
#else
    memcpy(to, from, AT_A_TIME * sizeof *to);
#endif
}

static _Atomic int table_count;

/* In the place of compiled code; `values` is the table. */
static void look_up(void *const *operands, intptr_t count, const void *values, _Bool stream) {
    const uint16_t *table = values, *input = operands[0];
    uint16_t *output = operands[1], found[AT_A_TIME];
    intptr_t i = 0;
    for (; i + LINE <= count; i += LINE) {
        ask_for((uintptr_t)(input + i) + BYTES_FETCHED_AHEAD);
        /* Eight results are put together before they are written: a third less time than one after the other. */
        for (int k = 0; k < LINE; k += AT_A_TIME) {
            for (int j = 0; j < AT_A_TIME; ++j) {
                found[j] = table[input[i + k + j]];
            }
            if (stream) {
                write_past_caches(output + i + k, found);
            } else {
                memcpy(output + i + k, found, sizeof found);
            }
        }
    }
    for (; i < count; ++i) {
        output[i] = table[input[i]];
    }
}

/* The table of a loop, made of what its code computes; NULL if there are too many or no memory is left. */
static const void *make_table(const OgiveLoopData *loop) {
    if (atomic_fetch_add(&table_count, 1) >= MOST_TABLES) {
        atomic_fetch_sub(&table_count, 1);
        return NULL;
    }
    uint16_t *table = PyMem_RawMalloc(ENTRIES * sizeof *table);
    if (table == NULL) {
        atomic_fetch_sub(&table_count, 1);
        return NULL;
    }
    for (int i = 0; i < ENTRIES; ++i) {
        table[i] = (uint16_t)i;
    }
    void *operands[] = {table, table};
    ogive_fp_state saved = ogive_fp_enter();
    atomic_load(&loop->kernel->function)(operands, ENTRIES, loop->parameters, 0);
    ogive_fp_leave(saved);
    return table;
}

void ogive_table_free(OgiveLoopData *loop) {
    const void *table = atomic_exchange(&loop->table, NULL);
    if (table != NULL) {
        PyMem_RawFree((void *)table);
        atomic_fetch_sub(&table_count, 1);
    }
}

int ogive_table_count(void) { return atomic_load(&table_count); }

void ogive_table_consider(OgiveLoopData *loop, npy_intp count, ogive_kernel_function *function, const void **values) {
    if (!loop->kernel->looks_up || count < SHORTEST) {
        return;
    }
    const void *table = atomic_load(&loop->table);
    if (table == NULL) {
        if (atomic_load(&loop->computed) < COMPUTED_BEFORE) {
            atomic_fetch_add(&loop->computed, count < COMPUTED_BEFORE ? count : COMPUTED_BEFORE);
            return;
        }
        const void *made = make_table(loop);
        if (made == NULL) {
            atomic_store(&loop->computed, 0); /* later perhaps */
            return;
        }
        if (atomic_compare_exchange_strong(&loop->table, &table, made)) {
            table = made;
        } else { /* another thread was here */
            PyMem_RawFree((void *)made);
            atomic_fetch_sub(&table_count, 1);
        }
    }
    *function = look_up;
    *values = table;
}
