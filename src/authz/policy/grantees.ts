import { CLUSTER_GROUP } from '../../api/kinds/cluster-spec.ts';
import type { RuleGrant, VisibilityVerb } from './cluster-rule.ts';
import type { CompiledBinding } from './compiled-rbac.ts';
import type { Subject } from './rbac-objects.ts';
import { ResourceMatch } from './rule-index.ts';
import type { SubjectEntry } from './subject-table.ts';

/** The subjects through which a user is granted clusters. Equal keys: the same subjects, unchanged. */
export interface Grantees {
  readonly isMaster: boolean;
  readonly entries: readonly SubjectEntry[];
  readonly key: string;
}

export function* grantsOf(
  { isMaster, entries }: Grantees,
  verb: VisibilityVerb,
  now: () => number,
): Generator<RuleGrant> {
  if (isMaster) yield { names: undefined, selector: undefined };
  const match = new ResourceMatch({ verb, group: CLUSTER_GROUP, resource: 'clusters', subresource: '', name: '' }, now);
  for (const { scopes } of entries) {
    for (const { role, facts } of scopes.get('')?.all ?? []) {
      const { reach } = facts;
      if (reach.kind === 'nowhere' || !match.counts(facts)) continue;
      const selector = reach.kind === 'clusters' ? reach.selector : undefined;
      for (const names of role.index.namesFor(match)) yield { names, selector };
    }
  }
}

/** The subjects whose grants may have changed: if both grant the same, only the added and removed ones. */
export function affectedSubjects(
  before: CompiledBinding | undefined,
  after: CompiledBinding | undefined,
): Iterable<Subject> {
  const old = before?.facts.subjects ?? [];
  const now = after?.facts.subjects ?? [];
  if (before === undefined || after === undefined || before.grantText !== after.grantText) return [...old, ...now];
  const text = ({ kind, name }: Subject): string => `${kind}:${name}`;
  const oldTexts = new Set(old.map(text));
  const nowTexts = new Set(now.map(text));
  return [...old, ...now].filter((subject) => oldTexts.has(text(subject)) !== nowTexts.has(text(subject)));
}
