/*
 * Orders of the connector: one order for a token, the server that waits for its answer, two connectors of one cluster,
 * both of which may believe that they lead, and the API server of the cluster. src/api/connector.ts has the words.
 *
 * A connector claims an order, records it, creates a Secret, requests a token that is bound to the Secret, and answers;
 * without `revocable` it claims, requests and answers. Each of them dies between any two steps, and loses its memory.
 * Requests to the API server arrive late, also after the death of their sender.
 *
 *   ADR 9   A token is revoked by a record of its id.
 *   orders  At most one token for an order, and none that nobody can account for: while a token is valid, its order is
 *           in the store, or its record is in the cluster, from which a connector removes the Secret.
 */
#include "rules.h"
#ifndef FAULT
#define FAULT NONE
#endif
mtype = { NONE, BLIND_CLAIM, CLAIMED_AGAIN, LATE_RECORD, EARLY_SWEEP, UNCHECKED_RECORD, FORGOTTEN_FIRST };
/* DEATHS, of the command line: of connectors and of the server. */

mtype = { MADE, CLAIMED, ANSWERED, ISSUED, GONE };                /* the order; 0: not yet */
mtype = { IDLE, SEEN, OWNS, RECORDED, HAS_SECRET, CHECKED, HAS_TOKEN }; /* how far a connector is with it */
mtype = { KEPT, ENDED };                                          /* the record in the cluster; 0: none */

typedef Connector {
  mtype at;
  byte version;     /* of the order, when it was seen */
  bool runs;
  bool lists;       /* it has a complete list of orders, in which the order is or is not */
  bool listed;
  bool knows;       /* the record is in its memory */
  mtype sweeping;   /* the record was marked; 0: it does not sweep */
  bool removed;     /* the Secret was removed by this sweep */
  bool sendsSecret, sendsRequest; /* requests under way; of the token, with the UID of the Secret */
  byte boundTo;
}

mtype order = 0, record = 0;
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
  NEVER(tokens > 1, "orders, at most one token for an order");
  NEVER(IS_VALID && order == GONE && record == 0, "orders, no token that nobody can account for")
}

/* A fault is found by what it breaks. */
inline move(to) { NEVER(FAULT == NONE && !MAY_ORDER(order, to), "orders, each step once, and in their order"); order = to; version++ }

/* A connector that has died knows what is in the cluster and in the list, once it has read them. */
inline die(n) {
  deaths++;
  C(n).at = IDLE; C(n).version = 0; C(n).runs = false; C(n).lists = false; C(n).listed = false; C(n).knows = false;
  C(n).sweeping = 0; C(n).removed = false
}

#define CONNECTOR(i) \
  :: d_step { !C(i).runs -> SAY("a connector starts, and reads its records"); \
       C(i).runs = true; C(i).knows = (record != 0) } \
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
       record = (FAULT == LATE_RECORD -> 0 : KEPT); C(i).sendsSecret = true } \
  :: d_step { C(i).sendsSecret && secret == 0 -> \
       SAY("the cluster creates the Secret"); secrets++; secret = secrets; C(i).sendsSecret = false; \
       C(i).boundTo = (C(i).at == RECORDED -> secret : 0); \
       C(i).at = (C(i).at == RECORDED -> HAS_SECRET : C(i).at) } \
  :: d_step { C(i).sendsSecret && secret != 0 -> \
       SAY("the cluster has the Secret already"); C(i).sendsSecret = false; \
       C(i).at = (C(i).at == RECORDED -> IDLE : C(i).at) } \
  /* The record is read again, after the Secret exists: a sweep marks it before it removes the Secret. */ \
  :: d_step { C(i).at == HAS_SECRET && (record == KEPT || FAULT == UNCHECKED_RECORD || FAULT == LATE_RECORD) -> \
       SAY("a connector requests a token that is bound to the Secret"); C(i).at = CHECKED; C(i).sendsRequest = true } \
  :: d_step { C(i).at == HAS_SECRET && record != KEPT && FAULT != UNCHECKED_RECORD && FAULT != LATE_RECORD -> \
       SAY("a connector finds that the order was swept"); C(i).at = IDLE; \
       secret = (C(i).boundTo == secret -> 0 : secret); C(i).boundTo = 0 } \
  :: d_step { C(i).sendsRequest && (!revocable || C(i).boundTo == secret && secret != 0) -> \
       SAY("the cluster makes a token"); tokens++; tokenSecret = C(i).boundTo; C(i).sendsRequest = false; \
       C(i).at = (C(i).at == CHECKED -> HAS_TOKEN : C(i).at); check() } \
  :: d_step { C(i).sendsRequest && revocable && (C(i).boundTo != secret || secret == 0) -> \
       SAY("the cluster refuses the token: its Secret is gone"); C(i).sendsRequest = false; \
       C(i).at = (C(i).at == CHECKED -> IDLE : C(i).at) } \
  :: d_step { C(i).at == HAS_TOKEN -> \
       SAY("a connector answers the order"); C(i).at = IDLE; \
       record = (FAULT == LATE_RECORD && revocable -> KEPT : record); \
       if :: order == CLAIMED -> move(ANSWERED) :: else fi; check() } \
  /* The sweep: what is recorded, and not in the complete list. */ \
  :: d_step { C(i).knows && C(i).at == IDLE && C(i).sweeping == 0 && record != 0 \
       && (C(i).lists && !C(i).listed || FAULT == EARLY_SWEEP && C(i).runs && !C(i).listed) -> \
       SAY("a connector begins to sweep the order"); C(i).sweeping = ENDED; C(i).removed = false; \
       record = (FAULT == UNCHECKED_RECORD -> record : (FAULT == FORGOTTEN_FIRST -> 0 : ENDED)); check() } \
  :: d_step { C(i).sweeping == ENDED && !C(i).removed -> \
       SAY("a connector removes the Secret"); C(i).removed = true; \
       NEVER(order == ISSUED, "orders, no token of an order that is there is revoked"); secret = 0 } \
  :: d_step { C(i).sweeping == ENDED && C(i).removed -> \
       SAY("a connector removes the record"); C(i).sweeping = 0; C(i).removed = false; C(i).knows = false; \
       record = 0; check() } \
  :: d_step { deaths < DEATHS && C(i).runs -> SAY("a connector dies"); die(i) }

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
  CONNECTOR(0)
  CONNECTOR(1)
  od
}
