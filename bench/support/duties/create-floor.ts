import { randomUUID, X509Certificate } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import { toTimestamp } from '../../../src/lib/utc-second.ts';
import { type Handler, readBody, respond } from '../floor-http.ts';
import { AuditLines, auditLine } from './audit-lines.ts';
import { Authentication, type User } from './authentication.ts';
import { begun, RequestMetrics } from './request-metrics.ts';
import { answering, Refusal, respondAudited } from './response.ts';
import { storeInThread, storeOnMainThread } from './row-store.ts';
import { type Fields, fieldsOf, listOf, parseStrictly, textOf } from './strict-json.ts';

/** What a server that creates clusters may not skip, in the order in which the rows of the study take it on. */
export const CREATE_DUTIES = {
  authentication: 'caller authenticated, permission decided',
  audit: 'audit event, Audit-Id',
  validation: 'body parsed strictly, validated and completed',
  managedFields: 'managedFields',
  thread: 'SQLite in another thread',
  cache: 'an existing name refused, the stored bytes decoded into a cache',
  metrics: 'metrics and a deadline',
} as const;

export type CreateDuty = keyof typeof CREATE_DUTIES;

export interface CreateFloorSettings {
  readonly duties: readonly CreateDuty[];
  readonly adminToken: string;
  readonly database: string;
  readonly auditFile: string;
}

interface Cluster {
  metadata: Record<string, unknown> & { name: string };
  spec?: unknown;
  status?: unknown;
}

interface CacheEntry {
  readonly revision: number;
  readonly bytes: Uint8Array;
  readonly uid: string;
  readonly labels: unknown;
}

const ADMIN_GROUP = 'system:masters';
const NO_USER: User = { name: '', groups: [], subjects: [] };
const OBJECT_REF = { resource: 'clusters', apiGroup: 'clusterregistry.k8s.io', apiVersion: 'v1alpha1' };
const ANNOTATIONS = { 'authorization.k8s.io/decision': 'allow', 'authorization.k8s.io/reason': '' };

/** A floor that stores clusters, with these duties. */
export function createFloor({ duties, adminToken, database, auditFile }: CreateFloorSettings): Handler {
  const does = (duty: CreateDuty): boolean => duties.includes(duty);
  const callers = [{ name: 'admin', token: adminToken, groups: [ADMIN_GROUP] }];
  const authentication = does('authentication')
    ? new Authentication({ callers, keys: [], issuerPrefix: '' })
    : undefined;
  const audit = does('audit') ? new AuditLines(auditFile) : undefined;
  const metrics = does('metrics') ? new RequestMetrics() : undefined;
  const store = does('thread') ? storeInThread(database) : storeOnMainThread(database);
  const cache = does('cache') ? new Map<string, CacheEntry | 'being stored'>() : undefined;
  const [validates, tracks] = [does('validation'), does('managedFields')];

  return (req, res) => {
    if (req.method === 'GET') return respond(res, 200, Buffer.from(JSON.stringify(metrics?.snapshot)));
    const received = Date.now();
    const end = begun(metrics, res);
    answering(res, end, () => {
      const user = authentication?.callerOf(req).elsewhere ?? NO_USER;
      if (authentication !== undefined && !user.groups.includes(ADMIN_GROUP)) throw new Refusal(403, 'forbidden');
      readBody(req, (body) =>
        answering(res, end, () => {
          const object = validates ? validated(body) : (JSON.parse(body.toString()) as Cluster);
          const { metadata } = object;
          const key = `/registry/clusters/${metadata.name}`;
          if (cache?.has(key) === true) throw new Refusal(409, 'already exists');
          cache?.set(key, 'being stored');
          metadata.uid = randomUUID();
          metadata.creationTimestamp = toTimestamp(received);
          if (tracks) metadata.managedFields = [managerEntry(object, req.headers['user-agent'] ?? '', received)];
          const bytes = Buffer.from(JSON.stringify(object));
          const onStored = (revision: number): void => {
            cache?.set(key, entryOf(bytes, revision));
            metadata.resourceVersion = String(revision);
            const response = Buffer.from(JSON.stringify(object));
            if (audit === undefined) respond(res, 201, response);
            else {
              const auditId = randomUUID();
              respondAudited(res, 201, response, auditId);
              const event = { auditId, req, user, objectRef: OBJECT_REF, received, annotations: ANNOTATIONS };
              audit.gather(auditLine(event));
            }
            end(201);
          };
          store.add({ key, bytes, onStored });
        }),
      );
    });
  };
}

/** Duty: the object as other readers of the store see it. */
function entryOf(bytes: Uint8Array, revision: number): CacheEntry {
  const { metadata } = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()) as Cluster;
  return { revision, bytes, uid: String(metadata.uid), labels: metadata.labels };
}

const BODY: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'spec', 'status']);
const METADATA: ReadonlySet<string> = new Set(['name', 'labels', 'annotations']);
const SPEC: ReadonlySet<string> = new Set(['orchestratorApiEndpoints', 'authInfo']);
const ENDPOINTS: ReadonlySet<string> = new Set(['serverEndpoints', 'caBundle']);
const ENDPOINT: ReadonlySet<string> = new Set(['clientCIDR', 'serverAddress']);
const AUTH_INFO: ReadonlySet<string> = new Set(['user', 'controller']);
const REFERENCE: ReadonlySet<string> = new Set(['kind', 'name', 'namespace']);
const STATUS: ReadonlySet<string> = new Set(['type', 'version', 'conditions']);

