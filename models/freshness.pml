/*
 * Revocation and freshness: src/storage/freshness.ts, server/workers/worker-catch-up.ts, tokens/clock/clock-guard.ts.
 *
 * One process of Clusterpass, P, and the world around it: a store with a quorum, whatever P can and cannot reach of it,
 * the process that acknowledges a revocation, and the clocks. P is any process, so what holds for it holds for all: it
 * is the one that acknowledges, another worker of that replica, or another replica.
 *
 * A tick is 350 ms, in which P asks for one proof. Ages are in ticks, and stop at OLD, when nothing depends on them.
 *
 *   B30  A removed permission, account or credential is refused at once by the replica, and all its workers, that
 *        acknowledged the removal, and within a second by every other replica that reaches etcd.
 *   B12  Without the store, everything that does not need it continues.
 *   B31  A clock that jumps removes nothing permanently: no revocation, record, key or audit file.
 */
#include "rules.h"   /* MAX_AGE: MAX_AGE_MS */
#define UNREACHABLE 2 /* UNREACHABLE_AFTER_MS */
#define MAX_READ 5    /* MAX_READ_MS, shortened: what matters is that it is more than MAX_AGE */
#define SILENCE 6     /* SILENCE_MS */
#define NOTICED 6 /* P has noticed that the store does not answer, also if a read held a slot until MAX_AGE */
#define OLD 4     /* more than MAX_AGE */
#define GONE 7    /* more than any age of a read, and than SILENCE */
#ifndef FAULT
#define FAULT NONE
#endif
mtype = { NONE, HUNG_WATCH, WORKERS, REFUSED_READ, PAUSE, SLEEP, RESTORED, CLOCK, UNNOTICED_PAUSE, REFILLED, FAILED_CATCH_UP };
/* FAULTS, of the command line: how much goes wrong in one history. REVISIONS: the last one. */

mtype = { UP, CUT, REFUSED };               /* what P gets from etcd: answers, nothing, refusals */
mtype = { RUNS, STOPPED, ASLEEP };          /* SIGSTOP stops P; the machine of P sleeps, and its monotonic clock */
mtype = { OTHER, WORKER, WRITER };          /* another replica; a worker beside the writer; the writer */
mtype = { SENT, SERVED, REACH };            /* a read: etcd may not have it; it has answered; its revision is awaited */
#define FREE 0
#define FAIL(condition) ((condition) && faults < FAULTS)

typedef Read { mtype state; byte age; byte revision; bool fromBefore }

/* The world. */
mtype role, link = UP;
byte faults;
bool watchHangs, acked, restored, clockAhead, jumped;
byte revision = 1, revokedAt; /* of the store: the newest revision, and that of the revocation; 0: none */
byte ackAge, sentAge, cutAge = OLD, steadyFor, cutFor;

/* P. */
mtype state = RUNS;
Read reads[2];
byte applied = 1, known = 1, goal = 1; /* goal: where caches that are refilled are complete */
bool knows;                            /* the caches have the revocation */
byte provenAge = OLD, provenRevision, silentAge = GONE, answeredAge = GONE, pausedFor;
bool isReplaced, readRestored;
bool woke; /* P went on in this tick, and runs for the rest of it */

#define SAY(text) printf(text); printf("\n")
#define EACH for (i : 0 .. 1)
#define OLDER(age, most) age = (age < most -> age + 1 : age)

/* Freshness.proveCurrent */
#define DECIDES (state == RUNS && (FAULT == HUNG_WATCH && applied >= goal || !isReplaced \
  && (applied >= goal || FAULT == REFILLED) && applied >= provenRevision && (silentAge <= SILENCE || provenAge <= MAX_AGE)))

#define ACCEPTS_REVOKED (acked && !knows && DECIDES)
/* etcd was out of reach until a second ago, or is now. */
#define REACHES (cutAge > MAX_AGE)

#define NEVER(condition, promise) if :: condition -> printf("violated: "); SAY(promise); assert(false) :: else fi

inline check() {
  NEVER(ACCEPTS_REVOKED && REACHES && role == OTHER && ackAge > MAX_AGE,
    "B30, refused within a second by every other replica that reaches etcd");
  NEVER(ACCEPTS_REVOKED && REACHES && role == WORKER, "B30, refused at once by all workers of the replica");
  NEVER(ACCEPTS_REVOKED && REACHES && role == WRITER, "B30, refused at once by the replica that acknowledged it");
  NEVER(acked && revokedAt == 0, "B31, a clock that jumps removes no revocation");
  NEVER(cutFor >= NOTICED && link == CUT && state == RUNS && !isReplaced && applied >= goal && !DECIDES,
    "B12, without the store, everything that does not need it continues");
  NEVER(steadyFor >= 2 && link == UP && !watchHangs && state == RUNS && !isReplaced && !DECIDES,
    "a process that reaches a store decides")
}

