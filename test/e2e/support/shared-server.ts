import { expect, test, vi } from 'vitest';
import { CLUSTERS, RBAC } from './paths.ts';
import { type Server, startServer } from './server.ts';

/**
 * Two servers for all test files of a worker that need no options of their own: one serves HTTP, the other one TLS. A
 * start takes most of the CPU time of a short file. A file gets the server with its objects removed. Resource versions,
 * metrics, revocations and audit events stay. A file that depends on those, or that stops, stalls or floods its server,
 * starts a separate one.
 */

/** Callers without groups. */
const ALONE = [
  ...['admin', 'admin2', 'agent', 'alice', 'binder', 'brief', 'carl', 'carol', 'ciLead', 'dana', 'demoted', 'early'],
  ...['editor', 'escalator', 'euLead', 'eve', 'fleet', 'guardian', 'holder', 'issuer', 'jane', 'joe', 'kim'],
  ...['labelled', 'lara', 'late', 'lead', 'lister', 'local', 'mallory', 'mia', 'moved', 'named', 'narrow', 'nobody'],
  ...['nora', 'other', 'owner', 'pager', 'partial', 'patcher', 'paused', 'prod', 'profiles', 'reader', 'reporter'],
  ...['roamer', 'rob', 'sid', 'tagger', 'tess', 'vault', 'vera', 'viewer', 'vince', 'watcher', 'a&b<c>'],
];
/** Each with a group, for tests that need many callers without permissions. */
export const MANY = Array.from({ length: 30 }, (_, index) => `user-${index}`);
const USERS: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(ALONE.map((name) => [name, []])),
  ...Object.fromEntries(MANY.map((name) => [name, [`group-of-${name}`]])),
  cleo: ['devs', 'system:masters-of-nothing'],
  jess: ['dev'],
  jill: ['devs', 'ops'],
  june: ['staff', 'eu'],
  kate: ['devs'],
  rita: ['staff'],
  root: ['system:masters'],
};

// A test that is delayed must not send a request on a connection that is just being closed.
const ARGS = ['--keep-alive-timeout', '1h'];
const NETWORKS = ['--cluster-networks', '127.0.0.0/8', '--cluster-networks', '10.0.0.0/8'];

const withServers = test
  // biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of other fixtures from the pattern
  .extend('plainServer', { scope: 'worker' }, async ({}, { onCleanup }) => {
    const server = await startServer({ users: USERS, args: ARGS });
    onCleanup(() => server.destroy());
    return server;
  })
  // biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of other fixtures from the pattern
  .extend('tlsServer', { scope: 'worker' }, async ({}, { onCleanup }) => {
    const server = await startServer({ users: USERS, args: [...ARGS, ...NETWORKS], tls: true });
    onCleanup(() => server.destroy());
    return server;
  });

/** Calls `prepare` before the tests of a file, with the emptied server. */
export const beforeAllWithServer = (prepare: (server: Server) => unknown): void => {
  withServers.beforeAll(async ({ plainServer }) => {
    await removeObjects(plainServer);
    await prepare(borrowed(plainServer));
  });
};

/** The same with TLS. Clusters may have addresses of this machine and of 10.0.0.0/8. */
export const beforeAllWithTlsServer = (prepare: (server: Server) => unknown): void => {
  withServers.beforeAll(async ({ tlsServer }) => {
    await removeObjects(tlsServer);
    await prepare(borrowed(tlsServer));
  });
};

function borrowed(server: Server): Server {
  const { output } = server;
  const skipped = { stdout: output.stdout.length, stderr: output.stderr.length };
  const refuse = () => Promise.reject(new Error('other files use this server: start another one with startServer'));
  return {
    ...server,
    output: {
      get stdout() {
        return output.stdout.slice(skipped.stdout);
      },
      get stderr() {
        return output.stderr.slice(skipped.stderr);
      },
    },
    stop: refuse,
    kill: refuse,
    restart: refuse,
    destroy: refuse,
  };
}

const RECORDS = ['accessrequests', 'passes', 'issuedtokens', 'bootstraptokens'].map(
  (resource) => `/apis/clusterpass.dev/v1alpha1/${resource}`,
);
/** The server creates its own roles and bindings at a start only. */
const NOT_BUILT_IN = 'labelSelector=!kubernetes.io/bootstrapping';

interface Found {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly finalizers?: string[] };
}

const list = async (server: Server, path: string): Promise<Found[]> => {
  const answer = await server.call('GET', path);
  expect(answer.code, answer.text).toBe(200);
  return answer.json.items;
};

const finish = async (server: Server, path: string): Promise<void> => {
  const headers = { 'Content-Type': 'application/merge-patch+json' };
  await server.call('PATCH', path, { body: { metadata: { finalizers: null } }, headers });
};
const isHeld = ({ metadata }: Found): boolean => metadata.finalizers !== undefined;

/** Deletes all objects of a collection, also those that wait for their finalizers. */
async function removeAll(server: Server, path: string, query = ''): Promise<void> {
  const removed = await server.call('DELETE', `${path}?${query}`);
  expect(removed.code, removed.text).toBe(200);
  const held = (await list(server, `${path}?${query}`)).filter(isHeld);
  for (const { metadata } of held) await finish(server, `${path}/${metadata.name}`);
}

/** Removes the finalizers of all objects in a cluster: a cluster that is being deleted waits for them. */
async function finishContent(server: Server, cluster: string): Promise<void> {
  const root = `/orchestrator/${cluster}/api/v1`;
  for (const resource of ['namespaces', 'serviceaccounts', 'pods', 'secrets']) {
    const { code, json } = await server.call('GET', `${root}/${resource}`);
    // The cluster is gone.
    if (code === 404) return;
    for (const { metadata } of (json.items as Found[]).filter(isHeld)) {
      const folder = metadata.namespace === undefined ? root : `${root}/namespaces/${metadata.namespace}`;
      await finish(server, `${folder}/${resource}/${metadata.name}`);
    }
  }
}

async function removeObjects(server: Server): Promise<void> {
  for (const path of RECORDS) {
    for (const { metadata } of await list(server, path)) {
      const removed = await server.call('DELETE', `${path}/${metadata.name}`);
      expect(removed.code, removed.text).toBe(200);
    }
  }
  for (const resource of ['rolebindings', 'roles']) {
    const found = await list(server, `${RBAC}/${resource}?${NOT_BUILT_IN}`);
    for (const namespace of new Set(found.map(({ metadata }) => metadata.namespace))) {
      await removeAll(server, `${RBAC}/namespaces/${namespace}/${resource}`, NOT_BUILT_IN);
    }
  }
  for (const resource of ['clusterrolebindings', 'clusterroles']) {
    await removeAll(server, `${RBAC}/${resource}`, NOT_BUILT_IN);
  }
  await removeAll(server, CLUSTERS);
  // The objects of a cluster are deleted after the response, and the cluster after them.
  await vi.waitFor(
    async () => {
      const left = await list(server, CLUSTERS);
      for (const { metadata } of left) await finishContent(server, metadata.name);
      expect(left).toEqual([]);
    },
    { timeout: 60_000 },
  );
}
