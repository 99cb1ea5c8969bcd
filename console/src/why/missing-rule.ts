import type { Question } from './explain.ts';

/** Plain in YAML; anything else is put in quotes, where JSON's escapes mean the same. */
const scalar = (text: string): string =>
  /^[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?$/.test(text) &&
  !/^[\d.]+$/.test(text) &&
  !/^(?:null|true|false|yes|no|on|off|y|n)$/.test(text)
    ? text
    : JSON.stringify(text);

/** The least that would make the answer a yes, to be handed to an administrator. */
export function missingRule(question: Question, username: string): string {
  const { cluster, verb, group, resource, subresource, namespace, name } = question;
  const seeing = cluster === undefined;
  const role = namespace === undefined ? 'ClusterRole' : 'Role';
  const title = seeing ? `see-${name ?? 'clusters'}` : `use-${name ?? resource}`;
  const place = namespace === undefined ? [] : [`  namespace: ${scalar(namespace)}`];
  const verbs = seeing ? '[get, list, watch]' : `[${scalar(verb)}]`;
  const full = subresource === undefined ? resource : `${resource}/${subresource}`;
  return [
    'apiVersion: rbac.authorization.k8s.io/v1',
    `kind: ${role}`,
    'metadata:',
    `  name: ${scalar(title)}`,
    ...place,
    'rules:',
    `  - apiGroups: [${JSON.stringify(group)}]`,
    `    resources: [${JSON.stringify(full)}]`,
    ...(name === undefined ? [] : [`    resourceNames: [${JSON.stringify(name)}]`]),
    `    verbs: ${verbs}`,
    '---',
    'apiVersion: rbac.authorization.k8s.io/v1',
    `kind: ${role}Binding`,
    'metadata:',
    `  name: ${scalar(title)}`,
    ...place,
    ...(seeing
      ? []
      : [
          '  annotations:',
          `    clusterpass.dev/clusters: ${JSON.stringify(`kubernetes.io/metadata.name=${cluster}`)}`,
        ]),
    'subjects:',
    `  - {apiGroup: rbac.authorization.k8s.io, kind: User, name: ${JSON.stringify(username)}}`,
    `roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ${role}, name: ${scalar(title)}}`,
    '',
  ].join('\n');
}
