import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { FLEET_BINDINGS } from './bindings.ts';
import { credentialsOf } from './forwarding.ts';
import { CLUSTERS, RBAC } from './paths.ts';
import { authenticationConfig, authenticationFileOf } from './provider.ts';
import { FAST_INTERVALS, type Server, startServer } from './server.ts';

/**
 * Two servers for the test files of a worker that need no options: one serves HTTP, the other TLS. A start takes most
 * of the CPU time of a short file. A file gets the server with its objects, its identity providers and its credentials
 * of clusters removed. Resource versions, metrics, revocations and audit events stay. A file that depends on those, or
 * that stalls or floods its server, starts another.
 */

/** Callers without groups. */
const ALONE = `
  admin admin2 agent alice alw ann auditor binder brief carl carol ciLead con confirmer creator dana demoted dev early
  editor escalator euLead eve fleet full granter guardian holder importer issuer jane joe keeper kim
  labelled lara late lead lister local mallory max mia mirror moved named narrow nobody nora other
  owner pager partial patcher paused pln pods prod profiles reader registrar reporter rev roamer rob
  rules sid tagger tess vault vera viewer vince watcher weak wide a&b<c>
`
  .trim()
  .split(/\s+/);
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
  kurt: ['devs'],
  lea: ['team-shop', 'shop-leads'],
  'management:system:serviceaccount:monitoring:prometheus-k8s': [],
  prometheus: ['system:monitoring'],
  rita: ['staff'],
  root: ['system:masters'],
  tom: ['team-shop'],
};

export const MOST_TRACKED = 40;
const COMMON = [
  ...['--log-level', 'debug'],
  // A test that is delayed must not send a request on a connection that is just being closed.
  ...['--keep-alive-timeout', '1h'],
  // Clusters may have addresses of this machine.
  ...['--cluster-networks', '127.0.0.0/8', '--cluster-networks', '10.0.0.0/8', '--cluster-networks', 'fd00::/8'],
  // Few, so that a test reaches them soon.
  ...[
    '--max-tracked-tokens-per-caller',
    String(MOST_TRACKED),
    '--pass-max-handles',
    '4',
    '--max-access-requests-per-caller',
    '4',
  ],
];

export const HELP_TEXT = 'Ask the owners of your cluster.';

const PROFILES = [
  ...['--inventory-namespace', 'default', '--inventory-namespace', 'prod=env=prod'],
  ...['--inventory-manager', 'fleet-1', '--inventory-property', 'env'],
];

const withServers = test
  // biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of other fixtures from the pattern
  .extend('plainServer', { scope: 'worker' }, async ({}, { onCleanup }) => {
    const shared = await SharedServer.start(false);
    onCleanup(() => shared.destroy());
    return shared;
  })
  // biome-ignore lint/correctness/noEmptyPattern: Vitest reads the names of other fixtures from the pattern
  .extend('tlsServer', { scope: 'worker' }, async ({}, { onCleanup }) => {
    const shared = await SharedServer.start(true);
    onCleanup(() => shared.destroy());
    return shared;
  });

/** The emptied server, for the hooks and tests that the calling file adds from now on. */
export function sharedServer(): Server {
  const server = {} as Server;
  withServers.beforeAll(async ({ plainServer }) => become(server, await plainServer.lend()));
  return server;
}

/** The same with TLS. */
export function sharedTlsServer(): Server {
  const server = {} as Server;
  withServers.beforeAll(async ({ tlsServer }) => become(server, await tlsServer.lend()));
  return server;
}

function become(server: Server, lent: Server): void {
  Object.defineProperties(server, Object.getOwnPropertyDescriptors(lent));
}

/** A test file may stop it and start it again. The next file finds it running. */
class SharedServer {
  #server: Server;
  #isRunning = true;
  /** Output that was written before this file. */
  #skipped = { stdout: 0, stderr: 0 };

  constructor(server: Server) {
    this.#server = server;
  }

  static async start(tls: boolean): Promise<SharedServer> {
    const dataDir = await mkdtemp(join(tmpdir(), 'clusterpass-shared-'));
    await removeFiles({ dataDir });
    const followed = [
      '--authentication-config',
      authenticationFileOf({ dataDir }),
      '--notify-config',
      notifyFileOf({ dataDir }),
    ];
    const args = [...COMMON, ...followed];
    // The other server issues all tokens itself, and has the options of cluster profiles.
    if (tls) args.push(...PROFILES, '--console-help-text', HELP_TEXT);
    else args.push('--credentials-dir', credentialsOf({ dataDir }));
    return new SharedServer(await startServer({ tls, dataDir, users: USERS, args, env: FAST_INTERVALS, shared: true }));
  }

  destroy(): Promise<void> {
    return this.#server.destroy();
  }

  /** The server without objects. */
  async lend(): Promise<Server> {
    if (!this.#isRunning) await this.#restart();
    await removeObjects(this.#server);
    await removeFiles(this.#server);
    const { url, dataDir, adminToken, output, call, readLog } = this.#server;
    this.#skipped = { stdout: output.stdout.length, stderr: output.stderr.length };
    const pid = (): number => this.#server.pid;
    const written = (name: 'stdout' | 'stderr'): string => this.#server.output[name].slice(this.#skipped[name]);
    const lent: Server = {
      ...{ url, dataDir, adminToken, call, readLog },
      get pid() {
        return pid();
      },
      output: {
        get stdout() {
          return written('stdout');
        },
        get stderr() {
          return written('stderr');
        },
      },
      stop: () => this.#end(() => this.#server.stop()),
      kill: () => this.#end(() => this.#server.kill()),
      restart: async () => {
        await this.#restart();
        return lent;
      },
      destroy: () => Promise.reject(new Error('other files use this server')),
    };
    return lent;
  }

  #end<Result>(end: () => Promise<Result>): Promise<Result> {
    this.#isRunning = false;
    return end();
  }

  async #restart(): Promise<void> {
    this.#server = await this.#server.restart();
    this.#isRunning = true;
    this.#skipped = { stdout: 0, stderr: 0 };
  }
}

export const notifyFileOf = ({ dataDir }: { readonly dataDir: string }): string => join(dataDir, 'notify.yaml');

/**
 * The files that the server follows: it accepts no identity provider, has no credential of a cluster and sends no
 * notification.
 */
async function removeFiles(server: { readonly dataDir: string }): Promise<void> {
  await writeFile(authenticationFileOf(server), authenticationConfig([]), { mode: 0o600 });
  await writeFile(notifyFileOf(server), '{receivers: [], routes: []}');
  await mkdir(credentialsOf(server), { recursive: true, mode: 0o700 });
  await rm(join(credentialsOf(server), 'fleet'), { recursive: true, force: true });
}

const RECORDS = ['accessrequests', 'passes', 'issuedtokens', 'bootstraptokens', 'connectors'].map(
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
  await server.call('PATCH', path, { body: { metadata: { finalizers: null } } });
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
  await removeAll(server, FLEET_BINDINGS);
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
