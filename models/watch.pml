/*
 * The filtered watch: src/handlers/watch/ (broadcaster.ts, watcher.ts, catch-up.ts, frames.ts),
 * src/authz/change-check.ts, src/authz/policy-updater.ts.
 *
 * One cluster, one binding, one caller with one client, which lists, watches, reads as slowly as it likes, loses its
 * connection at any moment and resumes from the last revision that it has. The cluster is created, labelled, deleted
 * and created again under its name with another UID. The binding gives the cluster of one UID, or clusters with a label;
 * it is created, deleted, and ends by its time, some time before the leader deletes it.
 *
 *   A17/A18  A caller that loses a permission receives nothing more, in open watches too, nor what was made before.
 *   B3       A watch is ordered, complete, without repetition, and can be resumed: DELETED comes once.
 *   ADR 50   A watch that resumes from an older version than the last change of its rules is 410.
 */
#include "rules.h"
#ifndef FAULT
#define FAULT NONE
#endif
mtype = { NONE, ENDED_RESUMES, RECREATED, STALE_RESUMES, HIDDEN_TWICE, UNREAD_WRITTEN };
/* REVISIONS and CUTS, of the command line: the last revision, and how often the connection is lost. */

mtype = { HAS, ADDED, MODIFIED, DELETED };  /* what the client has, and is sent */
mtype = { CLOSED, CATCHING_UP, LIVE };
/* What is still to be written, in order; a FRAME was made when it was live, and waits in the send buffer. */
mtype = { EVENT, FRAME, SHOWN, HIDDEN, BOOKMARK };

/* Clusters: 0 none; 1 and 2 of the first UID, 3 and 4 of the second; 2 and 4 have the label. */
byte cluster, modified, was[REVISIONS + 1]; /* was: at each revision */
byte revision = 1;
/* The binding: stored, over by its time, for the first UID or by label; dropped, because another UID has the name. */
bool stored, over, byUid, orphaned;
byte changedAt = 1;  /* Policy.changedAt, of this caller */
byte pendingSince;   /* Broadcaster.#policyChangedAt; 0: watches have followed */
/* The watch: its state, its view (what the binding gave when it was made), and how far it has got. */
mtype state = CLOSED;
bool view;
byte position;
#define MOST (REVISIONS + 7)
chan sources = [MOST] of { mtype, byte, bool };
/* The client. */
bool has, lists = true;
byte at, cuts;

#define SAY(text) printf(text); printf("\n")
#define NEVER(condition, promise) if :: condition -> printf("violated: "); SAY(promise); assert(false) :: else fi
/* The rule of the policy, without the time and with it; what a rule admits. */
#define GIVEN (stored && !orphaned)
#define NOW (GIVEN && !over)
#define ADMITS(rule, which) ((which) != 0 && (rule) && (byUid || (which) == 2 || (which) == 4))

/* Frames reach the client. `followed`: the rule that the watch follows as it writes them. */
inline reveal(followed, which, version) {
  NEVER(!ADMITS(followed, which), "A18, an object that is hidden is sent");
  NEVER(FAULT == NONE && !MAY_CLIENT((has -> HAS : 0), (has -> MODIFIED : ADDED)), "B3, what a client is sent follows from what it has");
  has = true; at = version
}
inline hide(version) {
  NEVER(!MAY_CLIENT((has -> HAS : 0), DELETED), "B3, DELETED comes twice for one disappearance");
  has = false; at = version
}

/* changeIn in frames.ts: of an event, with the rule of its moment. With HIDDEN_TWICE `now` may be another one. */
inline change(then, now, followed) {
  if
  :: ADMITS(then, was[number]) && ADMITS(now, was[number]) -> reveal(followed, was[number], number)
  :: ADMITS(then, was[number]) && !ADMITS(now, was[number]) -> hide(number)
  :: !ADMITS(then, was[number]) && ADMITS(then, was[number - 1]) -> hide(number)
  :: else
  fi
}

/* What was written makes no difference between states. */
inline forget() { what = 0; number = 0; rule = false }

inline close() {
  do :: len(sources) > 0 -> sources ? what, number, rule :: else -> break od;
  forget();
  state = CLOSED; position = 0; view = false
}

/* The watcher writes what comes next, as its client reads. Watcher.#hasOldView: while it catches up, under one view. */
inline write() {
  if
  :: state == CATCHING_UP && view != NOW && FAULT != HIDDEN_TWICE -> close(); lists = true
  :: else ->
     sources ? what, number, rule;
     if
     :: what == EVENT -> change(rule, NOW, NOW)
     :: what == FRAME -> change(rule, rule, view)
     :: what == SHOWN ->
        if :: FAULT != HIDDEN_TWICE || ADMITS(NOW, was[number]) -> reveal(NOW, was[number], number) :: else fi
     :: what == HIDDEN -> hide(number)
     :: what == BOOKMARK -> at = number
     fi;
     forget()
  fi
}

/* Watcher.#addMissedFrames, under the view of then */
inline catchUpTo(upTo) {
  do
  :: position < upTo ->
     position++;
     if :: was[position] != was[position - 1] -> sources ! EVENT, position, view :: else fi
  :: else -> break
  od;
  skip
}

