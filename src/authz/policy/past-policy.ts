import { isDeepStrictEqual } from 'node:util';
import type { Authorizer, Decision, PastAuthorizer, ResourceQuestion } from '../../api/authorization.ts';
import type { Caller, User } from '../../api/caller.ts';
import {
  type ClusterLabels,
  type ClusterVisibility,
  compareMoments,
  type PolicyMoment,
  type VisibilityRule,
} from '../../api/visibility.ts';
import type { Cache } from '../../lib/cache.ts';
import type { BindingFacts } from './binding-facts.ts';
import { clusterRule } from './cluster-rule.ts';
import type { CompiledBinding } from './compiled-rbac.ts';
import type { ExpiringBindings } from './expiring-bindings.ts';
import type { PolicyOptions } from './policy-options.ts';
import { type PastRbacSnapshot, referenceDecide, referenceRuleSource, withBindings } from './reference-evaluator.ts';
import { identities } from './subject-table.ts';

/** What the policy decided in the past. */
export interface PastPolicy {
  readonly ruleAt: ClusterVisibility['ruleAt'];
  readonly decideAt: PastAuthorizer['decideAt'];
}

interface PastPolicyParts extends Pick<PolicyOptions, 'labelsOf' | 'labelsAt' | 'snapshot'> {
  /** The policy as it is now. */
  readonly present: Pick<Authorizer, 'decide'> &
    Pick<ClusterVisibility, 'changedAt' | 'ruleFor'> & {
      decideForAnyLabels(caller: Caller, question: ResourceQuestion): Decision;
    };
  /** The rule cache of the policy. */
  readonly rules: Cache<string, VisibilityRule>;
  readonly expiring: Pick<ExpiringBindings, 'expired' | 'heldAt'>;
  /** Stored bindings to a cluster that was recreated since. */
  readonly orphanedByCluster: ReadonlyMap<string, Pick<BindingFacts, 'namespace' | 'name'>>;
  /** The present bindings of a user in a namespace (`""`: ClusterRoleBindings). */
  readonly bindingsOf: (user: User, namespace: string) => Iterable<CompiledBinding>;
}

export function createPastPolicy(parts: PastPolicyParts): PastPolicy {
  const { present, labelsOf, rules, expiring, orphanedByCluster, bindingsOf } = parts;

  /**
   * A past state with the bindings of one caller: evaluating all bindings would block the event loop. A binding that
   * named the caller then names it now, was changed since, has expired, or was bound to a predecessor of its cluster.
   */
  const snapshotFor = (caller: Caller, moment: PolicyMoment): PastRbacSnapshot => {
    const dropped = [...orphanedByCluster.values(), ...expiring.expired()];
    const namesIn = (namespace: string): string[] => [
      ...dropped.filter((each) => each.namespace === namespace).map(({ name }) => name),
      ...identities(caller).flatMap((user) => [...bindingsOf(user, namespace)].map(({ facts }) => facts.name)),
    ];
    return withBindings(parts.snapshot(moment.revision), namesIn, (binding) => expiring.heldAt(binding, moment));
  };

  return {
    /**
     * If nothing that concerns the caller changed since, the rule of then is the rule of now. A change at or before
     * `moment` that has not arrived here yet makes no difference: it is also missing from `ruleFor`, and a watch that
     * compares the two follows it when it arrives.
     */
    ruleAt: (caller, verb, moment) => {
      if (compareMoments(present.changedAt(caller), moment) <= 0) return present.ruleFor(caller, verb);
      return rules.getOrCompute(`at ${moment.revision}/${moment.change} ${verb} ${caller.key}`, () =>
        clusterRule(referenceRuleSource(snapshotFor(caller, moment), caller, verb)),
      );
    },

    /** If neither the rules of the caller nor the labels of the cluster changed since, the decision is that of now. */
    decideAt: (caller, question, moment) => {
      const { cluster } = question;
      const labelsAt = (name: string): ClusterLabels | undefined => parts.labelsAt(name, moment.revision);
      if (compareMoments(present.changedAt(caller), moment) <= 0) {
        const decision = present.decideForAnyLabels(caller, question);
        if (decision.allowed || cluster === undefined) return decision;
        if (isDeepStrictEqual(labelsAt(cluster), labelsOf(cluster))) return present.decide(caller, question);
      }
      return referenceDecide(snapshotFor(caller, moment), labelsAt, caller, question);
    },
  };
}
