import { accountUserName } from '../../../src/api/caller.ts';
import type { ClusterGrant } from '../../../src/api/kinds/cluster-grant-review.ts';
import type { PassSpec, PassStatus } from '../../../src/api/kinds/pass-spec.ts';
import type { Client } from '../../../src/client/index.ts';
import { readPages } from '../../../src/client/list-pages.ts';
import type { Decision } from '../requests/decision-form.tsx';

const PASSES = '/apis/clusterpass.dev/v1alpha1/passes';

/** A pass that was requested as a handle. */
export interface Handle {
  readonly metadata: { readonly name: string; readonly creationTimestamp?: string };
  readonly spec: PassSpec;
  readonly status?: PassStatus;
}

interface HandleList {
  readonly metadata: { readonly continue?: string };
  readonly items: readonly Handle[];
}

/** Those that the user has requested, and those that the user may review; waiting ones first, then the newest. */
export async function listHandles(client: Client): Promise<Handle[]> {
  const pages = await readPages<HandleList>(client, PASSES, {});
  return pages.flatMap(({ items }) => items).sort(waitingFirst);
}

const isWaiting = ({ status }: Handle): boolean => status?.phase === 'Pending';

function waitingFirst(a: Handle, b: Handle): number {
  const [newer, older] = [b.metadata.creationTimestamp ?? '', a.metadata.creationTimestamp ?? ''];
  return Number(isWaiting(b)) - Number(isWaiting(a)) || (newer < older ? -1 : newer > older ? 1 : 0);
}

export async function getHandle(client: Client, name: string): Promise<Handle> {
  return (await client.request<Handle>('GET', `${PASSES}/${encodeURIComponent(name)}`)).value;
}

export async function decideHandle(client: Client, name: string, type: Decision, message: string): Promise<void> {
  await client.request('PATCH', `${PASSES}/${encodeURIComponent(name)}/approval`, {
    query: { fieldManager: 'clusterpass-console' },
    body: { status: { conditions: [{ type, status: 'True', ...(message === '' ? {} : { message }) }] } },
    contentType: 'application/merge-patch+json',
  });
}

/** A `confirm` is the requester's, a `review` is another person's. The server decides who may. */
export function decisionsFor({ status }: Handle, isOwn: boolean): Decision[] {
  if (status?.phase !== 'Pending') return [];
  return (status.approval === 'confirm') === isOwn ? ['Approved', 'Denied'] : [];
}

export const accountOf = ({ serviceAccount }: PassSpec): string =>
  `${serviceAccount?.namespace}/${serviceAccount?.name}`;

/** The bindings of a cluster that name the account, or a group that it is in there. */
export function grantsTo(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  grants: readonly ClusterGrant[],
): ClusterGrant[] {
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
  const isAccount = (subject: ClusterGrant['subjects'][number]): boolean => {
    if (subject.kind === 'Group') return groups.includes(subject.name);
    if (subject.kind === 'User') return subject.name === accountUserName(namespace, name);
    return subject.namespace === namespace && subject.name === name;
  };
  return grants.filter(({ subjects }) => subjects.some(isAccount));
}