/* Freshness.#answered and #noAnswer, of the read i */
inline answered() { answeredAge = 0; silentAge = GONE }
inline noAnswer() {
  if :: !isReplaced && !reads[i].fromBefore && answeredAge > reads[i].age -> silentAge = 0 :: else fi
}

inline free(n) { reads[n].state = FREE; reads[n].age = 0; reads[n].revision = 0; reads[n].fromBefore = false }

/* The timers that are due. A timer that fires late says nothing about the store. */
inline fireTimers() {
  EACH {
    if
    :: (reads[i].state == SENT || reads[i].state == SERVED) && reads[i].age >= MAX_READ ->
       if :: FAULT == PAUSE -> noAnswer() :: else fi;
       free(i)
    :: (reads[i].state == SENT || reads[i].state == SERVED) && reads[i].age == UNREACHABLE -> noAnswer()
    :: reads[i].state == REACH && reads[i].age > MAX_AGE -> free(i)
    :: else
    fi
  }
}

/* A new proof at the interval, if there is none of this tick. */
inline ask() {
  asked = isReplaced;
  EACH {
    if :: !asked && reads[i].state == FREE -> reads[i].state = SENT; asked = true :: else fi
  }
}

/* While P runs and etcd answers, answers and events come within a tick. */
#define OWED(i) \
  (reads[i].state == SENT && link != CUT || reads[i].state == SERVED && link != CUT \
   || reads[i].state == REACH && applied >= reads[i].revision)
#define OWES_EVENTS (link == UP && !watchHangs && !isReplaced && applied < revision)

/* A read of the revision: etcd serves it, P gets the answer, or a refusal, then waits for its caches. */
#define READ(i) \
  :: d_step { reads[i].state == SENT && link == UP -> \
       SAY("etcd serves a read of P"); reads[i].state = SERVED; reads[i].revision = revision } \
  :: d_step { reads[i].state == SENT && link == REFUSED && state == RUNS -> \
       SAY("a read of P is refused"); refused(i); check() } \
  :: d_step { reads[i].state == SERVED && link != CUT && state == RUNS -> \
       SAY("P gets the answer"); delivered(i); check() } \
  :: d_step { reads[i].state == REACH && applied >= reads[i].revision && state == RUNS -> \
       SAY("the caches of P have reached it"); proven(i); check() }

inline refused(n) {
  if :: FAULT == REFUSED_READ -> silentAge = 0 :: else -> answered() fi;
  free(n)
}

inline delivered(n) {
  answered();
  reads[n].state = REACH;
  if
  :: reads[n].revision < known -> readRestored = true; isReplaced = (FAULT != RESTORED)
  :: else -> known = reads[n].revision
  fi
}

/* Freshness.#proven */
inline proven(n) {
  if
  :: !reads[n].fromBefore && reads[n].age < provenAge ->
     provenAge = reads[n].age; provenRevision = reads[n].revision
  :: else
  fi;
  free(n)
}

inline tick() {
  if :: acked && role == OTHER -> OLDER(ackAge, OLD) :: else fi;
  if :: !acked && role == WORKER && revokedAt > 0 -> OLDER(sentAge, OLD) :: else fi;
  if :: link == CUT -> cutAge = 0 :: else -> OLDER(cutAge, OLD) fi;
#ifdef AVAILABLE
  if :: link == CUT && state == RUNS -> OLDER(cutFor, NOTICED) :: else fi;
  if :: link == UP && state == RUNS && !watchHangs -> OLDER(steadyFor, 2) :: else fi;
#endif
  if
  :: state == ASLEEP -> OLDER(pausedFor, OLD)
  :: else ->
     if :: state == STOPPED -> OLDER(pausedFor, 2) :: else fi;
     OLDER(provenAge, OLD); OLDER(silentAge, GONE); OLDER(answeredAge, GONE);
     EACH { if :: reads[i].state != FREE -> OLDER(reads[i].age, GONE) :: else fi }
     if :: state == RUNS -> fireTimers(); ask(); woke = false :: else fi
  fi
}

/* What B12 and availability count begins again. */
inline restart() { cutFor = 0; steadyFor = 0 }

