import { subjectOf } from '../tokens/claims.ts';
import { field, listOf, textOf } from './plain-json.ts';

/** Whom a binding names, as the caller presents itself: a user name or a group. */
export interface Subject {
  readonly kind: 'user' | 'group';
  readonly name: string;
}

/**
 * P-16: users and groups by exact name; a service account is the user of that name. Its namespace
 * defaults to the binding's, and in a ClusterRoleBinding, which has none, it then matches nobody.
 * The subject's apiGroup plays no part. Repeats are folded.
 */
export function readSubjects(value: unknown, bindingNamespace: string): Subject[] {
  const found = new Map<string, Subject>();
  for (const item of listOf(value)) {
    const subject = readSubject(item, bindingNamespace);
    if (subject !== undefined) found.set(`${subject.kind}:${subject.name}`, subject);
  }
  return [...found.values()];
}

function readSubject(item: unknown, bindingNamespace: string): Subject | undefined {
  const name = field(item, 'name');
  if (typeof name !== 'string') return undefined;
  switch (field(item, 'kind')) {
    case 'User':
      return { kind: 'user', name };
    case 'Group':
      return { kind: 'group', name };
    case 'ServiceAccount': {
      const namespace = textOf(field(item, 'namespace')) || bindingNamespace;
      return namespace === '' ? undefined : { kind: 'user', name: subjectOf(namespace, name) };
    }
    default:
      return undefined;
  }
}
