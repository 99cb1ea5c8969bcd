/*
 * Orders of the connector: one order for a token, the server that waits for its answer, two connectors of one cluster,
 * both of which may believe that they lead, and the API server of the cluster. src/api/connector.ts has the words.
 *
 * A connector claims an order, records it, creates a Secret, requests a token that is bound to the Secret, and answers;
 * without `revocable` it claims, requests and answers. Each of them dies between any two steps, and loses its memory.
 * Requests to the API server arrive late, also after the death of their sender. A connector that has waited for two
 * minutes, or slept, does not use its Secret; a sweep that finds none forgets it only when two minutes have passed.
 *
 *   ADR 9   A token is revoked by a record of its id.
 *   orders  At most one token for an order, and none that nobody can account for: while a token is valid, its order is
 *           in the store, or its record is in the cluster, from which a connector removes the Secret.
 */
#include "rules.h"
#ifndef FAULT
#define FAULT NONE
#endif
mtype = { NONE, BLIND_CLAIM, CLAIMED_AGAIN, LATE_RECORD, EARLY_SWEEP, SLEPT, IMPATIENT_SWEEP, FORGOTTEN_FIRST };
/* DEATHS, of the command line: of connectors and of the server. */

mtype = { MADE, CLAIMED, ANSWERED, ISSUED, GONE };                /* the order; 0: not yet */
mtype = { IDLE, SEEN, OWNS, RECORDED, HAS_SECRET, CHECKED, HAS_TOKEN }; /* how far a connector is with it */
mtype = { RECORD, SECRET, TOKEN, SECRET_ONLY };                   /* what there is in the cluster; 0: nothing */
mtype = { BEGUN, REMOVED };                                       /* a sweep; 0: none */

typedef Connector {
  mtype at;
  byte version;     /* of the order, when it was seen */
  bool runs;
  bool lists;       /* it has a complete list of orders, in which the order is or is not */
  bool listed;
  bool knows;       /* the record is in its memory */
  bool isLate;      /* two minutes ago it had no Secret yet */
  mtype sweeping;   /* removed: the Secret is gone, or never comes */
  bool missed, isSure; /* a sweep has found no Secret; so two minutes later */
  bool sendsSecret, sendsRequest; /* requests under way; of the token, with the UID of the Secret */
  byte boundTo;
}

mtype order = 0, made = 0, now = 0;
bool record;
byte version, secret, secrets; /* the UID of the Secret, 0: none; how many there were */
byte tokens, tokenSecret;      /* how many tokens were made; the UID of the Secret of the last one */
bool revocable, waits, released;
byte deaths, claims;
Connector connectors[2];

#define SAY(text) printf(text); printf("\n")
#define NEVER(condition, promise) if :: condition -> printf("violated: "); SAY(promise); assert(false) :: else fi
#define C(n) connectors[n]
#define IS_VALID (tokens > 0 && revocable && secret != 0 && tokenSecret == secret)

inline check() {
  if
  :: record && secret == 0 -> now = RECORD
  :: record && secret != 0 && !IS_VALID -> now = SECRET
  :: record && IS_VALID -> now = TOKEN
  :: !record && secret != 0 -> now = SECRET_ONLY
  :: else -> now = 0
  fi;
  NEVER(FAULT == NONE && now != made && !MAY_IN_CLUSTER(made, now), "orders, record, Secret, token");
  made = now; now = 0;
  NEVER(tokens > 1, "orders, at most one token for an order");
  NEVER(IS_VALID && order == GONE && !record, "orders, no token that nobody can account for")
}

/* A fault is found by what it breaks. */
inline move(to) { NEVER(FAULT == NONE && !MAY_ORDER(order, to), "orders, each step once, and in their order"); order = to; version++ }

/* A connector that has died knows what is in the cluster and in the list, once it has read them. */
inline die(n) {
  deaths++;
  C(n).at = IDLE; C(n).version = 0; C(n).runs = false; C(n).lists = false; C(n).listed = false; C(n).knows = false;
  C(n).isLate = false; C(n).sweeping = 0; C(n).missed = false; C(n).isSure = false
}

