import type { User } from '../../api/caller.ts';
import { CLUSTERPASS_GROUP } from '../../api/kinds/meta.ts';
import { USERPASS } from '../../api/kinds/token-request.ts';
import { DRY_RUN_ANNOTATION, type Target } from '../../api/request.ts';
import { unavailable } from '../../api/status.ts';
import { clip, safeLine } from '../../lib/text.ts';
import {
  CLUSTER_ANNOTATION,
  type ListedPass,
  PASSES_ANNOTATION,
  passesText,
} from '../../observability/audit/listed-passes.ts';
import type { AuditLogs } from '../../observability/audit/open-audit.ts';
import { microTime, SECURITY_GROUPS } from '../../observability/audit/server-event.ts';
import type { RequestRecord } from './request-record.ts';

const RETRY_SECONDS = 5;
/** A path or a name that a caller sends: longer than a valid name. A caller does not decide how much is written. */
const MAX_TEXT = 256;
/** The code that proxies log when a client left before there was an answer. */
const CLIENT_LEFT = { status: 'Failure', reason: 'ClientClosedRequest', code: 499 };

/** Writes the audit events of requests. */
export function createAuditor({ requests, security }: Pick<AuditLogs, 'requests' | 'security'>, now: () => number) {
  return {
    /** A9: resolves when the event is durable; rejects with a 503. */
    beforeRelease: (record: RequestRecord): Promise<void> =>
      security.commit(auditLine(record, 'ResponseComplete', now())).catch(rejectUnaudited),
    started: (record: RequestRecord): void => requests.write(auditLine(record, 'ResponseStarted', now())),
    ended(record: RequestRecord): void {
      // The outcome can differ from the committed event, e.g. after a timeout: then a second event records it.
      if (record.auditedCode === record.code) return;
      const log = isSecurityEvent(record) ? security : requests;
      log.write(auditLine(record, 'ResponseComplete', now()), { isRecent: !showsEvents(record) });
    },
  };
}

/** A request that shows recent events. The console sends one every few seconds, and they would be full of these. */
const showsEvents = ({ target, code }: RequestRecord): boolean =>
  target?.resource === 'auditeventreviews' && target.group === CLUSTERPASS_GROUP && code < 400;

const WRITES: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/**
 * Whether the event is kept in the security log: the request has changed who may do what, or may have. A rejected
 * request is not: callers without any permission can send those.
 */
function isSecurityEvent(record: RequestRecord): boolean {
  const { auditedCode, target } = record;
  // The event of a token was committed there before.
  if (auditedCode !== undefined) return true;
  // Of a list: a caller without any permission can send it.
  if (record.items?.every(({ code }) => code >= 400)) return false;
  return mayHaveWritten(record) && SECURITY_GROUPS.has(target?.group ?? '') && target?.subresource !== 'status';
}

/** Whether the request has changed something, or may have: it was permitted, and its result is perhaps not known. */
function mayHaveWritten({ target, decision, dryRun, code }: RequestRecord): boolean {
  if (target === undefined || decision?.allowed !== true || dryRun) return false;
  // A conflict at one object ends the deletion of a collection; others may be deleted already.
  const isRejected = code >= 400 && code < 500 && target.verb !== 'deletecollection';
  return !isRejected && WRITES.has(target.verb);
}

/** The log has the cause. */
function rejectUnaudited(): never {
  throw unavailable('the audit log cannot be written, so no token is issued; please try again', RETRY_SECONDS);
}

/**
 * One event of `audit.k8s.io/v1` at the level Metadata, as kube-apiserver writes it, with less in it: no query, no free
 * text of a user agent, and of an error its reason but not its message. All of these can hold what a caller sent by
 * mistake.
 */
export function auditLine(record: RequestRecord, stage: 'ResponseStarted' | 'ResponseComplete', now: number): string {
  const { clientAddress, userAgent, target, userInfo, impersonatedUser } = record;
  return safeLine(
    JSON.stringify({
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: 'Metadata',
      auditID: record.auditId,
      stage,
      requestURI: clip(record.path, MAX_TEXT),
      verb: record.verb,
      user: userInfo === undefined ? {} : userOf(userInfo),
      impersonatedUser: impersonatedUser && impersonatedOf(impersonatedUser, record),
      sourceIPs: clientAddress === '' ? undefined : [clientAddress],
      userAgent: userAgent === '' ? undefined : userAgent,
      objectRef: target === undefined ? undefined : objectOf(target, record),
      responseStatus: statusOf(record),
      requestReceivedTimestamp: microTime(now - record.milliseconds),
      stageTimestamp: microTime(now),
      annotations: annotationsOf(record),
    }),
  );
}

const userOf = ({ name, uid, groups, extra }: User): object => ({
  username: name,
  uid: uid === '' ? undefined : uid,
  groups,
  extra: Object.keys(extra).length === 0 ? undefined : extra,
});

/** Written by the impersonator, unlike the names of authenticated users: it is cut, and a token in it is redacted. */
function impersonatedOf({ name, uid, groups, extra }: User, record: RequestRecord): object {
  const written = (text: string): string => clip(record.redact(text), MAX_TEXT);
  const all = Object.entries(extra).map(([key, values]) => [written(key), values.map(written)]);
  return userOf({
    name: written(name),
    uid: written(uid),
    groups: groups.map(written),
    extra: Object.fromEntries(all),
  });
}

function objectOf({ resource, namespace, name, group, version, subresource }: Target, record: RequestRecord): object {
  const named = (text: string): string | undefined => (text === '' ? undefined : clip(record.redact(text), MAX_TEXT));
  return {
    resource: named(resource),
    namespace: named(namespace),
    name: named(name),
    apiGroup: named(group),
    apiVersion: named(version),
    subresource: named(subresource),
  };
}

function statusOf({ code, failure }: RequestRecord): object {
  if (code === 0) return { metadata: {}, ...CLIENT_LEFT };
  return failure === undefined ? { metadata: {}, code } : { metadata: {}, status: 'Failure', reason: failure, code };
}

function annotationsOf(record: RequestRecord): Record<string, string> {
  const { decision, cluster, annotations } = record;
  const all: Record<string, string> = {};
  if (decision !== undefined) {
    all['authorization.k8s.io/decision'] = decision.allowed ? 'allow' : 'forbid';
    all['authorization.k8s.io/reason'] = decision.why;
  }
  if (cluster !== undefined) all[CLUSTER_ANNOTATION] = clip(cluster, MAX_TEXT);
  // The query is not recorded, and without this a dry run would look like a change.
  if (record.dryRun) all[DRY_RUN_ANNOTATION] = 'All';
  for (const [key, value] of annotations) all[key] = value;
  if (record.items !== undefined) all[PASSES_ANNOTATION] = passesText(record.items);
  return all;
}

/** What the event of a list says of one of its passes. Made at the end of the pass, so that nothing else is kept. */
export function passOf(item: RequestRecord): ListedPass {
  const { code, failure, target } = item;
  const written = (text = ''): string => clip(item.redact(text), MAX_TEXT);
  const isUserpass = target?.subresource === USERPASS;
  return {
    code,
    reason: failure,
    cluster: written(isUserpass ? target.name : target?.cluster),
    account: isUserpass ? undefined : { namespace: written(target?.namespace), name: written(target?.name) },
    annotations: annotationsOf(item),
  };
}
