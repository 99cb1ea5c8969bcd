import type { ResourceInfo } from './request-info.ts';

/** A TokenRequest that comes in another form than its path: as a token exchange, or as an item of a list of passes. */
export function tokenRequestInfo(cluster: string, namespace: string, name: string): ResourceInfo {
  const account = { verb: 'create', group: '', resource: 'serviceaccounts', subresource: 'token' } as const;
  return {
    type: 'resource',
    target: { ...account, version: 'v1', cluster, namespace, name, alwaysPublic: false },
    question: { ...account, cluster, namespace, name },
  };
}