#define CONNECTOR(i) \
  :: d_step { !C(i).runs -> SAY("a connector starts, and reads its records"); \
       C(i).runs = true; C(i).knows = record } \
  :: d_step { C(i).runs && !C(i).lists -> SAY("a connector lists the orders"); \
       C(i).lists = true; C(i).listed = (order != 0 && order != GONE) } \
  :: d_step { C(i).lists && C(i).listed != (order != 0 && order != GONE) -> \
       SAY("a connector hears of a change of its list"); C(i).listed = (order != 0 && order != GONE) } \
  /* An order is begun once, and not if it was claimed or recorded before. */ \
  :: d_step { C(i).lists && C(i).at == IDLE && !C(i).knows && claims < 2 \
       && (order == MADE || FAULT == CLAIMED_AGAIN && order == CLAIMED) -> \
       SAY("a connector sees the order"); C(i).at = SEEN; C(i).version = version; C(i).listed = true } \
  :: d_step { C(i).at == SEEN && (C(i).version == version || FAULT == BLIND_CLAIM && order != GONE) -> \
       SAY("a connector claims the order"); claims++; move(CLAIMED); C(i).at = OWNS } \
  :: d_step { C(i).at == SEEN && C(i).version != version && FAULT != BLIND_CLAIM -> \
       SAY("a claim is refused: 409"); C(i).at = IDLE } \
  :: d_step { C(i).at == OWNS && !revocable -> \
       SAY("a connector requests a token"); C(i).at = CHECKED; C(i).sendsRequest = true } \
  :: d_step { C(i).at == OWNS && revocable -> \
       SAY("a connector records the order"); C(i).at = RECORDED; C(i).knows = true; \
       record = FAULT != LATE_RECORD; C(i).sendsSecret = true; check() } \
  :: d_step { C(i).sendsSecret && secret == 0 -> \
       SAY("the cluster creates the Secret"); secrets++; secret = secrets; C(i).sendsSecret = false; \
       C(i).boundTo = (C(i).at == RECORDED -> secret : 0); \
       C(i).at = (C(i).at == RECORDED -> HAS_SECRET : C(i).at); check() } \
  :: d_step { C(i).sendsSecret && secret != 0 -> \
       SAY("the cluster has the Secret already"); C(i).sendsSecret = false; \
       C(i).at = (C(i).at == RECORDED -> IDLE : C(i).at) } \
  :: d_step { C(i).at == HAS_SECRET && (!C(i).isLate || FAULT == SLEPT) -> \
       SAY("a connector requests a token that is bound to the Secret"); C(i).at = CHECKED; C(i).sendsRequest = true } \
  :: d_step { C(i).at == HAS_SECRET && C(i).isLate && FAULT != SLEPT -> \
       SAY("a connector finds that it was too slow, and removes its Secret"); C(i).at = IDLE; \
       secret = (C(i).boundTo == secret -> 0 : secret); check() } \
  :: d_step { C(i).sendsRequest && (!revocable || C(i).boundTo == secret && secret != 0) -> \
       SAY("the cluster makes a token"); tokens++; tokenSecret = C(i).boundTo; C(i).sendsRequest = false; \
       C(i).at = (C(i).at == CHECKED -> HAS_TOKEN : C(i).at); check() } \
  :: d_step { C(i).sendsRequest && revocable && (C(i).boundTo != secret || secret == 0) -> \
       SAY("the cluster refuses the token: its Secret is gone"); C(i).sendsRequest = false; \
       C(i).at = (C(i).at == CHECKED -> IDLE : C(i).at) } \
  :: d_step { C(i).at == HAS_TOKEN -> \
       SAY("a connector answers the order"); C(i).at = IDLE; \
       record = (record || FAULT == LATE_RECORD && revocable); \
       if :: order == CLAIMED -> move(ANSWERED) :: else fi; check() } \
  /* The sweep: what is recorded, and not in the complete list. */ \
  :: d_step { C(i).knows && C(i).at == IDLE && C(i).sweeping == 0 \
       && (C(i).lists && !C(i).listed || FAULT == EARLY_SWEEP && C(i).runs && !C(i).listed) -> \
       SAY("a connector begins to sweep the order"); C(i).sweeping = BEGUN; \
       record = (record && FAULT != FORGOTTEN_FIRST); check() } \
  :: d_step { C(i).sweeping == BEGUN && secret != 0 -> \
       SAY("a connector removes the Secret"); C(i).sweeping = REMOVED; \
       NEVER(order == ISSUED, "orders, no token of an order that is there is revoked"); secret = 0; check() } \
  :: d_step { C(i).sweeping == BEGUN && secret == 0 && !C(i).isSure && FAULT != IMPATIENT_SWEEP -> \
       SAY("a connector finds no Secret, and will look again"); C(i).sweeping = 0; C(i).missed = true } \
  :: d_step { C(i).sweeping == BEGUN && secret == 0 && (C(i).isSure || FAULT == IMPATIENT_SWEEP) -> \
       SAY("a connector finds no Secret"); C(i).sweeping = REMOVED } \
  :: d_step { C(i).sweeping == REMOVED -> \
       SAY("a connector removes the record"); C(i).sweeping = 0; C(i).missed = false; C(i).isSure = false; \
       C(i).knows = false; record = false; check() } \
  :: d_step { deaths < DEATHS && C(i).runs -> SAY("a connector dies"); die(i) }

#define WAITS(n) (C(n).at == RECORDED || C(n).at == HAS_SECRET)
#define MAY_PASS(n) (WAITS(n) && !C(n).isLate || C(n).missed && !C(n).isSure)
inline pass(n) { C(n).isLate = (C(n).isLate || WAITS(n)); C(n).isSure = C(n).missed }

active proctype world() {
  d_step {
    if :: revocable = true :: revocable = false fi;
    C(0).at = IDLE; C(1).at = IDLE
  }
  do
  :: d_step { order == 0 -> SAY("a server creates the order, and waits"); waits = true; move(MADE) }
  :: d_step { waits && order == ANSWERED -> SAY("the server returns the token"); waits = false; released = true;
       if :: revocable -> move(ISSUED) :: else -> move(GONE) fi; check() }
  /* Also what another server does for one that has died: an order without an issued token ends by the time. */
  :: d_step { order == MADE || order == CLAIMED || order == ANSWERED ->
       SAY("the order ends: nobody has answered in time"); waits = false; move(GONE); check() }
  :: d_step { waits && deaths < DEATHS -> SAY("the server dies"); deaths++; waits = false }
  :: d_step { order == ISSUED -> SAY("the token is revoked: a server deletes the order"); move(GONE); check() }
  :: d_step { MAY_PASS(0) || MAY_PASS(1) -> SAY("two minutes pass"); pass(0); pass(1) }
  CONNECTOR(0)
  CONNECTOR(1)
  od
}
