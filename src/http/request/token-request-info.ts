import { userpassQuestion } from '../../api/authorization.ts';
import type { ResourceInfo } from './request-info.ts';

/** A TokenRequest that comes in another form than its path: as a token exchange, or as an item of a token list. */
export function tokenRequestInfo(cluster: string, namespace: string, name: string): ResourceInfo {
  const account = { verb: 'create', group: '', resource: 'serviceaccounts', subresource: 'token' } as const;
  return {
    type: 'resource',
    target: { ...account, version: 'v1', cluster, namespace, name, alwaysPublic: false },
    question: { ...account, cluster, namespace, name },
  };
}

/** The TokenRequest of a token for the caller. Bindings of this cluster count, as at the path of the API. */
export function userpassInfo(cluster: string): ResourceInfo {
  const question = userpassQuestion(cluster);
  const target = { ...question, verb: 'create', version: 'v1alpha1', cluster: undefined, alwaysPublic: false } as const;
  return { type: 'resource', target, question };
}
