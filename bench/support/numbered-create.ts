import { requestText } from './client.ts';
import { CLUSTERS_PATH, clusterBody } from './objects.ts';

/** A create around the number of the cluster. */
export function numberedCreate(token: string): readonly [before: string, after: string] {
  const body = { ...clusterBody('one-of-many', {}), metadata: { name: 'new-########' } };
  const [before = '', after = ''] = requestText('POST', CLUSTERS_PATH, { token, body }).split('########');
  return [before, after];
}