/*
 * Broadcaster.#applyPolicyChange, Watcher.beforePolicyChange and onPolicyChange: between two events. A client that has not
 * read what was made before the change lists again.
 */
inline followPolicy() {
  if
  :: pendingSince > 0 && state == LIVE && view != NOW && len(sources) > 0 && FAULT != UNREAD_WRITTEN ||
     pendingSince > 0 && state == CATCHING_UP && view != NOW ->
     close(); lists = true
  :: else
  fi;
  if
  :: pendingSince > 0 && state == LIVE && view != NOW ->
     position = revision;
     state = CATCHING_UP;
     if
     :: ADMITS(NOW, cluster) && !ADMITS(view, cluster) ->
        sources ! SHOWN, modified, true; sources ! BOOKMARK, revision, true
     :: !ADMITS(NOW, cluster) && ADMITS(view, cluster) ->
        sources ! HIDDEN, (pendingSince - 1), true; sources ! BOOKMARK, revision, true
     :: else
     fi;
     view = NOW
  :: else
  fi;
  pendingSince = 0
}

inline count() { revision++; was[revision] = cluster }
inline changed() { count(); changedAt = revision; if :: pendingSince == 0 -> pendingSince = revision :: else fi }

/* An event of the cluster: it becomes `to`. A policy change takes effect before it, also that of another UID. */
inline put(to) {
  if
  :: stored && byUid && !orphaned && to > 2 ->
     orphaned = true; changedAt = revision + 1;
     if :: pendingSince == 0 && FAULT != RECREATED -> pendingSince = revision + 1 :: else fi
  :: else
  fi;
  followPolicy();
  cluster = to; count(); modified = revision;
  if
  :: state == LIVE -> position = revision; sources ! FRAME, revision, view
  :: else
  fi
}

#define ROOM (revision < REVISIONS && len(sources) < MOST - 3 - REVISIONS)

active proctype world() {
  mtype what; byte number; bool rule;
  d_step { if :: byUid = true :: byUid = false fi }
  do
  /* The cluster and the binding change. */
  :: d_step { ROOM && cluster == 0 -> SAY("the cluster is created"); put(1) }
  :: d_step { ROOM && cluster == 0 -> SAY("the cluster is created with the label"); put(2) }
  :: d_step { ROOM && cluster == 0 -> SAY("the cluster is created with the label and another UID"); put(4) }
  :: d_step { ROOM && cluster == 2 -> SAY("the cluster loses the label"); put(1) }
  :: d_step { ROOM && cluster == 1 -> SAY("the cluster gets the label"); put(2) }
  :: d_step { ROOM && cluster != 0 -> SAY("the cluster is deleted"); put(0) }
  :: d_step { ROOM && !stored && !over -> SAY("the binding is created");
       stored = true; orphaned = byUid && cluster > 2; changed() }
  :: d_step { ROOM && stored -> SAY("the binding is deleted");
       stored = false; orphaned = false; changed() }
  :: d_step { stored && !over -> SAY("the binding ends by its time"); over = true }
  /* All events of a batch were delivered, in one tick: until then nothing is written. */
  :: d_step { pendingSince > 0 -> SAY("watches follow the policy"); followPolicy() }
  /* The client. */
  :: d_step { lists && state == CLOSED && pendingSince == 0 -> SAY("the client lists");
       has = ADMITS(NOW, cluster); at = revision; lists = false }
  :: d_step { !lists && state == CLOSED && pendingSince == 0 ->
       if
       :: changedAt > at && FAULT != STALE_RESUMES || over && stored && FAULT != ENDED_RESUMES ->
          SAY("the client resumes: 410"); lists = true
       :: else ->
          SAY("the client resumes"); state = CATCHING_UP; position = at; view = NOW
       fi }
  :: d_step { state != CLOSED && cuts < CUTS -> SAY("the connection is lost"); cuts++; close() }
  :: d_step { len(sources) > 0 && pendingSince == 0 -> SAY("the client reads"); write() }
  /* Watcher.#catchUp */
  :: d_step { state == CATCHING_UP && len(sources) == 0 && position < revision && pendingSince == 0 ->
       SAY("the watch reads what it missed"); catchUpTo(revision) }
  :: d_step { state == CATCHING_UP && position == revision && pendingSince == 0 && len(sources) == 0 ->
       if
       :: view == NOW -> SAY("the watch is live"); state = LIVE
       :: else -> SAY("the watch ends: 410"); close(); lists = true
       fi }
  /* Watcher.followTime: a second after the end, if the binding is not deleted. */
  :: d_step { state != CLOSED && over && stored && view != NOW && pendingSince == 0 ->
       SAY("the watch ends by the time: 410"); close(); lists = true }
  :: d_step { state == LIVE && len(sources) == 0 && pendingSince == 0 && !(over && stored) ->
       NEVER(has != ADMITS(NOW, cluster), "B3, at the end the client has what it may see, and nothing else"); skip }
  od
}
