import { shellWord } from '../../../src/lib/text.ts';
import { linkTo } from '../router.ts';
import { type AccessRequest, isIssuingPass } from './access-review.ts';

/** The form that asks for this access, filled in; undefined for access that the form cannot ask for. */
export function requestLink(request: AccessRequest): string | undefined {
  const { cluster, namespace, name } = request;
  if (cluster === undefined) return linkTo('requests', { cluster: name ?? '', account: '' });
  if (!isIssuingPass(request) || namespace === undefined || name === undefined) return undefined;
  return linkTo('requests', { cluster, account: `${namespace}/${name}` });
}

/** The command that asks for this access. */
export function requestCommand({ cluster, verb, group, resource, ...object }: AccessRequest): string {
  const { subresource, namespace, name } = object;
  const type = group === '' ? resource : `${resource}.${group}`;
  const words = [
    ...[verb, type, ...(name === undefined ? [] : [name])],
    ...(subresource === undefined ? [] : ['--subresource', subresource]),
    ...(namespace === undefined ? ['--all-namespaces'] : ['--namespace', namespace]),
    ...(cluster === undefined ? [] : ['--cluster', cluster]),
  ];
  return `clusterpass request create ${words.map(shellWord).join(' ')} --reason REASON`;
}
