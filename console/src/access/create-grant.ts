import { type Client, isStatus, StatusError } from '../../../src/client/index.ts';
import { createObject } from '../write-object.ts';
import { collectionOf, type GrantObject } from './grant-manifest.ts';

/** Undefined if it was not created. A role with these rules may be left of a grant whose binding was deleted. */
async function createUnlessThere(client: Client, body: GrantObject, options: { readonly dryRun?: 'All' } = {}) {
  try {
    return await createObject(client, collectionOf(body), body, options);
  } catch (error) {
    if (body.kind !== 'Role' || !isStatus(error, 409)) throw error;
    const stored = await client.request<GrantObject>('GET', pathOf(body));
    if (rulesText(stored.value) !== rulesText(body)) throw error;
    return undefined;
  }
}

/** The server may store the fields of a rule in another order. */
const rulesText = ({ rules }: GrantObject): string =>
  JSON.stringify(rules, ['apiGroups', 'resources', 'resourceNames', 'nonResourceURLs', 'verbs']);

const pathOf = (object: GrantObject): string => `${collectionOf(object)}/${encodeURIComponent(object.metadata.name)}`;

/** A dry run of every object. */
export async function tryGrant(client: Client, objects: readonly GrantObject[]) {
  const warnings: string[] = [];
  for (const object of objects) {
    try {
      warnings.push(...((await createUnlessThere(client, object, { dryRun: 'All' }))?.warnings ?? []));
    } catch (error) {
      if (!isAboutNewRole(error, objects)) throw error;
    }
  }
  return { warnings };
}

/** The rules of a role are compared with those of the user when it is bound, and a dry run has not created the role. */
const isAboutNewRole = (error: unknown, objects: readonly GrantObject[]): boolean =>
  isStatus(error, 404) &&
  objects.some(({ kind, metadata }) => kind === 'Role' && metadata.name === error.status.details?.name);

/** All objects or none, unless the server did not say whether it has stored one. */
export async function createGrant(client: Client, objects: readonly GrantObject[]): Promise<void> {
  const created: GrantObject[] = [];
  try {
    for (const object of objects) {
      if (await createUnlessThere(client, object)) created.unshift(object);
    }
  } catch (error) {
    // A binding that is stored needs its role.
    if (!(error instanceof StatusError) || error.code >= 500) throw error;
    for (const object of created) {
      // The refusal of the grant is what the user must read, also if this fails.
      await client.request('DELETE', pathOf(object)).catch(() => {});
    }
    throw error;
  }
}
