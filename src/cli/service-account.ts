import type { IssuedPass, RequestedPass } from '../api/kinds/token-request.ts';
import { isDns1123Label, isDns1123Subdomain } from '../api/names.ts';
import type { Client } from '../client/create-client.ts';
import { Slots } from '../lib/promises.ts';
import { terminalSafe } from '../lib/text.ts';
import { type Invocation, UsageError } from './command.ts';
import type { NamedServer } from './connection/all-servers.ts';
import { describeError } from './describe-error.ts';
import { clusterLabel } from './select-clusters.ts';

export interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
}

/** Whose passes are requested: those of an account, or of the caller (`--as-me`). */
export type PassSubject = ServiceAccount | 'me';

/** Of `--as` and `--as-me`; undefined when neither is given. */
export function passSubject(invocation: Invocation): PassSubject | undefined {
  const as = invocation.text('as');
  if (!invocation.is('asMe')) {
    if (invocation.text('group') !== undefined) throw new UsageError('--group needs --as-me');
    return as === undefined ? undefined : parseServiceAccount(as, '--as');
  }
  if (as !== undefined) throw new UsageError('set --as or --as-me, not both');
  return 'me';
}

/** What an item of a list of tokens asks for. `group`: of `--group`. */
export const itemFor = (subject: PassSubject, group: string | undefined): Omit<RequestedPass, 'cluster'> =>
  subject === 'me'
    ? { userpass: true, ...(group === undefined ? {} : { group }) }
    : { namespace: subject.namespace, serviceAccount: subject.name };

/** Parses `namespace/name`. Kubeconfigs pass both to a program as arguments, so only valid names are accepted. */
export function parseServiceAccount(text: string, flag: string): ServiceAccount {
  const [namespace = '', name = '', ...more] = text.split('/');
  const problems = [...isDns1123Label(namespace), ...isDns1123Subdomain(name)];
  if (more.length > 0 || problems.length > 0) {
    throw new UsageError(`${flag}: ${JSON.stringify(text)} is not a service account in the form namespace/name`);
  }
  return { namespace, name };
}

/** A slow cluster must not block writing the kubeconfig for long. */
const DRY_RUN_TIMEOUT_MS = 10_000;
/** As many as one request takes. */
const MAX_TESTED = 500;
/** How many clusters a warning names. */
const MAX_NAMED = 5;

/**
 * Requests a token for each cluster with a dry run, all in one request, and returns why that fails. Otherwise a
 * kubeconfig for a missing account would only fail when kubectl uses it. `refused`: the clusters for which no token is
 * issued.
 */
export async function tokenProblems(
  server: NamedServer,
  clusters: readonly string[],
  subject: PassSubject | undefined,
  group: string | undefined,
): Promise<{ readonly warnings: readonly string[]; readonly refused: ReadonlySet<string> }> {
  if (subject === undefined || clusters.length === 0) return { warnings: [], refused: new Set() };
  const requested = clusters.slice(0, MAX_TESTED).map((cluster) => ({ cluster, ...itemFor(subject, group) }));
  const signal = AbortSignal.timeout(DRY_RUN_TIMEOUT_MS);
  try {
    const passes = await server.client.createPasses(requested, { dryRun: true, signal });
    const failed = passes.filter(({ error }) => error !== undefined);
    const who = subject === 'me' ? 'yourself' : `${subject.namespace}/${subject.name}`;
    // In one cluster the account may be missing, in another the namespace. A refusal names the cluster.
    const reasonOf = ({ error }: IssuedPass): unknown => (error?.code === 404 ? error.message : error?.code);
    const warningOf = (group: readonly IssuedPass[]): string => {
      const names = group.slice(0, MAX_NAMED).map(({ cluster = '' }) => terminalSafe(clusterLabel(server, cluster)));
      const more = group.length - names.length;
      const where = `${names.join(', ')}${more === 0 ? '' : ` and ${more} more`}`;
      return `no pass for ${who} in ${where}: ${terminalSafe(group[0]?.error?.message ?? '')}`;
    };
    const warnings = [...Map.groupBy(failed, reasonOf).values()].map(warningOf);
    return { warnings, refused: new Set(failed.map(({ cluster }) => cluster)) };
  } catch (error) {
    const text = signal.aborted ? 'timed out' : describeError(error);
    if (text === undefined) throw error;
    return { warnings: [`could not test tokens at ${server.name}: ${text}`], refused: new Set() };
  }
}

/** Requests at the same time. */
const AT_ONCE = 16;

/**
 * Whose passes the caller gets now in each of these clusters: `namespace/name` of accounts, and `me` for passes as a
 * person, as kubeconfigs call them. `incomplete`: there may be more accounts.
 */
export async function usableSubjects(client: Client, clusters: readonly string[]) {
  const slots = new Slots(AT_ONCE);
  const people = clusters.map((cluster) => ({ cluster, userpass: true as const }));
  const [own, accounts] = await Promise.all([
    client.createPasses(people, { dryRun: true }),
    Promise.all(clusters.map((cluster) => slots.run(() => client.usableAccounts(cluster)))),
  ]);
  return accounts.map(({ items, incomplete }, at) => ({
    // 422: the pass may have one of several groups only, which --group names.
    subjects: [
      ...([undefined, 422].includes(own[at]?.error?.code) ? ['me'] : []),
      ...items.map(({ namespace, name }) => `${namespace}/${name}`),
    ],
    incomplete,
  }));
}
