import type {
  AccessRequestSpec,
  AccessRequestStatus,
  RequestDecision,
} from '../../../src/api/kinds/access-request-spec.ts';
import { namePart } from '../../../src/api/name-part.ts';
import type { Client } from '../../../src/client/index.ts';
import { readPages } from '../../../src/client/list-pages.ts';

const REQUESTS = '/apis/clusterpass.dev/v1alpha1/accessrequests';

export interface AccessRequestObject {
  readonly metadata: { readonly name: string; readonly uid?: string; readonly creationTimestamp?: string };
  readonly spec: AccessRequestSpec;
  readonly status?: AccessRequestStatus;
}

interface RequestList {
  readonly metadata: { readonly continue?: string };
  readonly items: readonly AccessRequestObject[];
}

/** The requests that the user made, and those that the user may decide; open ones first, then the newest. */
export async function listRequests(client: Client): Promise<AccessRequestObject[]> {
  const pages = await readPages<RequestList>(client, REQUESTS, {});
  return pages.flatMap(({ items }) => items).sort(openFirst);
}

export async function hasRequests(client: Client): Promise<boolean> {
  const { value } = await client.request<RequestList>('GET', REQUESTS, { query: { limit: 1 } });
  return value.items.length > 0;
}

const RANKS: Readonly<Record<string, number>> = { Pending: 0, Approved: 1 };

export const phaseOf = ({ status }: AccessRequestObject): string => status?.phase ?? 'Pending';

const rankOf = (request: AccessRequestObject): number => RANKS[phaseOf(request)] ?? 2;

function openFirst(a: AccessRequestObject, b: AccessRequestObject): number {
  const [newer, older] = [b.metadata.creationTimestamp ?? '', a.metadata.creationTimestamp ?? ''];
  return rankOf(a) - rankOf(b) || (newer < older ? -1 : newer > older ? 1 : 0);
}

/** What is asked for, as the rest of a sentence: `passes for ci/builder in prod-eu-1`. */
export function accessOf({ cluster = '', serviceAccount, resourceAttributes }: AccessRequestSpec): string {
  if (serviceAccount !== undefined)
    return `passes for ${serviceAccount.namespace}/${serviceAccount.name} in ${cluster}`;
  if (resourceAttributes === undefined) return `to see the cluster ${cluster}`;
  const { verb = '', group = '', resource = '', subresource = '', namespace = '', name = '' } = resourceAttributes;
  const type = `${resource}${subresource === '' ? '' : `/${subresource}`}${group === '' ? '' : `.${group}`}`;
  return [`to ${verb} ${type}`, name, namespace && `in the namespace ${namespace}`, `in ${cluster}`]
    .filter((part) => part !== '')
    .join(' ');
}

/** The server names it: the name of the requester and a random part. */
export async function createRequest(
  client: Client,
  username: string,
  spec: AccessRequestSpec,
): Promise<AccessRequestObject> {
  const { value } = await client.request<AccessRequestObject>('POST', REQUESTS, {
    query: { fieldManager: 'clusterpass-console' },
    body: {
      apiVersion: 'clusterpass.dev/v1alpha1',
      kind: 'AccessRequest',
      metadata: { generateName: `${namePart(username) || 'request'}-` },
      spec,
    },
  });
  return value;
}

/** With the UID: the requester may have deleted the request that is shown, and created another of its name. */
export async function decideRequest(
  client: Client,
  { metadata: { name, uid } }: AccessRequestObject,
  type: RequestDecision,
  message: string,
): Promise<void> {
  await client.request('PATCH', `${REQUESTS}/${encodeURIComponent(name)}/approval`, {
    query: { fieldManager: 'clusterpass-console' },
    body: {
      metadata: { uid },
      status: { conditions: [{ type, status: 'True', ...(message === '' ? {} : { message }) }] },
    },
    contentType: 'application/merge-patch+json',
  });
}
