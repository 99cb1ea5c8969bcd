import type { Client } from '../../src/client/index.ts';

/** The console is the manager of the fields that it writes. */
const MANAGER = { fieldManager: 'clusterpass-console', fieldValidation: 'Strict' };

interface WriteOptions {
  readonly dryRun?: 'All';
  readonly signal?: AbortSignal | undefined;
}

export const createObject = <T>(client: Client, path: string, body: object, { signal, ...query }: WriteOptions = {}) =>
  client.request<T>('POST', path, { query: { ...MANAGER, ...query }, body, signal });

/** A list is a JSON patch, an object a merge patch. */
export const patchObject = (client: Client, path: string, body: object, query: Omit<WriteOptions, 'signal'> = {}) =>
  client.request('PATCH', path, {
    query: { ...MANAGER, ...query },
    contentType: `application/${Array.isArray(body) ? 'json' : 'merge'}-patch+json`,
    body,
  });

/** The object that was shown: another one may have been created under its name since. */
export const deleteObject = (client: Client, path: string, uid: string) =>
  client.request('DELETE', path, { body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } } });

export function collectionPath(apiVersion: string, kind: string, namespace = ''): string {
  const scope = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `/apis/${apiVersion}${scope}/${kind.toLowerCase()}s`;
}
