/*
 * Leadership, fencing and import: src/storage/etcd/etcd-leadership.ts, src/storage/contract.ts, src/storage/proxy/,
 * src/transfer/import-store.ts, seedEtcdRevision in src/storage/etcd/store-meta.ts.
 *
 * Two replicas share a prefix of etcd. The leader holds a key with a lease; each of its writes carries a guard, the
 * create revision of that key. Replicas stop (SIGSTOP) and their machines sleep, between any two steps; writes and
 * renewals are under way for as long as they like. Meanwhile operators import a backup into the prefix, also twice:
 * revisions are etcd's plus an offset in the metadata, whose revision is a condition of every write.
 *
 * A tick is a second of a lease. A store makes one write in it, and a lease may expire; an import makes more. Revisions
 * that are seeded count the time of two in a tick.
 *
 *   ADR 17  A machine that is paused between checking the clock and writing comes back with a write of a former leader:
 *           etcd compares the guard in the transaction of the write.
 *   B18     Objects can be moved to another storage engine, and revisions never go back, not even after a restore.
 *   ADR 14  No revision may return with another meaning, and none that a client holds may lie in the future.
 */
#include "rules.h"
#ifndef FAULT
#define FAULT NONE
#endif
mtype = { NONE, NO_FENCE, REPLACED_LEADS, SLOW_RENEWAL, BACKUP_REVISION, IMPORT_READABLE };
/* WRITES, TICKS, IMPORTS, PAUSES, of the command line: how often these happen in one history. */
#define LEASE 3  /* LEASE_SECONDS, shortened */
#define MARGIN 1 /* MARGIN_MS */
#define ITEMS 2  /* keys of the backup, which are imported within one tick */

mtype = { RUNS, STOPPED, ASLEEP };
mtype = { HELD, ENDED }; /* a term */
typedef Replica {
  mtype state;
  byte term;      /* the create revision of its key, as etcd counts; 0: it does not lead */
  byte validFor;  /* by its own monotonic clock, which stands still while the machine sleeps */
  byte opened;    /* the metadata when it opened the store */
  bool replaced;  /* it has noticed that these are others now */
  bool writing;   /* a write of the leader is under way, and the guard that it took */
  byte guard;
  bool renewing;  /* a renewal was served, and its answer is under way; sent so many ticks ago */
  byte sentAgo;
}

/* etcd: its revision, the leader's key and who created it, what is left of the lease. */
byte etcd = 1, key, holder, lease;
/* The store: its offset and oldest readable revision, as clients see them; its metadata: no two stores have the same. */
byte offset, oldest, meta = 1;
/* What clients hold: the newest revision of this history, and of those before it; that of the backup, and its age. */
byte seen = 1, seenBefore, backup, backupAge;
bool hasBackup, importing, wrote;
byte writes, ticks, imports, pauses;
Replica replicas[2];

#define SAY(text) printf(text); printf("\n")
#define NEVER(condition, promise) if :: condition -> printf("violated: "); SAY(promise); assert(false) :: else fi
#define R(n) replicas[n]
/* EtcdLeadership.leads */
#define LEADS(n) (replicas[n].state == RUNS && replicas[n].term > 0 && replicas[n].validFor > MARGIN \
  && (!replicas[n].replaced || FAULT == REPLACED_LEADS))
#define REVISION (etcd + offset)
#define TERM_GOES(n, to) \
  NEVER(FAULT == NONE && !MAY_TERM((R(n).term > 0 -> HELD : 0), to), "ADR 17, a term begins, is renewed, and ends")

inline resign(n) { R(n).term = 0; R(n).validFor = 0; R(n).renewing = false; R(n).sentAgo = 0 }

inline check() {
  /* As far as clocks are right: a sleep stops one. */
  NEVER(LEADS(0) && LEADS(1) && R(0).opened == R(1).opened && !slept,
    "ADR 17, at most one leads at a time as far as clocks are right");
  NEVER(seenBefore >= oldest && seenBefore > 0 && !importing,
    "ADR 14, a revision of an earlier store can be read in this one, or lies in its future")
}

/* seedEtcdRevision: every later revision is greater than this one, and those before are unreadable. */
inline seed(revision) {
  etcd++;
  if :: revision + 1 > etcd + offset -> offset = revision + 1 - etcd :: else fi;
  if :: FAULT != IMPORT_READABLE || !seeded -> oldest = etcd + offset :: else fi;
  meta++;
  seeded = true
}