/*
 * Freshness.#noticePause: after a pause of 500 ms, which its own timer shows, or a sleep of a second, which the wall
 * clock shows, what P knew of the store and had asked for says nothing. Shorter sleeps are left out.
 */
inline wake() {
  if
  :: state == ASLEEP && FAULT != SLEEP || state == STOPPED && pausedFor >= 2 && FAULT != PAUSE && FAULT != UNNOTICED_PAUSE ->
     provenAge = OLD; silentAge = GONE;
     EACH { reads[i].fromBefore = reads[i].state != FREE }
  :: else
  fi;
  state = RUNS; pausedFor = 0; woke = true
}

active proctype world() {
  byte i;
  bool asked;
  if :: role = OTHER :: role = WORKER :: role = WRITER fi;
  d_step { ask(); check() }
  do
  /* The store. A restored one goes back, and P reads it before its revisions come again. */
  :: d_step { revision < REVISIONS && revokedAt == 0 && (!restored || readRestored || known == 1) ->
       SAY("another write"); revision++ }
  :: d_step { revision < REVISIONS && revokedAt == 0 && (!restored || readRestored || known == 1) ->
       SAY("a revocation is written"); revision++; revokedAt = revision; sentAge = 0 }
  :: d_step { revokedAt == 0 && revision == 2 && !restored && link == CUT ->
       SAY("etcd is restored from an older copy"); revision = 1; restored = true }
  /* The revocation is acknowledged, once. */
  :: d_step { !acked && revokedAt > 0 &&
       (role == OTHER
        || role == WRITER && state == RUNS && applied >= revokedAt
        || role == WORKER && (sentAge == OLD || state == RUNS && applied >= revokedAt || FAULT == WORKERS
          || FAULT == FAILED_CATCH_UP && state == RUNS && link != UP)
       ) -> SAY("the revocation is acknowledged"); acked = true; sentAge = 0; check() }
  /* The sweep of expired revocations, by the clock of the leader. An hour after a jump, the clock is right again. */
  :: d_step { acked && !clockAhead && !jumped ->
       SAY("the clock of the leader jumps ahead"); clockAhead = true; jumped = true }
  :: d_step { clockAhead -> SAY("the clock of the leader is right again"); clockAhead = false }
  :: d_step { clockAhead && revokedAt > 0 && (!jumped || FAULT == CLOCK) ->
       SAY("the sweep removes the revocation"); revokedAt = 0; check() }
  /* Members that hang, partitions, credentials that etcd refuses. */
  :: d_step { FAIL(link != CUT) -> SAY("P is cut off from etcd"); link = CUT; faults++; cutAge = 0; restart() }
  :: d_step { FAIL(link != REFUSED) -> SAY("etcd begins to refuse P"); link = REFUSED; faults++; restart() }
  :: d_step { link != UP -> SAY("P reaches etcd again"); link = UP; restart() }
  :: d_step { FAIL(!watchHangs) -> SAY("the watch of P hangs"); watchHangs = true; faults++; restart() }
  :: d_step { watchHangs -> SAY("the watch of P goes on"); watchHangs = false; restart() }
  /* P stops and goes on. */
  :: d_step { FAIL(state == RUNS && !woke) -> SAY("P stops (SIGSTOP)"); state = STOPPED; faults++; restart() }
  :: d_step { FAIL(state == RUNS && !woke) -> SAY("the machine of P sleeps"); state = ASLEEP; faults++; restart() }
  :: d_step { state == STOPPED || state == ASLEEP && pausedFor == OLD -> SAY("P goes on"); wake(); check() }
  :: d_step { state == RUNS -> SAY("timers of P fire"); fireTimers(); check() }
  /* The watch of etcd delivers what is newer than its position; caches are refilled from the past. */
  :: d_step { state == RUNS && link == UP && !watchHangs && !isReplaced && applied < revision ->
       SAY("the watch of P delivers");
       knows = knows || revokedAt > applied; applied = revision; known = (known > applied -> known : applied); check() }
  :: d_step { state == RUNS && FAIL(link == UP && !isReplaced && applied == revision && applied > 1) ->
       SAY("P refills its caches from the past");
       goal = revision; applied = revision - 1; faults++; restart(); knows = knows && revokedAt <= applied; check() }
  READ(0) READ(1)
  :: d_step { state != RUNS || !(OWED(0) || OWED(1) || OWES_EVENTS) -> SAY("--- a tick"); tick(); check() }
  od
}
