import { type AccessRequestSpec, accessText } from '../../../src/api/kinds/access-request-spec.ts';
import type { ApprovalPreview, ApprovalStatus } from '../../../src/api/kinds/approval.ts';
import type { PassSpec, PassStatus } from '../../../src/api/kinds/pass-spec.ts';
import { namePart } from '../../../src/api/name-part.ts';
import type { Client } from '../../../src/client/index.ts';
import { readPages } from '../../../src/client/list-pages.ts';
import { createObject, patchObject } from '../write-object.ts';
import type { Decision } from './decision-form.tsx';

/** What a person or an agent asks for, and people decide: access, or a pass. */
export const RESOURCES = ['accessrequests', 'passes'] as const;
export type Resource = (typeof RESOURCES)[number];

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

/** More than a person decides at once. */
const MOST_COUNTED = 99;

const pathOf = (resource: Resource, name = ''): string =>
  `/apis/clusterpass.dev/v1alpha1/${resource}${name === '' ? '' : `/${encodeURIComponent(name)}`}`;

/** What the user asked for, and what the user may decide; open ones first, then the newest. */
export async function listApprovals(client: Client): Promise<Approval[]> {
  const lists = await Promise.all(
    RESOURCES.map(async (resource) => {
      const pages = await readPages<ApprovalList>(client, pathOf(resource), {});
      return pages.flatMap(({ items }) => items.map((item) => ({ ...item, resource })));
    }),
  );
  return lists.flat().sort(openFirst);
}

/**
 * How many requests wait for the user; undefined if the user sees none at all. `decided`: the kinds of which the user
 * decides what it sees; auditors see more.
 */
export async function countWaiting(client: Client, username: string, decided: readonly Resource[]) {
  const read = async (resource: Resource, query: Readonly<Record<string, string | number>>) =>
    (await client.request<ApprovalList>('GET', pathOf(resource), { query })).value.items;
  const lists = RESOURCES.map(async (resource) => {
    const pending = await read(resource, { fieldSelector: 'status.phase=Pending', limit: MOST_COUNTED });
    const waits = (item: Omit<Approval, 'resource'>): boolean =>
      decided.includes(resource) && decisionsFor({ ...item, resource }, isOwnOf(username, item)).includes('Approved');
    if (pending.length === 0 && (await read(resource, { limit: 1 })).length === 0) return undefined;
    return pending.filter(waits).length;
  });
  const [ofAccess, ofPasses] = await Promise.all(lists);
  return ofAccess === undefined && ofPasses === undefined ? undefined : (ofAccess ?? 0) + (ofPasses ?? 0);
}

/** With what an approval by the user would do, or why it is not allowed. */
export async function getApproval(client: Client, resource: Resource, name: string): Promise<Approval> {
  return { ...(await client.request<Approval>('GET', `${pathOf(resource, name)}/approval`)).value, resource };
}

const RANKS: Readonly<Record<string, number>> = { Pending: 0, Approved: 1, Ready: 1 };

export const phaseOf = ({ status }: Approval): string => status?.phase ?? 'Pending';
const rankOf = (approval: Approval): number => RANKS[phaseOf(approval)] ?? 2;
export const isOpen = (approval: Approval): boolean => rankOf(approval) < 2;

const DAY_MS = 24 * 3_600_000;

/** Open ones, and denied ones for a day: the requester reads why. */
export const isCurrent = (approval: Approval, now: number): boolean =>
  isOpen(approval) ||
  (phaseOf(approval) === 'Denied' && now - Date.parse(approval.status?.decisionTimestamp ?? '') < DAY_MS);

export const isOwnOf = (username: string, { spec }: Pick<Approval, 'spec'>): boolean =>
  spec.requestedBy?.username === username;

function openFirst(a: Approval, b: Approval): number {
  const [newer, older] = [b.metadata.creationTimestamp ?? '', a.metadata.creationTimestamp ?? ''];
  return rankOf(a) - rankOf(b) || (newer < older ? -1 : newer > older ? 1 : 0);
}

/**
 * What a person may decide; the server decides who may. A `confirm` of a pass is the requester's, a `review` another
 * person's. A requester withdraws an access request; others approve or deny it, and can end what was approved.
 */
export function decisionsFor(approval: Approval, isOwn: boolean, preview?: ApprovalPreview): Decision[] {
  if (preview?.allowed === false) return decisionsFor(approval, isOwn).filter((type) => type !== 'Approved');
  const { resource, status } = approval;
  const phase = phaseOf(approval);
  if (resource === 'passes') {
    return phase === 'Pending' && (status?.approval === 'confirm') === isOwn ? ['Approved', 'Denied'] : [];
  }
  if (phase === 'Pending') return isOwn ? ['Withdrawn'] : ['Approved', 'Denied'];
  return phase === 'Approved' ? ['Withdrawn'] : [];
}

/** What is asked for, as the rest of a sentence: `access to prod-eu-1: see the cluster, passes of ci/builder`. */
export function accessOf({ resource, spec }: Pick<Approval, 'resource' | 'spec'>): string {
  const { cluster = '', serviceAccount: { namespace = '', name = '' } = {} } = spec;
  return resource === 'passes'
    ? `a pass for ${namespace}/${name} in ${cluster}`
    : `access to ${cluster}: ${accessText(spec)}`;
}

/** The server names it: the name of the requester and a random part. */
export async function createRequest(client: Client, username: string, spec: AccessRequestSpec): Promise<string> {
  const { value } = await createObject<Approval>(client, pathOf('accessrequests'), {
    apiVersion: 'clusterpass.dev/v1alpha1',
    kind: 'AccessRequest',
    metadata: { generateName: `${namePart(username) || 'request'}-` },
    spec,
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
  const condition = { type, status: 'True', ...(message === '' ? {} : { message }) };
  const decided = { metadata: { uid }, status: { conditions: [condition] } };
  await patchObject(client, `${pathOf(resource, name)}/approval`, decided);
}
