import type { SubjectRulesReviewStatus } from '../../../src/client/index.ts';

export const CLUSTERPASS = 'clusterpass.dev';
export const CLUSTERS = 'clusterregistry.k8s.io';
export const RBAC = 'rbac.authorization.k8s.io';

/**
 * What the rules of the user allow. The page uses it to leave out what would be refused anyway; the server decides each
 * request.
 */
export interface Permissions {
  /** False until the server has answered: what no rule allows may be allowed. */
  readonly isKnown: boolean;
  /** Whether a rule allows this for some object at least. `resource` may be `resource/subresource`. */
  can(verb: string, group: string, resource: string): boolean;
  canGetPath(path: string): boolean;
}

export const UNKNOWN_PERMISSIONS: Permissions = { isKnown: false, can: () => false, canGetPath: () => false };

export function permissionsOf({ resourceRules = [], nonResourceRules = [] }: SubjectRulesReviewStatus): Permissions {
  return {
    isKnown: true,
    can: (verb, group, resource) =>
      resourceRules.some(
        ({ verbs = [], apiGroups = [], resources = [] }) =>
          includes(verbs, verb) && includes(apiGroups, group) && includesResource(resources, resource),
      ),
    canGetPath: (path) =>
      nonResourceRules.some(
        ({ verbs = [], nonResourceURLs = [] }) =>
          includes(verbs, 'get') && nonResourceURLs.some((pattern) => matchesPath(pattern, path)),
      ),
  };
}

const includes = (values: readonly string[], wanted: string): boolean =>
  values.includes('*') || values.includes(wanted);

/** `pods`, `pods/log`, and for every resource `*\/log`. */
function includesResource(resources: readonly string[], wanted: string): boolean {
  if (includes(resources, wanted)) return true;
  const slash = wanted.indexOf('/');
  return slash > 0 && resources.includes(`*${wanted.slice(slash)}`);
}

const matchesPath = (pattern: string, path: string): boolean =>
  pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : pattern === path;