const SUBDOMAIN = /^[a-z0-9]+(?:[-.]+[a-z0-9]+)*$/;
const LABEL_KEY = /^(?:[a-z0-9]+(?:[-.]+[a-z0-9]+)*\/)?[A-Za-z0-9]+(?:[-_.]+[A-Za-z0-9]+)*$/;
const LABEL_VALUE = /^(?:[A-Za-z0-9]+(?:[-_.]+[A-Za-z0-9]+)*)?$/;

const NO_FIELDS: Fields = {};

function check(holds: boolean, what: string): void {
  if (!holds) throw new Refusal(422, `${what} is not valid`);
}

/** Duty: only known fields, and valid names, labels and addresses. A create has no status. */
function validated(body: Buffer): Cluster {
  const { apiVersion, kind, metadata, spec = NO_FIELDS, status } = fieldsOf(parseStrictly(body), BODY);
  check(apiVersion === 'clusterregistry.k8s.io/v1alpha1' && kind === 'Cluster', 'the type');
  const { name: sentName, labels, annotations } = fieldsOf(metadata, METADATA);
  const name = textOf(sentName);
  check(name.length <= 253 && SUBDOMAIN.test(name), 'the name');
  checkPairs(labels, (value) => value.length <= 63 && LABEL_VALUE.test(value));
  checkPairs(annotations, () => true);
  const { orchestratorApiEndpoints = NO_FIELDS, authInfo = NO_FIELDS } = fieldsOf(spec, SPEC);
  const { serverEndpoints, caBundle } = fieldsOf(orchestratorApiEndpoints, ENDPOINTS);
  for (const endpoint of listOf(serverEndpoints)) {
    const { clientCIDR, serverAddress } = fieldsOf(endpoint, ENDPOINT);
    check(isAddress(textOf(serverAddress)), 'the address');
    check(clientCIDR === undefined || isNetwork(textOf(clientCIDR)), 'the network');
  }
  check(isBundle(textOf(caBundle)), 'the bundle');
  const { user = NO_FIELDS, controller = NO_FIELDS } = fieldsOf(authInfo, AUTH_INFO);
  for (const reference of [user, controller]) {
    for (const text of Object.values(fieldsOf(reference, REFERENCE))) textOf(text);
  }
  if (status !== undefined) fieldsOf(status, STATUS);
  const given = { ...(labels === undefined ? {} : { labels }), ...(annotations === undefined ? {} : { annotations }) };
  return { apiVersion, kind, metadata: { name, ...given, generation: 1 }, spec } as Cluster;
}

function checkPairs(pairs: unknown, isValue: (value: string) => boolean): void {
  if (pairs === undefined) return;
  if (typeof pairs !== 'object' || pairs === null) throw new Refusal(400, 'not a map');
  for (const [key, value] of Object.entries(pairs)) {
    check(key.length <= 317 && LABEL_KEY.test(key) && isValue(textOf(value)), key);
  }
}

/** An https URL of a host and a port, in the form in which the parser understands it. */
function isAddress(text: string): boolean {
  if (text.length > 2048) return false;
  const url = URL.parse(text);
  if (url?.protocol !== 'https:' || `https://${url.host}` !== text) return false;
  return isIP(url.hostname) === 0 || !LOCAL.check(url.hostname);
}

const LOCAL = new BlockList();
LOCAL.addSubnet('127.0.0.0', 8);
LOCAL.addSubnet('169.254.0.0', 16);

function isNetwork(text: string): boolean {
  const slash = text.lastIndexOf('/');
  const version = isIP(text.slice(0, slash));
  const bits = Number(text.slice(slash + 1));
  return version !== 0 && Number.isInteger(bits) && bits >= 0 && bits <= (version === 4 ? 32 : 128);
}

/** Bundles that were read, by their text, at most 64 of them: clusters of a fleet often share an authority. */
const bundles = new Map<string, number>();

function isBundle(text: string): boolean {
  if (text === '') return true;
  let expiresAt = bundles.get(text);
  if (expiresAt === undefined) {
    expiresAt = expiryOf(text);
    if (bundles.size >= 64) bundles.delete(bundles.keys().next().value ?? '');
    bundles.set(text, expiresAt);
  }
  return expiresAt > Date.now();
}

function expiryOf(bundle: string): number {
  try {
    const certificate = new X509Certificate(Buffer.from(bundle, 'base64'));
    return certificate.ca ? certificate.validToDate.getTime() : 0;
  } catch {
    return 0;
  }
}

/** Duty: the manager of each field. */
const managerEntry = ({ metadata, spec }: Cluster, userAgent: string, now: number): object => ({
  apiVersion: 'clusterregistry.k8s.io/v1alpha1',
  fieldsType: 'FieldsV1',
  fieldsV1: {
    ...('labels' in metadata ? { 'f:metadata': { 'f:labels': treeOf(metadata.labels) } } : {}),
    'f:spec': treeOf(spec),
  },
  manager: userAgent.split('/', 1).join(''),
  operation: 'Update',
  time: toTimestamp(now),
});

/** A list has one owner as a whole. */
function treeOf(value: unknown): object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {};
  const tree: Record<string, object> = { '.': {} };
  for (const key of Object.keys(value)) tree[`f:${key}`] = treeOf((value as Fields)[key]);
  return tree;
}
