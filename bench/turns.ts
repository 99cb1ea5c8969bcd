import { request } from 'node:https';
import { call, must } from './support/client.ts';
import type { Settings } from './support/compare.ts';
import { binding, NARROW, READER } from './support/fleet.ts';
import { type Desk, startDesk } from './support/processes.ts';
import type { Figure, Report } from './support/report.ts';
import { Turns } from './support/turns.ts';

const CLUSTERS = 100_000;
const LIMIT_MS = 50;

const PUBLIC = '/auth/v1/clusters';
const WHOLE = '/apis/clusterregistry.k8s.io/v1alpha1/clusters';
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const PARTIAL = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';

interface Ask {
  readonly name: string;
  readonly path: string;
  readonly method?: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Whatever goes through all that there is. The first makes the public views, and the second of its kind finds them made. */
const asks = (admin: string): readonly Ask[] => [
  { name: 'the first list of all', path: PUBLIC },
  { name: 'list of all', path: PUBLIC },
  { name: 'list of all, whole', path: WHOLE, token: admin },
  { name: 'list of all, indented', path: `${PUBLIC}?pretty=1` },
  { name: 'list of all, compressed', path: PUBLIC, headers: { 'Accept-Encoding': 'gzip' } },
  { name: 'list of all, as a table', path: WHOLE, headers: { Accept: TABLE } },
  { name: 'list of all, names alone', path: WHOLE, headers: { Accept: PARTIAL } },
  { name: 'a label that they do not have', path: `${PUBLIC}?limit=1&labelSelector=picked%21%3Dyes` },
  { name: 'labels that all of them have', path: `${PUBLIC}?limit=1&labelSelector=env+in+(dev,staging,prod)` },
  { name: 'two labels', path: `${PUBLIC}?limit=1&labelSelector=env%3Ddev,region%3Dr-1` },
  { name: 'a field', path: `${PUBLIC}?limit=1&fieldSelector=metadata.name%21%3Dx` },
  { name: 'watch from the beginning', path: `${PUBLIC}?watch=1&timeoutSeconds=3` },
  { name: 'watch, as a table', path: `${PUBLIC}?watch=1&timeoutSeconds=3`, headers: { Accept: TABLE } },
  { name: 'watch of none of them', path: `${PUBLIC}?watch=1&timeoutSeconds=1&labelSelector=nowhere` },
  { name: 'issuers of all', path: '/openid/v1/issuers', token: admin },
  { name: 'deletion of all, rehearsed', path: `${WHOLE}?dryRun=All`, method: 'DELETE', token: admin },
  { name: 'metrics', path: '/metrics', token: admin },
];

/** Reads an answer to its end and keeps nothing of it. */
function readAll(desk: Desk, { path, method = 'GET', token = READER.token, headers = {} }: Ask): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = { Authorization: `Bearer ${token}`, ...headers };
    const options = { host: '127.0.0.1', port: desk.port, path, method, headers: sent, rejectUnauthorized: false };
    const asked = request({ ...options, agent: false }, (answer) => {
      answer.resume();
      answer.on('error', reject);
      answer.on('end', () => {
        if (answer.statusCode === 200) resolve();
        else reject(new Error(`${path} was answered with ${answer.statusCode}`));
      });
    });
    asked.on('error', reject);
    asked.end();
  });
}

/** Everything is given to, and taken from, somebody who watches. */
async function changePermission(desk: Desk): Promise<void> {
  const watched = readAll(desk, { name: '', path: `${PUBLIC}?watch=1&timeoutSeconds=20`, token: NARROW.token });
  await must(call(desk, 'GET', `${PUBLIC}?limit=1`, NARROW));
  await must(call(desk, 'POST', BINDINGS, { body: binding('everything', 'viewer', NARROW.name) }));
  await must(call(desk, 'GET', `${PUBLIC}?limit=1`, NARROW));
  await must(call(desk, 'DELETE', `${BINDINGS}/everything`));
  await watched;
}

/** Does anybody who asks for a whole fleet keep the others waiting? One at a time, on a server that does nothing else. */
export async function benchTurns({ progress }: Settings): Promise<Report> {
  const turns = await Turns.prepare();
  const desk = await startDesk({ clusters: CLUSTERS, bindings: 1_000 }, turns.nodeArgs);
  const figures: Figure[] = [];
  const measure = async (name: string, work: () => Promise<unknown>): Promise<void> => {
    turns.takeLongest();
    await work();
    const value = turns.takeLongest();
    progress?.(`${name}: ${value} ms`);
    figures.push({ name: `longest turn, ${name}`, value, unit: 'ms', limit: LIMIT_MS });
  };
  for (const ask of asks(desk.adminToken)) await measure(ask.name, () => readAll(desk, ask));
  await measure('all given and taken', () => changePermission(desk));
  return { figures };
}
