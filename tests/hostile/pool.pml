/* The protocol of runtime/native/pool.c, as Promela: `spin -search tests/hostile/pool.pml` tries every order of its steps.
 *
 * One caller and two workers share out a job, twice. A worker's slot is empty, posted or claimed. In the middle of its pieces the
 * caller may withdraw the job, as before a fork, and then nobody but the caller takes pieces. A worker sleeps when there is no
 * job, and the caller when workers are at their last pieces. Checked: each piece is computed once; no worker is at a piece when the caller
 * has withdrawn the job, or when the job is over; and nobody waits for ever.
 */
#define WORKERS 2
#define PIECES 2  /* of each share; the caller's is share 0 */
#define JOBS 2

mtype = { EMPTY, POSTED, CLAIMED }

mtype slot[WORKERS + 1] = EMPTY
byte next[WORKERS + 1], computed[WORKERS + 1], inside
bool asleep[WORKERS + 1], withdrawn, caller_sleeps, over
bool state /* the lock of those who sleep */

inline lock() { atomic { !state -> state = true } }
inline unlock() { state = false }

/* Takes a piece of the share, if there is one: one instruction of the processor. */
inline take(share) {
    atomic {
        if
        :: next[share] < PIECES -> next[share]++; inside++
        :: else -> share++
        fi
    }
}

inline compute(share) {
    atomic { computed[share]++; inside-- }
}

proctype worker(byte self) {
    byte share, before
    do
    :: over -> break
    :: slot[self] == EMPTY && !over -> /* it has looked for a job as long as it does; now it sleeps */
        lock();
        asleep[self] = true;
        do
        :: slot[self] == POSTED || over -> break
        :: else -> /* waits: gives the lock back, and is woken by a broadcast */
            unlock();
            atomic { (slot[self] == POSTED || over) -> skip };
            lock()
        od;
        asleep[self] = false;
        unlock()
    :: atomic { slot[self] == POSTED -> slot[self] = CLAIMED };
        share = 0;
        do
        :: share > WORKERS -> break
        :: share <= WORKERS ->
            if
            :: withdrawn -> break
            :: else ->
                before = share;
                take(share);
                if
                :: share == before -> compute(share)
                :: else -> skip
                fi
            fi
        od;
        slot[self] = EMPTY;
        if
        :: caller_sleeps -> lock(); unlock() /* a broadcast */
        :: else -> skip
        fi
    od
}

active proctype caller() {
    byte i, share, before, job
    bool forks
    run worker(1);
    run worker(2);
    for (job : 1 .. JOBS) {
        for (i : 0 .. WORKERS) { next[i] = 0; computed[i] = 0 }
        withdrawn = false;
        forks = false;
        for (i : 1 .. WORKERS) { slot[i] = POSTED }
        lock(); unlock(); /* a broadcast to those that sleep */
        share = 0;
        do
        :: share > WORKERS -> break
        :: share <= WORKERS && !forks -> /* Python runs in the middle of a job, and forks */
            forks = true;
            withdrawn = true;
            for (i : 1 .. WORKERS) {
                atomic { if :: slot[i] == POSTED -> slot[i] = EMPTY :: else -> skip fi }
            }
            (slot[1] != CLAIMED && slot[2] != CLAIMED);
            assert(inside == 0) /* here it forks: the child has the caller alone, and all pieces that are left */
        :: share <= WORKERS ->
            before = share;
            take(share);
            if
            :: share == before -> compute(share)
            :: else -> skip
            fi
        od;
        for (i : 1 .. WORKERS) {
            atomic { if :: slot[i] == POSTED -> slot[i] = EMPTY :: else -> skip fi };
            if
            :: slot[i] == EMPTY -> skip
            :: else ->
                lock();
                caller_sleeps = true;
                do
                :: slot[i] == EMPTY -> break
                :: else -> unlock(); (slot[i] == EMPTY); lock()
                od;
                caller_sleeps = false;
                unlock()
            fi
        }
        assert(inside == 0);
        for (i : 0 .. WORKERS) { assert(computed[i] == PIECES) }
    }
    over = true
}
