import { shellWord } from '../../../src/lib/shell-word.ts';
import { linkTo } from '../router.ts';
import type { AccessRequest } from './access-review.ts';

/** The form that asks for this access, filled in; undefined for access that the form cannot ask for. */
export function requestLink({
  cluster,
  verb,
  resource,
  subresource,
  namespace,
  name,
}: AccessRequest): string | undefined {
  if (cluster === undefined) return linkTo('requests', { cluster: name ?? '', account: '' });
  if (verb !== 'create' || resource !== 'serviceaccounts' || subresource !== 'token') return undefined;
  if (namespace === undefined || name === undefined) return undefined;
  return linkTo('requests', { cluster, account: `${namespace}/${name}` });
}

/** The command that asks for this access. */
export function requestCommand({
  cluster,
  verb,
  group,
  resource,
  subresource,
  namespace,
  name,
}: AccessRequest): string {
  const type = group === '' ? resource : `${resource}.${group}`;
  const words = [
    ...[verb, type, ...(name === undefined ? [] : [name])],
    ...(subresource === undefined ? [] : ['--subresource', subresource]),
    ...(namespace === undefined ? ['--all-namespaces'] : ['--namespace', namespace]),
    ...(cluster === undefined ? [] : ['--cluster', cluster]),
  ];
  return `clusterpass request create ${words.map(shellWord).join(' ')} --reason REASON`;
}
