import { hash } from 'node:crypto';
import { type Caller, MASTERS, type User } from '../../api/caller.ts';
import type { Kind } from '../../api/kind.ts';
import { APPROVE_VERB } from '../../api/kinds/approval-kind.ts';
import type { ApprovalRule, ClusterLabels, VisibilityRule } from '../../api/visibility.ts';
import { clusterRule, type RuleGrant } from './cluster-rule.ts';
import { ResourceMatch } from './rule-index.ts';
import type { SubjectEntry } from './subject-table.ts';

/** The subjects of a user that bindings name. */
type EntriesOf = (user: User) => readonly SubjectEntry[];

/** The grants of the permission to approve, by namespace; `""` for those of ClusterRoleBindings. */
function grantsByNamespace(user: User, match: ResourceMatch, entriesOf: EntriesOf): Map<string, RuleGrant[]> {
  const grants = new Map<string, RuleGrant[]>();
  if (user.groups.includes(MASTERS)) grants.set('', [{ names: undefined, selector: undefined }]);
  for (const { scopes } of entriesOf(user)) {
    for (const [namespace, bindings] of scopes) {
      const found: RuleGrant[] = [];
      for (const { role, facts } of bindings.all) {
        const { reach } = facts;
        if (reach.kind === 'nowhere' || !match.admits(role.index) || !match.counts(facts)) continue;
        found.push({ names: undefined, selector: reach.kind === 'clusters' ? reach.selector : undefined });
      }
      if (found.length > 0) grants.set(namespace, [...(grants.get(namespace) ?? []), ...found]);
    }
  }
  return grants;
}

export function approvalRule(
  caller: Caller,
  { group, resource }: Pick<Kind, 'group' | 'resource'>,
  entriesOf: EntriesOf,
  labelsOf: (cluster: string) => ClusterLabels | undefined,
  now: () => number,
): ApprovalRule {
  const { home } = caller;
  // A rule that is restricted to names permits to decide about these objects, not to list them.
  const match = new ResourceMatch({ group, resource, verb: APPROVE_VERB, subresource: '', name: '' }, now);
  const elsewhere = grantsByNamespace(caller.as(undefined), match, entriesOf);
  const atHome = home === undefined ? undefined : grantsByNamespace(caller.as(home), match, entriesOf);
  const ruleIn = (namespace: string): VisibilityRule => {
    const scopes = namespace === '' ? [''] : ['', namespace];
    const grantsIn = (all: ReadonlyMap<string, RuleGrant[]>) => scopes.flatMap((scope) => all.get(scope) ?? []);
    return clusterRule({
      elsewhere: grantsIn(elsewhere),
      home: home === undefined || atHome === undefined ? undefined : { cluster: home, grants: grantsIn(atHome) },
    });
  };
  const everywhere = ruleIn('');
  const namespaces = [...new Set([...elsewhere.keys(), ...(atHome?.keys() ?? [])])].filter((each) => each !== '');
  const byNamespace = new Map(namespaces.sort().map((namespace) => [namespace, ruleIn(namespace)]));
  const rules = [everywhere, ...byNamespace.values()];
  const prints = [...byNamespace].map(([namespace, { fingerprint }]) => [namespace, fingerprint]);
  return {
    fingerprint: hash('sha256', JSON.stringify([everywhere.fingerprint, prints]), 'base64url'),
    all: everywhere.all,
    none: rules.every(({ none }) => none),
    admits: (cluster, namespace) => ruleAdmits(byNamespace.get(namespace) ?? everywhere, cluster, labelsOf(cluster)),
    changesWith: (cluster, before, after) =>
      rules.some((rule) => ruleAdmits(rule, cluster, before) !== ruleAdmits(rule, cluster, after)),
  };
}

const ruleAdmits = (rule: VisibilityRule, cluster: string, labels: ClusterLabels | undefined): boolean =>
  labels === undefined ? rule.all : rule.admits(cluster, labels);
