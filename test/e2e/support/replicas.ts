import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Etcd, freePorts } from '../../conformance/etcd-process.ts';
import { type Server, type ServerOptions, startServer } from './server.ts';

/** Several real servers on one etcd, as on several machines: each has its own folder, and all have the same key. */
export interface Replicas {
  readonly servers: readonly [Server, Server, ...Server[]];
  /** The steps of each replica, see docs/models.md. */
  readonly traces: readonly string[];
  destroy(): Promise<void>;
}

export async function startReplicas(
  etcd: Etcd,
  {
    count = 2,
    users = {},
    endpointsOf = () => etcd.endpoints,
    args = [],
    argsOf: ownArgs = () => [],
    envOf = () => ({}),
    startOf = () => ({}),
  }: {
    count?: number;
    users?: Readonly<Record<string, readonly string[]>>;
    /** The addresses of the etcd members for the n-th replica. */
    endpointsOf?: (replica: number) => readonly string[];
    args?: readonly string[];
    /** Further arguments of the n-th replica. */
    argsOf?: (replica: number) => readonly string[];
    envOf?: (replica: number) => Readonly<Record<string, string>>;
    /** Where the n-th replica is started. */
    startOf?: (replica: number) => Pick<ServerOptions, 'host' | 'runner'>;
  } = {},
): Promise<Replicas> {
  const shared = await mkdtemp(join(tmpdir(), 'clusterpass-replicas-'));
  const keyFile = join(shared, 'encryption.key');
  await writeFile(keyFile, randomBytes(32).toString('base64'), { mode: 0o600 });
  const ports = await freePorts(count);
  const traceOf = (replica: number): string => join(shared, `replica-${replica}.ndjson`);
  const argsOf = (replica: number): string[] => [
    ...['--trace-file', traceOf(replica)],
    ...['--store', `etcd://${endpointsOf(replica).join(',')}/fleet`, '--encryption-key-file', keyFile],
    ...['--base-url', 'https://pass.example', ...args, ...ownArgs(replica)],
  ];
  const started = await Promise.allSettled(
    ports.map((port, i) => startServer({ args: argsOf(i), users, port, env: envOf(i), ...startOf(i) })),
  );
  const servers = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const destroy = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.destroy()));
    await rm(shared, { recursive: true, force: true });
  };
  const [first, second, ...more] = servers;
  const failed = started.find((result) => result.status === 'rejected');
  if (failed !== undefined || first === undefined || second === undefined) {
    await destroy();
    throw failed?.reason ?? new Error('at least two replicas');
  }
  return { servers: [first, second, ...more], traces: ports.map((_, i) => traceOf(i)), destroy };
}
