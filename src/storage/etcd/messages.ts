import {
  bytes,
  count,
  type Decoded,
  flag,
  id,
  type Message,
  many,
  message,
  one,
  part,
  parts,
  text,
} from './protobuf.ts';

/**
 * The part of etcd's API (api/etcdserverpb/rpc.proto, api/mvccpb/kv.proto of etcd 3.5) that the engine uses, with the
 * fields that it reads or writes. Only the numbers are encoded; the names are ours.
 */

const header = message({ revision: count(3) });

const keyValue = message({
  key: bytes(1),
  createRevision: count(2),
  modRevision: count(3),
  value: bytes(5),
  lease: id(6),
});
export type EtcdKeyValue = Decoded<typeof keyValue>;

const rangeRequest = message({
  key: bytes(1),
  rangeEnd: bytes(2),
  limit: count(3),
  revision: count(4),
  keysOnly: flag(8),
  countOnly: flag(9),
});
const rangeResponse = message({ header: one(1, header), kvs: many(2, keyValue), more: flag(3) });

const putRequest = message({ key: bytes(1), value: bytes(2), lease: id(3) });
const deleteRequest = message({ key: bytes(1) });

/** Without `result`: its default, 0, is EQUAL, the only comparison used. */
const compare = message({
  target: count(2),
  key: bytes(3),
  createRevision: count(5),
  modRevision: count(6),
  rangeEnd: bytes(64),
});
export type EtcdCompare = Partial<Decoded<typeof compare>>;
/** Compare.CompareTarget */
export const CREATE_REVISION = 1;
export const MOD_REVISION = 2;

const requestOp = message({ range: part(1, rangeRequest), put: part(2, putRequest), delete: part(3, deleteRequest) });
const responseOp = message({ range: one(1, rangeResponse) });
const txnRequest = message({ compare: parts(1, compare), success: parts(2, requestOp), failure: parts(3, requestOp) });
export type EtcdTxn = Partial<Decoded<typeof txnRequest>>;
const txnResponse = message({ header: one(1, header), succeeded: flag(2), responses: many(3, responseOp) });

const watchCreate = message({
  key: bytes(1),
  rangeEnd: bytes(2),
  startRevision: count(3),
  progressNotify: flag(4),
  fragment: flag(8),
});
const event = message({ type: count(1), kv: one(2, keyValue) });
export type EtcdEvent = Decoded<typeof event>;
/** Event.EventType */
export const DELETE_EVENT = 1;

export const watchRequest = message({ create: part(1, watchCreate), progress: part(3, message({})) });
export const watchResponse = message({
  header: one(1, header),
  created: flag(3),
  canceled: flag(4),
  compactRevision: count(5),
  cancelReason: text(6),
  fragment: flag(7),
  events: many(11, event),
});
export type EtcdWatchRequest = Partial<Decoded<typeof watchRequest>>;
export type EtcdWatchResponse = Decoded<typeof watchResponse>;

/** A call with one request and one response. */
export interface UnaryMethod<Q, S> {
  readonly path: string;
  readonly request: Message<Q>;
  readonly response: Message<S>;
}

const unary = <Q, S>(path: string, request: Message<Q>, response: Message<S>): UnaryMethod<Q, S> => ({
  path: `/etcdserverpb.${path}`,
  request,
  response,
});

export const RANGE = unary('KV/Range', rangeRequest, rangeResponse);
export const TXN = unary('KV/Txn', txnRequest, txnResponse);
export const COMPACT = unary('KV/Compact', message({ revision: count(1) }), message({ header: one(1, header) }));
export const STATUS = unary('Maintenance/Status', message({}), message({ header: one(1, header), version: text(2) }));
export const AUTHENTICATE = unary(
  'Auth/Authenticate',
  message({ name: text(1), password: text(2) }),
  message({ token: text(2) }),
);
export const LEASE_GRANT = unary('Lease/LeaseGrant', message({ ttl: count(1) }), message({ id: id(2), ttl: count(3) }));
export const LEASE_REVOKE = unary('Lease/LeaseRevoke', message({ id: id(1) }), message({}));

export const WATCH_PATH = '/etcdserverpb.Watch/Watch';
export const LEASE_KEEP_ALIVE_PATH = '/etcdserverpb.Lease/LeaseKeepAlive';
export const leaseKeepAliveRequest = message({ id: id(1) });
export const leaseKeepAliveResponse = message({ id: id(2), ttl: count(3) });
export type { Decoded };
