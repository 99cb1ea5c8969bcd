import { buffer } from 'node:stream/consumers';
import { COMPUTED_ANNOTATIONS } from '../../api/clusters/annotations.ts';
import type { IssuedPass } from '../../api/kinds/token-request.ts';
import type { ClusterAddress } from '../../api/kubeconfig.ts';
import { MAX_PASSES } from '../../client/request-token.ts';
import { refreshTime } from '../../client/token-source.ts';
import type { Cluster } from '../../client/types.ts';
import { orMeant } from '../../lib/nearest.ts';
import { Slots } from '../../lib/promises.ts';
import { terminalSafe } from '../../lib/text.ts';
import { CliError, type Context, type Invocation, type Run } from '../command.ts';
import { askAll, connectAll, type NamedServer } from '../connection/all-servers.ts';
import { environmentFor } from '../connection/connection.ts';
import { describeError } from '../describe-error.ts';
import { withPrivateFolder } from '../files/files.ts';
import { endpointFor, localAddressTo } from '../kubeconfig/cluster-endpoint.ts';
import { type ExecTarget, runForCluster } from '../run-for-cluster.ts';
import {
  absenceOf,
  type ClusterReference,
  clusterLabel,
  clusterReferences,
  nearestAccount,
  publicClusters,
  selectClusters,
} from '../select-clusters.ts';
import { itemFor, type PassSubject, passSubject } from '../service-account.ts';

/** Runs a command for each cluster that is selected, with a kubeconfig that holds a token for that cluster. */
export const run: Run = async (context, invocation) => {
  const subject = passSubject(invocation);
  if (subject === undefined) throw new CliError('set --as or --as-me');
  const command = invocation.args;
  const parallel = invocation.number('parallel');
  if (parallel < 1) throw new CliError('--parallel must be at least 1');
  const timeoutSeconds = invocation.seconds('timeout');
  const timeoutMs = timeoutSeconds === undefined ? undefined : timeoutSeconds * 1000;
  const expirationSeconds = invocation.seconds('duration');
  const labelSelector = checkedSelection(invocation);
  if (invocation.is('stdin') && invocation.text('tokenFile') === '-') {
    throw new CliError('--stdin cannot be used with --token-file -: both read standard input');
  }
  const servers = await connectAll(context, invocation);
  const references = clusterReferences(invocation.list('cluster'), servers);
  const failures = new Map<string, string>();
  const named = references.length === 0 ? undefined : await findNamed(context, servers, references, failures);
  const stdin = invocation.is('stdin') ? context.stdin?.() : undefined;
  const input = stdin && (await buffer(stdin));
  const signal = context.stopped();
  const slots = new Slots(parallel);
  const failedServers = new Set(named?.failed);
  let [count, succeeded] = [0, 0];
  const running = servers.filter((server) => !failedServers.has(server));
  await withPrivateFolder('clusterpass-exec-', async (folder) => {
    // Commands start when their tokens are there: they do not wait for a server or a cluster that does not answer.
    const { failed } = await askAll(context, running, async (server) => {
      const clusters = [
        ...(named?.clusters.get(server) ?? (await server.client.listClusters({ labelSelector })).items),
      ];
      count += clusters.length;
      context.progress.waitFor(() => `${count - succeeded - failures.size} of ${count} clusters`);
      const parts = { context, server, servers, invocation, subject, expirationSeconds, failures, signal };
      const runAll = (targets: readonly Target[]): Promise<unknown> =>
        Promise.all(
          targets.map((target) =>
            slots.run(async () => {
              if (signal.aborted) return;
              const usable = await withFreshToken(target, parts);
              if (usable === undefined) return;
              const failure = await runForCluster(context, usable, { command, timeoutMs, input, folder, signal });
              if (failure === undefined) succeeded += 1;
              else failures.set(target.label, failure);
            }),
          ),
        );
      const { together, alone } = tokenRequests(clusters);
      const lists = new Slots(1);
      const requests = new Slots(REQUESTS_AT_ONCE);
      const results = await Promise.allSettled([
        ...together.map(async (some) => runAll(await lists.run(() => targetsOf(some, parts)))),
        ...alone.map(async (each) => runAll(await requests.run(() => targetsOfOne(each, parts)))),
      ]);
      for (const result of results) if (result.status === 'rejected') throw result.reason;
    });
    for (const server of failed) failedServers.add(server);
  });
  if (signal.aborted) throw signal.reason instanceof CliError ? signal.reason : new CliError('interrupted');
  for (const [cluster, failure] of failures) {
    context.err.write(`error: ${terminalSafe(cluster)}: ${terminalSafe(failure)}\n`);
  }
  if (count === 0 && failures.size === 0 && failedServers.size === 0) {
    throw new CliError('no cluster that you may see is selected');
  }
  if (failures.size > 0) context.err.write(`${failures.size} of ${Math.max(count, failures.size)} clusters failed\n`);
  if (failedServers.size > 0) context.err.write(`${failedServers.size} of ${servers.length} servers failed\n`);
  return failures.size + failedServers.size === 0 ? 0 : 1;
};

/** `--all` is explicit: a forgotten selector must not run a command in the whole fleet. */
function checkedSelection(invocation: Invocation): string | undefined {
  const labelSelector = invocation.text('selector');
  const given = [labelSelector !== undefined, invocation.is('all'), invocation.list('cluster').length > 0];
  const count = given.filter(Boolean).length;
  if (count === 0) {
    throw new CliError('select clusters with --selector, by name with --cluster, or all that you see with --all');
  }
  if (count > 1) throw new CliError('select clusters with only one of --selector, --cluster and --all');
  return labelSelector;
}

