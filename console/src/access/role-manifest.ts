import type { AccessRequest } from './access-review.ts';

/** A plain YAML scalar where that is safe, otherwise a quoted one: JSON escapes are valid in YAML double quotes. */
const scalar = (text: string): string =>
  /^[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?$/.test(text) &&
  !/^[\d.]+$/.test(text) &&
  !/^(?:null|true|false|yes|no|on|off|y|n)$/.test(text)
    ? text
    : JSON.stringify(text);

/** The YAML of a role and a binding that allow this request to this user and nothing else. */
export function roleManifest(request: AccessRequest, username: string): string {
  const { cluster, verb, group, resource, subresource, namespace, name } = request;
  const isRegistry = cluster === undefined;
  const kind = namespace === undefined ? 'ClusterRole' : 'Role';
  const title = isRegistry ? `view-${name ?? resource}` : `use-${name ?? resource}`;
  const namespaceLine = namespace === undefined ? [] : [`  namespace: ${scalar(namespace)}`];
  // The console lists and watches clusters, so `get` alone would not show one.
  const verbs = isRegistry ? '[get, list, watch]' : `[${scalar(verb)}]`;
  const qualified = subresource === undefined ? resource : `${resource}/${subresource}`;
  return [
    'apiVersion: rbac.authorization.k8s.io/v1',
    `kind: ${kind}`,
    'metadata:',
    `  name: ${scalar(title)}`,
    ...namespaceLine,
    'rules:',
    `  - apiGroups: [${JSON.stringify(group)}]`,
    `    resources: [${JSON.stringify(qualified)}]`,
    ...(name === undefined ? [] : [`    resourceNames: [${JSON.stringify(name)}]`]),
    `    verbs: ${verbs}`,
    '---',
    'apiVersion: rbac.authorization.k8s.io/v1',
    `kind: ${kind}Binding`,
    'metadata:',
    `  name: ${scalar(title)}`,
    ...namespaceLine,
    ...(isRegistry
      ? []
      : [
          '  annotations:',
          `    clusterpass.dev/clusters: ${JSON.stringify(`kubernetes.io/metadata.name=${cluster}`)}`,
        ]),
    'subjects:',
    `  - {apiGroup: rbac.authorization.k8s.io, kind: User, name: ${JSON.stringify(username)}}`,
    `roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ${kind}, name: ${scalar(title)}}`,
    '',
  ].join('\n');
}
