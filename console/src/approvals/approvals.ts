import type { AccessRequestSpec } from '../../../src/api/kinds/access-request-spec.ts';
import type { ApprovalStatus } from '../../../src/api/kinds/approval.ts';
import type { PassSpec, PassStatus } from '../../../src/api/kinds/pass-spec.ts';
import { namePart } from '../../../src/api/name-part.ts';
import type { Client } from '../../../src/client/index.ts';
import { readPages } from '../../../src/client/list-pages.ts';
import type { Decision } from './decision-form.tsx';

/** What a person or an agent asks for, and people decide: access, or a pass. */
export type Resource = 'accessrequests' | 'passes';

export interface Approval {
  readonly resource: Resource;
  readonly metadata: { readonly name: string; readonly uid?: string; readonly creationTimestamp?: string };
  readonly spec: AccessRequestSpec & PassSpec;
  readonly status?: ApprovalStatus & Omit<PassStatus, keyof ApprovalStatus>;
}

interface ApprovalList {
  readonly metadata: { readonly continue?: string };
  readonly items: readonly Omit<Approval, 'resource'>[];
}

const pathOf = (resource: Resource, name = ''): string =>
  `/apis/clusterpass.dev/v1alpha1/${resource}${name === '' ? '' : `/${encodeURIComponent(name)}`}`;

/** What the user asked for, and what the user may decide; open ones first, then the newest. */
export async function listApprovals(client: Client): Promise<Approval[]> {
  const lists = await Promise.all(
    (['accessrequests', 'passes'] as const).map(async (resource) => {
      const pages = await readPages<ApprovalList>(client, pathOf(resource), {});
      return pages.flatMap(({ items }) => items.map((item) => ({ ...item, resource })));
    }),
  );
  return lists.flat().sort(openFirst);
}

export async function hasApprovals(client: Client): Promise<boolean> {
  for (const resource of ['accessrequests', 'passes'] as const) {
    const { value } = await client.request<ApprovalList>('GET', pathOf(resource), { query: { limit: 1 } });
    if (value.items.length > 0) return true;
  }
  return false;
}

export async function getApproval(client: Client, resource: Resource, name: string): Promise<Approval> {
  return { ...(await client.request<Approval>('GET', pathOf(resource, name))).value, resource };
}

const RANKS: Readonly<Record<string, number>> = { Pending: 0, Approved: 1, Ready: 1 };

export const phaseOf = ({ status }: Approval): string => status?.phase ?? 'Pending';
const rankOf = (approval: Approval): number => RANKS[phaseOf(approval)] ?? 2;
export const isOpen = (approval: Approval): boolean => rankOf(approval) < 2;

function openFirst(a: Approval, b: Approval): number {
  const [newer, older] = [b.metadata.creationTimestamp ?? '', a.metadata.creationTimestamp ?? ''];
  return rankOf(a) - rankOf(b) || (newer < older ? -1 : newer > older ? 1 : 0);
}

/**
 * What a person may decide; the server decides who may. A `confirm` of a pass is the requester's, a `review` another
 * person's. A requester withdraws an access request; others approve or deny it, and can end what was approved.
 */
export function decisionsFor(approval: Approval, isOwn: boolean): Decision[] {
  const { resource, status } = approval;
  const phase = phaseOf(approval);
  if (resource === 'passes') {
    return phase === 'Pending' && (status?.approval === 'confirm') === isOwn ? ['Approved', 'Denied'] : [];
  }
  if (phase === 'Pending') return isOwn ? ['Withdrawn'] : ['Approved', 'Denied'];
  return phase === 'Approved' ? ['Withdrawn'] : [];
}

/** What is asked for, as the rest of a sentence: `passes for ci/builder in prod-eu-1`. */
export function accessOf({ resource, spec }: Pick<Approval, 'resource' | 'spec'>): string {
  const { cluster = '', serviceAccount, resourceAttributes } = spec;
  const what = resource === 'passes' ? 'a pass' : 'passes';
  if (serviceAccount !== undefined)
    return `${what} for ${serviceAccount.namespace}/${serviceAccount.name} in ${cluster}`;
  if (resourceAttributes === undefined) return `permission to see the cluster ${cluster}`;
  const {
    verb = '',
    group = '',
    resource: type = '',
    subresource = '',
    namespace = '',
    name = '',
  } = resourceAttributes;
  const kind = `${type}${subresource === '' ? '' : `/${subresource}`}${group === '' ? '' : `.${group}`}`;
  return [`permission to ${verb} ${kind}`, name, namespace && `in the namespace ${namespace}`, `in ${cluster}`]
    .filter((part) => part !== '')
    .join(' ');
}

/** The server names it: the name of the requester and a random part. */
export async function createRequest(client: Client, username: string, spec: AccessRequestSpec): Promise<string> {
  const { value } = await client.request<Approval>('POST', pathOf('accessrequests'), {
    query: { fieldManager: 'clusterpass-console' },
    body: {
      apiVersion: 'clusterpass.dev/v1alpha1',
      kind: 'AccessRequest',
      metadata: { generateName: `${namePart(username) || 'request'}-` },
      spec,
    },
  });
  return value.metadata.name;
}

/** With the UID: the requester may have deleted what is shown, and created another of its name. */
export async function decide(
  client: Client,
  { resource, metadata: { name, uid } }: Approval,
  type: Decision,
  message: string,
): Promise<void> {
  await client.request('PATCH', `${pathOf(resource, name)}/approval`, {
    query: { fieldManager: 'clusterpass-console' },
    body: {
      metadata: { uid },
      status: { conditions: [{ type, status: 'True', ...(message === '' ? {} : { message }) }] },
    },
    contentType: 'application/merge-patch+json',
  });
}
