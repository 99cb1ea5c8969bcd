import type { User } from '../api/caller.ts';
import type { Target } from '../api/exchange.ts';
import { safeLine } from '../observability/safe-line.ts';
import type { RequestRecord } from './request-record.ts';

/** Longer texts are cut: a caller decides how long a path is, not how much of it is kept. */
const MAX_PATH = 1024;
const MAX_NAME = 256;
/** What proxies write when a client left before there was an answer. */
const CLIENT_LEFT = { status: 'Failure', reason: 'ClientClosedRequest', code: 499 };

/**
 * One event in the form of `audit.k8s.io/v1` at the level Metadata, as kube-apiserver writes it, with less in it: no
 * query, no free text of a user agent, and of an error its reason but not its message. All of these can hold what
 * a caller sent by mistake.
 */
export function auditLine(record: RequestRecord, stage: 'ResponseStarted' | 'ResponseComplete', now: number): string {
  const { target, who, decision, annotations, clientAddress, userAgent, cluster } = record;
  // What is undefined JSON leaves out.
  const event = {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    auditID: record.auditId,
    stage,
    requestURI: cut(record.path, MAX_PATH),
    verb: record.verb,
    user: who === undefined ? {} : userInfo(who),
    sourceIPs: clientAddress === '' ? undefined : [clientAddress],
    userAgent: userAgent === '' ? undefined : userAgent,
    objectRef: target && objectRef(target, (text) => record.withoutTokens(text)),
    responseStatus: { metadata: {}, ...statusOf(record) },
    requestReceivedTimestamp: microTime(now - record.milliseconds),
    stageTimestamp: microTime(now),
    annotations: {
      'authorization.k8s.io/decision': decision && (decision.allowed ? 'allow' : 'forbid'),
      'authorization.k8s.io/reason': decision?.why,
      'clusterpass.dev/cluster': cluster && cut(cluster, MAX_NAME),
      ...(annotations.size === 0 ? undefined : Object.fromEntries(annotations)),
    },
  };
  return safeLine(JSON.stringify(event));
}

const userInfo = ({ name, uid, groups, extra }: User) => ({
  username: name,
  uid: uid === '' ? undefined : uid,
  groups,
  extra: Object.keys(extra).length === 0 ? undefined : extra,
});

function objectRef(target: Target, clean: (text: string) => string) {
  const text = (value: string): string | undefined => (value === '' ? undefined : cut(clean(value), MAX_NAME));
  return {
    resource: text(target.resource),
    namespace: text(target.namespace),
    name: text(target.name),
    apiGroup: text(target.group),
    apiVersion: text(target.version),
    subresource: text(target.subresource),
  };
}

function statusOf({ code, failure }: RequestRecord) {
  if (code === 0) return CLIENT_LEFT;
  return failure === undefined ? { code } : { status: 'Failure', reason: failure, code };
}

const cut = (text: string, limit: number): string =>
  text.length <= limit ? text : `${text.slice(0, limit).toWellFormed()}...`;

/** The second that was told last, and its text: of many requests it is the same. */
let lastSecond = Number.NaN;
let lastSecondText = '';

/** `metav1.MicroTime`: six digits, also when fewer are known. */
function microTime(milliseconds: number): string {
  const second = Math.floor(milliseconds / 1000);
  if (second !== lastSecond) {
    lastSecondText = new Date(second * 1000).toISOString().slice(0, -4);
    lastSecond = second;
  }
  const micros = Math.floor((milliseconds - second * 1000) * 1000);
  return `${lastSecondText}${String(micros).padStart(6, '0')}Z`;
}