#define REPLICA(i) \
  /* A campaign: reads no key, is granted a lease, creates the key. The lease counts from before it was asked for. */ \
  :: d_step { R(i).state == RUNS && R(i).term == 0 && key == 0 && !importing && !wrote && writes < WRITES \
       && (R(i).opened == meta && !R(i).replaced || FAULT == REPLACED_LEADS) -> \
       SAY("a replica is elected"); TERM_GOES(i, HELD); writes++; wrote = true; etcd++; key = etcd; holder = i + 1; lease = LEASE; \
       R(i).term = key; R(i).validFor = LEASE; check() } \
  /* A renewal is served by etcd, and its answer may be late. */ \
  :: d_step { R(i).state == RUNS && R(i).term > 0 && !R(i).renewing && key == R(i).term && holder == i + 1 \
       && (R(i).opened == meta || FAULT == REPLACED_LEADS) -> \
       SAY("etcd renews the lease"); TERM_GOES(i, HELD); lease = LEASE; R(i).renewing = true; R(i).sentAgo = 0 } \
  :: d_step { R(i).state == RUNS && R(i).renewing -> \
       SAY("the leader gets the answer to its renewal"); R(i).renewing = false; \
       R(i).validFor = (FAULT == SLOW_RENEWAL -> LEASE : (LEASE > R(i).sentAgo -> LEASE - R(i).sentAgo : 0)); \
       R(i).sentAgo = 0; check() } \
  :: d_step { R(i).state == RUNS && R(i).term > 0 && (key != R(i).term || R(i).validFor == 0) -> \
       SAY("a replica finds that it no longer leads"); TERM_GOES(i, ENDED); resign(i) } \
  /* Work of the leader: it takes the guard, then its write is under way, for as long as it likes. */ \
  :: d_step { LEADS(i) && !R(i).writing && writes < WRITES -> \
       SAY("the leader begins a write"); writes++; R(i).writing = true; R(i).guard = R(i).term } \
  :: d_step { R(i).writing && !wrote -> arrive(i) } \
  /* A read of the metadata. */ \
  :: d_step { R(i).state == RUNS && R(i).opened != meta && !R(i).replaced && !importing -> \
       SAY("a replica finds that its store was replaced"); R(i).replaced = true } \
  :: d_step { R(i).state == RUNS && R(i).replaced && !importing -> \
       SAY("a replica is started again"); R(i).replaced = false; R(i).opened = meta; R(i).writing = false; resign(i) } \
  :: d_step { R(i).state == RUNS && pauses < PAUSES -> \
       SAY("a replica stops (SIGSTOP)"); pauses++; R(i).state = STOPPED } \
  :: d_step { R(i).state == RUNS && pauses < PAUSES -> \
       SAY("the machine of a replica sleeps"); pauses++; R(i).state = ASLEEP; slept = true } \
  :: d_step { R(i).state != RUNS -> SAY("a replica goes on"); R(i).state = RUNS; check() }

/* The transaction of a write: the metadata are those that the replica opened, and its guard holds. */
inline arrive(n) {
  if
  :: replicas[n].opened == meta && (replicas[n].guard == key || FAULT == NO_FENCE) ->
     SAY("a write of a leader happens");
     NEVER(holder != n + 1, "ADR 17, a write of a former leader happens");
     etcd++; wrote = true; seen = REVISION; check()
  :: else -> SAY("a write of a former leader, or into a former store, is refused")
  fi;
  replicas[n].writing = false; replicas[n].guard = 0
}

inline tick() {
  for (i : 0 .. 1) {
    if
    :: R(i).state != ASLEEP && R(i).validFor > 0 -> R(i).validFor--
    :: else
    fi;
    if :: R(i).state != ASLEEP && R(i).renewing && R(i).sentAgo < LEASE -> R(i).sentAgo++ :: else fi
  }
  if :: lease > 0 -> lease-- :: else fi;
  if :: lease == 0 && key > 0 -> etcd++; key = 0; holder = 0 :: else fi;
  if :: hasBackup -> backupAge = backupAge + 2 :: else fi;
  wrote = false
}

active proctype world() {
  byte i, filled, base;
  bool slept, seeded;
  d_step { for (i : 0 .. 1) { R(i).state = RUNS; R(i).opened = 1 } check() }
  do
  REPLICA(0)
  REPLICA(1)
  :: d_step { ticks < TICKS -> SAY("--- a tick"); ticks++; tick(); check() }
  /* A backup is taken, and imported later, into an empty prefix: the objects go, and the metadata stay. */
  :: d_step { !hasBackup && !importing && IMPORTS > 0 -> SAY("a backup is taken"); hasBackup = true; backup = REVISION }
  :: d_step { hasBackup && !importing && !wrote && imports < IMPORTS ->
       SAY("an import begins: another etcd, whose revisions are its own");
       imports++; importing = true; filled = 0; seeded = false;
       seenBefore = (seen > seenBefore -> seen : seenBefore);
       etcd = 1; offset = 0; key = 0; holder = 0; lease = 0;
       base = backup + (FAULT == BACKUP_REVISION -> 0 : backupAge); seed(base) }
  :: d_step { importing && filled < ITEMS -> SAY("the import writes a key"); filled++; etcd++ }
  :: d_step { importing && filled == ITEMS ->
       SAY("the import makes its revisions unreadable, and ends"); seed(0); etcd++; seen = REVISION;
       importing = false; wrote = true; check() }
  od
}
