import { COMPUTED_ANNOTATIONS } from '../../api/clusters/annotations.ts';
import type { ClusterAddress } from '../../api/kubeconfig.ts';
import { MAX_PASSES } from '../../client/request-token.ts';
import { Slots } from '../../lib/promises.ts';
import { terminalSafe } from '../../lib/text.ts';
import { CliError, type Invocation, type Run } from '../command.ts';
import { connectAll, type NamedServer } from '../connection/all-servers.ts';
import { environmentFor } from '../connection/connection.ts';
import { describeError } from '../describe-error.ts';
import { withPrivateFolder } from '../files/files.ts';
import { endpointFor, localAddressTo } from '../kubeconfig/cluster-endpoint.ts';
import { type ExecTarget, runForCluster } from '../run-for-cluster.ts';
import {
  type ClusterReference,
  clusterChoice,
  clusterLabel,
  findClusters,
  type LocatedCluster,
} from '../select-clusters.ts';
import { itemFor, passSubject } from '../service-account.ts';

/** Token requests at the same time: a server may wait for a cluster. */
const REQUESTS_AT_ONCE = 16;

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
  checkSelection(invocation);
  const servers = await connectAll(context, invocation);
  const choice = clusterChoice(invocation, servers);
  const { found, failed, isWhole } = await findClusters(context, servers, choice);
  if (found.length === 0 && isWhole) throw new CliError('no cluster that you may see is selected');
  for (const reference of choice.references) checkUnambiguous(reference, found, failed);
  const signal = context.stopped();
  const wanted = {
    ...itemFor(subject, invocation.text('group')),
    ...(expirationSeconds === undefined ? {} : { expirationSeconds }),
  };
  const namespace = subject === 'me' ? undefined : subject.namespace;
  const failures = new Map<string, string>();
  let succeeded = 0;
  context.progress.waitFor(() => `${found.length - succeeded - failures.size} of ${found.length} clusters`);

  /** The clusters of a server with their tokens. A request that fails is a failure of its clusters. */
  const targetsOf = async ({ server, clusters }: TokenRequests): Promise<ExecTarget[]> => {
    const env = environmentFor(context, server.connection);
    const localAddress = await localAddressTo(server.connection.server);
    const endpoints = new Map<string, ClusterAddress>();
    const fail = (cluster: string, why: string) => failures.set(clusterLabel(server, cluster), why);
    for (const cluster of clusters) {
      const endpoint = endpointFor(cluster, localAddress);
      if (typeof endpoint === 'string') fail(cluster.metadata.name, endpoint);
      else endpoints.set(cluster.metadata.name, endpoint);
    }
    const requested = [...endpoints.keys()].map((cluster) => ({ cluster, ...wanted }));
    try {
      const passes = await server.client.createPasses(requested, { signal });
      return passes.flatMap(({ cluster = '<unknown>', token, error }) => {
        const endpoint = endpoints.get(cluster);
        if (endpoint !== undefined && token !== undefined) {
          return [{ ...endpoint, cluster, label: clusterLabel(server, cluster), env, namespace, token }];
        }
        fail(cluster, `no token: ${error?.message ?? 'the response contains none'}`);
        return [];
      });
    } catch (error) {
      const text = signal.aborted ? 'interrupted' : describeError(error)?.replace(/^error: /, '');
      if (text === undefined) throw error;
      for (const cluster of endpoints.keys()) fail(cluster, `no token: ${text}`);
      return [];
    }
  };

  const requests = new Slots(REQUESTS_AT_ONCE);
  const slots = new Slots(parallel);
  await withPrivateFolder('clusterpass-exec-', async (folder) => {
    const runOne = async (target: ExecTarget): Promise<void> => {
      if (signal.aborted) return;
      const failure = await runForCluster(context, target, { command, timeoutMs, folder, signal });
      if (failure === undefined) succeeded += 1;
      else failures.set(target.label, failure);
    };
    // Commands start when their tokens are there: they do not wait for a cluster that does not answer.
    await Promise.all(
      tokenRequests(found).map(async (group) => {
        const targets = await requests.run(() => targetsOf(group));
        await Promise.all(targets.map((target) => slots.run(() => runOne(target))));
      }),
    );
  });
  if (signal.aborted) throw signal.reason instanceof CliError ? signal.reason : new CliError('interrupted');
  for (const [cluster, failure] of failures) {
    context.err.write(`error: ${terminalSafe(cluster)}: ${terminalSafe(failure)}\n`);
  }
  if (failures.size > 0) context.err.write(`${failures.size} of ${found.length} clusters failed\n`);
  return failures.size === 0 && isWhole ? 0 : 1;
};

/** `--all` is explicit: a forgotten selector must not run a command in the whole fleet. */
function checkSelection(invocation: Invocation): void {
  const given = [
    invocation.text('selector') !== undefined,
    invocation.is('all'),
    invocation.list('cluster').length > 0,
  ];
  if (given.filter(Boolean).length !== 1) {
    throw new CliError('select clusters with one of --selector, --cluster, and --all for all that you see');
  }
}

/**
 * The command may change something, so a name without a server must be that of one cluster: none of two servers, and
 * none while a server that may have it, too, does not answer.
 */
function checkUnambiguous(
  { name, server }: ClusterReference,
  found: readonly LocatedCluster[],
  failed: readonly NamedServer[],
): void {
  const here = found.filter(({ cluster }) => cluster.metadata.name === name);
  if (server !== undefined || here.length === 0 || (here.length === 1 && failed.length === 0)) return;
  const why = here.length === 1 ? 'a server that did not answer may have it, too' : 'several servers have it';
  throw new CliError(`${name}: ${why}: write ${here.map((each) => `${each.server.name}/${name}`).join(' or ')}`);
}

/** Clusters of one server whose tokens are requested together. */
interface TokenRequests {
  readonly server: NamedServer;
  readonly clusters: readonly LocatedCluster['cluster'][];
}

/**
 * A list of tokens is answered as a whole, so a cluster that issues its own tokens, and may not answer, has a request
 * for itself. The public view names no issuer of such a cluster.
 */
function tokenRequests(found: readonly LocatedCluster[]): TokenRequests[] {
  const isAlone = ({ cluster: { metadata } }: LocatedCluster): boolean =>
    metadata.annotations?.[COMPUTED_ANNOTATIONS.issuer] === undefined;
  const lists: TokenRequests[] = [];
  for (const [server, those] of Map.groupBy(
    found.filter((each) => !isAlone(each)),
    (each) => each.server,
  )) {
    const clusters = those.map(({ cluster }) => cluster);
    for (let from = 0; from < clusters.length; from += MAX_PASSES) {
      lists.push({ server, clusters: clusters.slice(from, from + MAX_PASSES) });
    }
  }
  return [...lists, ...found.filter(isAlone).map(({ server, cluster }) => ({ server, clusters: [cluster] }))];
}
