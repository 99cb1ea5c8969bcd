import type { User } from '../api/caller.ts';
import type { Target } from '../api/exchange.ts';
import { lineText, lineValue, withoutCredentials } from '../observability/safe-line.ts';
import type { RequestRecord } from './request-record.ts';

/** Longer texts are cut: a caller decides how long a path is, not how much of it is kept. */
const MAX_PATH = 1024;
const MAX_NAME = 256;
/** What proxies write when a client left before there was an answer. */
const CLIENT_LEFT = ',"status":"Failure","reason":"ClientClosedRequest","code":499';

/**
 * One event in the form of `audit.k8s.io/v1` at the level Metadata, as kube-apiserver writes it, with less in it: no
 * query, no free text of a user agent, and of an error its reason but not its message. All of these can hold what
 * a caller sent by mistake.
 */
export function auditLine(record: RequestRecord, stage: 'ResponseStarted' | 'ResponseComplete', now: number): string {
  const { target, who, clientAddress } = record;
  // Put together by hand: it is written for every request, and JSON.stringify takes three times as long for it.
  return withoutCredentials(
    `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":${lineText(record.auditId)}` +
      `,"stage":"${stage}","requestURI":${lineText(cut(record.path, MAX_PATH))},"verb":${lineText(record.verb)}` +
      `,"user":${who === undefined ? '{}' : userInfo(who)}` +
      (clientAddress === '' ? '' : `,"sourceIPs":[${lineText(clientAddress)}]`) +
      member('userAgent', record.userAgent) +
      (target === undefined ? '' : `,"objectRef":${objectRef(target, record)}`) +
      `,"responseStatus":{"metadata":{}${status(record)}}` +
      `,"requestReceivedTimestamp":"${microTime(now - record.milliseconds)}","stageTimestamp":"${microTime(now)}"` +
      `,"annotations":${annotations(record)}}`,
  );
}

/** One more member of an object, if there is anything to say. */
const member = (name: string, text: string): string => (text === '' ? '' : `,"${name}":${lineText(text)}`);

/** Around members, each of which begins with a comma. */
const objectOf = (members: string): string => `{${members.slice(1)}}`;

/** Whoever asks again is the same, and is written in the same way. */
const users = new WeakMap<User, string>();

function userInfo(user: User): string {
  let text = users.get(user);
  if (text === undefined) {
    const { name, uid, groups, extra } = user;
    // What is undefined JSON leaves out.
    text = lineValue({
      username: name,
      uid: uid === '' ? undefined : uid,
      groups,
      extra: Object.keys(extra).length === 0 ? undefined : extra,
    });
    users.set(user, text);
  }
  return text;
}

function objectRef(target: Target, record: RequestRecord): string {
  const clean = (text: string): string => cut(record.withoutTokens(text), MAX_NAME);
  return objectOf(
    member('resource', clean(target.resource)) +
      member('namespace', clean(target.namespace)) +
      member('name', clean(target.name)) +
      member('apiGroup', clean(target.group)) +
      member('apiVersion', clean(target.version)) +
      member('subresource', clean(target.subresource)),
  );
}

function status({ code, failure }: RequestRecord): string {
  if (code === 0) return CLIENT_LEFT;
  return failure === undefined ? `,"code":${code}` : `,"status":"Failure","reason":${lineText(failure)},"code":${code}`;
}

function annotations({ decision, cluster, annotations }: RequestRecord): string {
  let members = '';
  if (decision !== undefined) {
    members += `,"authorization.k8s.io/decision":"${decision.allowed ? 'allow' : 'forbid'}"`;
    members += `,"authorization.k8s.io/reason":${lineText(decision.why)}`;
  }
  if (cluster !== undefined) members += `,"clusterpass.dev/cluster":${lineText(cut(cluster, MAX_NAME))}`;
  for (const [key, text] of annotations) members += `,${lineText(key)}:${lineText(text)}`;
  return objectOf(members);
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
