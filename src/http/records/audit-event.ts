import type { User } from '../../api/caller.ts';
import type { Target } from '../../api/request.ts';
import { remembering } from '../../lib/remember.ts';
import { utcSecond } from '../../lib/utc-second.ts';
import { safeLine } from '../../observability/safe-line.ts';
import type { RequestRecord } from './request-record.ts';

/** Longer texts are cut: a caller decides how long a path is, not how much of it is kept. */
const MAX_PATH = 1024;
const MAX_NAME = 256;
/** What proxies write when a client left before there was an answer. */
const CLIENT_LEFT = { status: 'Failure', reason: 'ClientClosedRequest', code: 499 };

/** What an event says of the request line, whoever sent it. */
export interface AuditedLine {
  readonly request: string;
  readonly object: string;
  readonly cluster: string;
}

/**
 * One event in the form of `audit.k8s.io/v1` at the level Metadata, as kube-apiserver writes it, with less in it: no
 * query, no free text of a user agent, and of an error its reason but not its message. All of these can hold what
 * a caller sent by mistake.
 *
 * Every request makes one, so it is put together from texts, of which those about the request line and the caller are
 * made once. Each is clean by itself: what must not be written never reaches from one value of JSON into the next.
 */
export function auditLine(record: RequestRecord, stage: 'ResponseStarted' | 'ResponseComplete', now: number): string {
  const { who, clientAddress, userAgent } = record;
  const line = lineOf(record);
  const source = clientAddress === '' ? '' : `,"sourceIPs":[${quoted(clientAddress)}]`;
  const agent = userAgent === '' ? '' : `,"userAgent":${quoted(userAgent)}`;
  return (
    `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":${quoted(record.auditId)}` +
    `,"stage":"${stage}",${line.request},"user":${who === undefined ? '{}' : userJson(who)}${source}${agent}${line.object}` +
    `,"responseStatus":{"metadata":{},${statusMembers(record)}}` +
    `,"requestReceivedTimestamp":"${microTime(now - record.milliseconds)}","stageTimestamp":"${microTime(now)}"` +
    `,"annotations":{${annotationMembers(record, line)}}}`
  );
}

/** What is undefined JSON leaves out. */
const json = (value: object): string => safeLine(JSON.stringify(value));

/** Nothing to escape, and no blank, without which there is no bearer header: most texts, which are JSON as they are. */
const PLAIN = /^[!#-[\]-~]*$/;

const quoted = (text: string): string =>
  PLAIN.test(text) && !text.includes('eyJ') ? `"${text}"` : safeLine(JSON.stringify(text));

/** Why something was decided is said in few different ways. */
const reasonJson = remembering((why) => ({ json: safeLine(JSON.stringify(why)) }), { texts: 256, length: 512 });

function lineOf(record: RequestRecord): AuditedLine {
  const { notes } = record;
  if (notes === undefined) return readLine(record);
  notes.audited ??= readLine(record);
  return notes.audited;
}

function readLine(record: RequestRecord): AuditedLine {
  const { target, cluster } = record;
  return {
    request: `"requestURI":${quoted(cut(record.path, MAX_PATH))},"verb":${quoted(record.verb)}`,
    object: target === undefined ? '' : `,"objectRef":{${objectMembers(target, record)}}`,
    cluster: cluster === undefined ? '' : `"clusterpass.dev/cluster":${quoted(cut(cluster, MAX_NAME))}`,
  };
}

const users = new WeakMap<User, string>();

function userJson(user: User): string {
  const known = users.get(user);
  if (known !== undefined) return known;
  const { name, uid, groups, extra } = user;
  const made = json({
    username: name,
    uid: uid === '' ? undefined : uid,
    groups,
    extra: Object.keys(extra).length === 0 ? undefined : extra,
  });
  users.set(user, made);
  return made;
}

function objectMembers(target: Target, record: RequestRecord): string {
  const named = (members: string, name: string, value: string): string =>
    value === '' ? members : joined(members, `"${name}":${quoted(cut(record.withoutTokens(value), MAX_NAME))}`);
  let members = named('', 'resource', target.resource);
  members = named(members, 'namespace', target.namespace);
  members = named(members, 'name', target.name);
  members = named(members, 'apiGroup', target.group);
  members = named(members, 'apiVersion', target.version);
  return named(members, 'subresource', target.subresource);
}

function statusMembers({ code, failure }: RequestRecord): string {
  if (code !== 0 && failure === undefined) return `"code":${code}`;
  return json(code === 0 ? CLIENT_LEFT : { status: 'Failure', reason: failure, code }).slice(1, -1);
}

function annotationMembers({ decision, annotations }: RequestRecord, { cluster }: AuditedLine): string {
  let members = '';
  if (decision !== undefined) {
    const word = decision.allowed ? 'allow' : 'forbid';
    members = `"authorization.k8s.io/decision":"${word}","authorization.k8s.io/reason":${reasonJson(decision.why).json}`;
  }
  if (cluster !== '') members = joined(members, cluster);
  for (const [key, value] of annotations) members = joined(members, `${quoted(key)}:${quoted(value)}`);
  return members;
}

const joined = (members: string, next: string): string => (members === '' ? next : `${members},${next}`);

const cut = (text: string, limit: number): string =>
  text.length <= limit ? text : `${text.slice(0, limit).toWellFormed()}...`;

/** `metav1.MicroTime`: six digits, also when fewer are known. */
function microTime(milliseconds: number): string {
  const second = Math.floor(milliseconds / 1000);
  const micros = Math.floor((milliseconds - second * 1000) * 1000);
  return `${utcSecond(second)}.${String(micros).padStart(6, '0')}Z`;
}
