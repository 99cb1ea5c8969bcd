import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Pass } from '../../api/kinds/pass-list.ts';
import type { Client } from '../../client/create-client.ts';
import type { Cluster } from '../../client/types.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { clientFor, resolveConnection } from '../connection/connection.ts';
import { writePrivate } from '../files/files.ts';
import { type ClusterEndpoint, endpointFor } from '../kubeconfig/cluster-endpoint.ts';
import { localAddressTo } from '../kubeconfig/local-address.ts';
import { terminalSafe } from '../output/terminal-safe.ts';
import { type PassSubject, passSubject } from '../service-account.ts';

const KILL_AFTER_MS = 2_000;

/** One cluster that the command runs for. */
interface Target extends ClusterEndpoint {
  readonly cluster: string;
  /** That of the account; undefined for a pass of the user itself. */
  readonly namespace: string | undefined;
  readonly token: string;
}

interface Settings {
  readonly command: readonly string[];
  readonly timeoutMs: number;
  /** For kubeconfigs with tokens: mode 0700, removed at the end. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

/** Runs a command for each cluster that a selector matches, with a kubeconfig that holds a token for that cluster. */
export const run: Run = async (context, invocation) => {
  const subject = passSubject(invocation);
  if (subject === undefined) throw new CliError('set --as or --as-me');
  const command = invocation.args;
  const parallel = invocation.number('parallel', '--parallel') ?? 16;
  if (parallel < 1) throw new CliError('--parallel must be at least 1');
  const timeoutMs = (invocation.seconds('timeout', '--timeout') ?? 60) * 1000;
  const expirationSeconds = invocation.seconds('duration', '--duration');
  const connection = await resolveConnection(context, invocation);
  const client = await clientFor(context, connection);
  const clusters = await selected(client, invocation);
  const localAddress = await localAddressTo(connection.server);
  const failures = new Map<string, string>();
  const targets = await targetsOf(client, clusters, { subject, localAddress, expirationSeconds, failures });
  const signal = context.stopped();
  const folder = await mkdtemp(join(tmpdir(), 'clusterpass-exec-'));
  try {
    const waiting = [...targets];
    const runSome = async (): Promise<void> => {
      for (let target = waiting.shift(); target !== undefined && !signal.aborted; target = waiting.shift()) {
        const failure = await runFor(context, target, { command, timeoutMs, folder, signal });
        if (failure !== undefined) failures.set(target.cluster, failure);
      }
    };
    await Promise.all(Array.from({ length: Math.min(parallel, waiting.length) }, runSome));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  if (signal.aborted) throw new CliError('interrupted');
  for (const [cluster, failure] of failures) {
    context.err.write(`error: ${terminalSafe(cluster)}: ${terminalSafe(failure)}\n`);
  }
  if (failures.size > 0) context.err.write(`${failures.size} of ${clusters.length} clusters failed\n`);
  return failures.size === 0 ? 0 : 1;
};

/** `--all` is explicit: a forgotten selector must not run a command in the whole fleet. */
async function selected(client: Client, invocation: Invocation): Promise<readonly Cluster[]> {
  const labelSelector = invocation.text('selector');
  if ((labelSelector === undefined) !== invocation.is('all')) {
    throw new CliError('select clusters with --selector, or all that you see with --all');
  }
  const { items } = await client.listClusters(labelSelector === undefined ? {} : { labelSelector });
  if (items.length === 0) throw new CliError('no cluster that you may see is selected');
  return items;
}

async function targetsOf(
  client: Client,
  clusters: readonly Cluster[],
  settings: {
    readonly subject: PassSubject;
    readonly localAddress: string | undefined;
    readonly expirationSeconds: number | undefined;
    readonly failures: Map<string, string>;
  },
): Promise<Target[]> {
  const { subject, localAddress, expirationSeconds, failures } = settings;
  const endpoints = new Map<string, ClusterEndpoint>();
  for (const cluster of clusters) {
    const endpoint = endpointFor(cluster, localAddress);
    if (typeof endpoint === 'string') failures.set(cluster.metadata.name, endpoint);
    else endpoints.set(cluster.metadata.name, endpoint);
  }
  const wanted = {
    ...(subject === 'me' ? { userpass: true } : { namespace: subject.namespace, serviceAccount: subject.name }),
    ...(expirationSeconds === undefined ? {} : { expirationSeconds }),
  };
  const requested = [...endpoints.keys()].map((cluster) => ({ cluster, ...wanted }));
  const passes: readonly Pass[] = await client.createPasses(requested);
  const namespace = subject === 'me' ? undefined : subject.namespace;
  return passes.flatMap(({ cluster, token, error }) => {
    const endpoint = endpoints.get(cluster);
    if (endpoint !== undefined && token !== undefined) return [{ ...endpoint, cluster, namespace, token }];
    failures.set(cluster, `no token: ${error?.message ?? 'the response contains none'}`);
    return [];
  });
}

/** Returns why it failed. */
async function runFor(context: Context, target: Target, settings: Settings): Promise<string | undefined> {
  const { command, timeoutMs, folder, signal } = settings;
  const { cluster } = target;
  const file = join(folder, cluster);
  await writePrivate(file, kubeconfigWith(target));
  const [program = '', ...args] = command;
  const child = spawn(program, args, {
    cwd: context.cwd,
    env: { ...context.env, KUBECONFIG: file, CLUSTERPASS_CLUSTER: cluster },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(`${program} could not be started: ${error.message}`));
    child.once('close', (code, name) =>
      resolve(code === 0 ? undefined : code === null ? `ended by ${name}` : `exit code ${code}`),
    );
  });
  const prefix = `${cluster}: `;
  copyLines(child.stdout, (line) => context.out.write(`${prefix}${line}\n`));
  copyLines(child.stderr, (line) => context.err.write(`${prefix}${line}\n`));
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    stop(child);
  }, timeoutMs);
  const onStop = (): void => stop(child);
  signal.addEventListener('abort', onStop);
  const failure = await ended;
  clearTimeout(timer);
  signal.removeEventListener('abort', onStop);
  await rm(file, { force: true });
  return isLate ? `no result within ${timeoutMs / 1000} s` : failure;
}

function stop(child: ChildProcess): void {
  child.kill('SIGTERM');
  setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS).unref();
}

const copyLines = (from: Readable, write: (line: string) => void): void =>
  void createInterface({ input: from, crlfDelay: Number.POSITIVE_INFINITY }).on('line', write);

/** JSON, which is YAML. */
function kubeconfigWith({ cluster, server, caBundle, namespace, token }: Target): string {
  const ca = caBundle === undefined ? {} : { 'certificate-authority-data': caBundle };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: cluster, cluster: { server, ...ca } }],
    users: [{ name: cluster, user: { token } }],
    contexts: [{ name: cluster, context: { cluster, user: cluster, namespace } }],
    'current-context': cluster,
  });
}
