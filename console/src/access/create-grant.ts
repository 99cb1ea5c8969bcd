import { type Client, isStatus } from '../../../src/client/index.ts';
import { collectionOf, type RbacObject } from './grant-manifest.ts';

const create = (client: Client, body: RbacObject, options: { readonly dryRun?: 'All' } = {}): Promise<unknown> =>
  client.request('POST', collectionOf(body), {
    query: { fieldManager: 'clusterpass-console', fieldValidation: 'Strict', ...options },
    body,
  });

/** A dry run of every object. */
export async function tryGrant(client: Client, objects: readonly RbacObject[]): Promise<void> {
  for (const object of objects) {
    try {
      await create(client, object, { dryRun: 'All' });
    } catch (error) {
      if (!isAboutNewRole(error, objects)) throw error;
    }
  }
}

/** The rules of a role are compared with those of the user when it is bound, and a dry run has not created the role. */
const isAboutNewRole = (error: unknown, objects: readonly RbacObject[]): boolean =>
  isStatus(error, 404) &&
  objects.some(({ kind, metadata }) => kind === 'Role' && metadata.name === error.status.details?.name);

/** All objects, or none: a role that is left behind would refuse the next attempt by its name. */
export async function createGrant(client: Client, objects: readonly RbacObject[]): Promise<void> {
  const created: RbacObject[] = [];
  try {
    for (const object of objects) {
      await create(client, object);
      created.unshift(object);
    }
  } catch (error) {
    for (const object of created) {
      const path = `${collectionOf(object)}/${encodeURIComponent(object.metadata.name)}`;
      // The refusal of the grant is what the user must read, also if this fails.
      await client.request('DELETE', path).catch(() => {});
    }
    throw error;
  }
}