/**
 * The clusters with these names. The command may change something, so a name without a server must be that of one
 * cluster: none of two servers, and none while a server that may have it, too, does not answer.
 */
async function findNamed(
  context: Context,
  servers: readonly NamedServer[],
  references: readonly ClusterReference[],
  failures: Map<string, string>,
) {
  const { found, missing, failed } = await selectClusters(context, servers, references, publicClusters());
  for (const each of missing) if (!each.isUnknown) failures.set(each.label, absenceOf(each));
  const clusters = new Map(servers.map((server) => [server, new Set<Cluster>()]));
  for (const reference of references) {
    const here = found.filter((each) => each.reference === reference);
    const [first, second] = here;
    if (first === undefined) continue;
    if (reference.server === undefined && (second !== undefined || failed.length > 0)) {
      const labels = here.map(({ server }) => clusterLabel(servers, server, reference.name)).join(' or ');
      const why = second === undefined ? 'a server that did not answer may have it, too' : 'several servers have it';
      failures.set(reference.name, `${why}: write ${labels}`);
    } else clusters.get(first.server)?.add(first.cluster);
  }
  return { clusters, failed };
}

interface TokenParts {
  readonly context: Context;
  readonly server: NamedServer;
  readonly servers: readonly NamedServer[];
  readonly invocation: Invocation;
  readonly subject: PassSubject;
  readonly expirationSeconds: number | undefined;
  readonly failures: Map<string, string>;
  /** Of an interrupt. It ends the requests for tokens. */
  readonly signal: AbortSignal;
}

interface Target extends ExecTarget {
  readonly source: Cluster;
  /** When the token is too old for a command that starts. Epoch milliseconds. */
  readonly refreshAt: number;
}

/** Token requests to a server that may wait for a cluster. */
const REQUESTS_AT_ONCE = 16;

/**
 * Which tokens are requested together. A list of tokens is answered as a whole, so a cluster that issues its own
 * tokens, and may not answer, has a request for itself. The public view names no issuer of such a cluster.
 */
function tokenRequests(clusters: readonly Cluster[]): {
  readonly together: readonly (readonly Cluster[])[];
  readonly alone: readonly Cluster[];
} {
  const isAlone = ({ metadata }: Cluster): boolean => metadata.annotations?.[COMPUTED_ANNOTATIONS.issuer] === undefined;
  const others = clusters.filter((cluster) => !isAlone(cluster));
  const together: Cluster[][] = [];
  for (let from = 0; from < others.length; from += MAX_PASSES) together.push(others.slice(from, from + MAX_PASSES));
  return { together, alone: clusters.filter(isAlone) };
}

/** Commands may wait longer for a slot than their tokens are valid. */
async function withFreshToken(target: Target, parts: TokenParts): Promise<ExecTarget | undefined> {
  if (parts.context.now() < target.refreshAt) return target;
  return (await targetsOfOne(target.source, parts))[0];
}

/** A request that fails is a failure of its cluster, not of the server. */
async function targetsOfOne(cluster: Cluster, parts: TokenParts): Promise<Target[]> {
  try {
    return await targetsOf([cluster], parts);
  } catch (error) {
    const text = describeError(error);
    if (text === undefined) throw error;
    const label = clusterLabel(parts.servers, parts.server, cluster.metadata.name);
    parts.failures.set(label, `no token: ${text.replace(/^error: /, '')}`);
    return [];
  }
}

async function targetsOf(clusters: readonly Cluster[], parts: TokenParts): Promise<Target[]> {
  const { context, server, servers, invocation, subject, expirationSeconds, failures, signal } = parts;
  if (signal.aborted) return [];
  const env = environmentFor(context, server.connection);
  const localAddress = await localAddressTo(server.connection.server);
  const labelOf = (cluster: string): string => clusterLabel(servers, server, cluster);
  const endpoints = new Map<string, ClusterAddress & Pick<Target, 'source'>>();
  for (const cluster of clusters) {
    const endpoint = endpointFor(cluster, localAddress);
    if (typeof endpoint === 'string') failures.set(labelOf(cluster.metadata.name), endpoint);
    else endpoints.set(cluster.metadata.name, { ...endpoint, source: cluster });
  }
  const wanted = {
    ...itemFor(subject, invocation.text('group')),
    ...(expirationSeconds === undefined ? {} : { expirationSeconds }),
  };
  const requested = [...endpoints.keys()].map((cluster) => ({ cluster, ...wanted }));
  const passes = await server.client.createPasses(requested, { signal }).catch((error: unknown): IssuedPass[] => {
    if (signal.aborted) return [];
    throw error;
  });
  const namespace = subject === 'me' ? undefined : subject.namespace;
  const issuedAt = context.now();
  // One account for all clusters: the first one that does not know it tells which was meant.
  const at = subject === 'me' ? undefined : passes.find(({ error }) => error?.code === 404)?.cluster;
  const meant = at && (await nearestAccount(server.client, at, `${namespace}/${wanted.serviceAccount}`));
  return passes.flatMap(({ cluster = '<unknown>', token, expirationTimestamp, error }) => {
    const endpoint = endpoints.get(cluster);
    const label = labelOf(cluster);
    if (endpoint !== undefined && token !== undefined) {
      const refreshAt =
        expirationTimestamp === undefined ? Infinity : refreshTime({ expirationTimestamp, issuedAt }, issuedAt);
      return [{ ...endpoint, cluster, label, env, namespace, token, refreshAt }];
    }
    const reason = invocation.withFlagNames(error?.message ?? 'the response contains none', context.env);
    failures.set(label, `no token: ${reason}${error?.code === 404 ? orMeant(meant) : ''}`);
    return [];
  });
}
