import type { PassDecision, PassHolder } from '../../api/authorization.ts';
import { type Identity, isAgent } from '../../api/caller.ts';
import { type Decision, NEEDS_APPROVAL } from '../../api/decision.ts';
import { AGENTS_ALLOW } from '../../api/kinds/fleet-role-binding.ts';
import type { PassApproval } from '../../api/kinds/pass-spec.ts';
import type { Through } from './rule-index.ts';

/** What a pass needs, by the bindings that allow it. Rights add up: the binding that asks for the least decides. */

const isForAgents: Through = ({ agents, approval }) => agents && approval === 'none';

type Level = readonly [approval: PassApproval, through: Through];

const LEVELS: Readonly<Record<PassHolder, readonly Level[]>> = {
  person: [
    ['none', ({ approval }) => approval !== 'review-always'],
    ['review', ({ approval }) => approval === 'review-always'],
  ],
  // Agents act only through marked bindings.
  agent: [
    ['none', isForAgents],
    ['confirm', ({ agents, approval }) => agents && approval === 'confirm'],
    ['review', ({ agents, approval }) => agents && (approval === 'review' || approval === 'review-always')],
  ],
};

/** `decide` decides by the bindings that count; without an argument, as for a token request of a person. */
export function decidePass(decide: (through?: Through) => Decision, holder: PassHolder): PassDecision {
  for (const [approval, through] of LEVELS[holder]) {
    const decision = decide(through);
    if (decision.allowed) return { ...decision, approval };
  }
  const plain = decide();
  // A person may have what the agent of that person may not.
  const isOnlyForPeople = holder === 'agent' && (plain.allowed || decide(isAlwaysReviewed).allowed);
  const reason = isOnlyForPeople ? NOT_FOR_AGENTS : plain.reason;
  return { allowed: false, reason, approval: 'none' };
}

const NOT_FOR_AGENTS = `agents act only through a FleetRoleBinding with spec.agents: ${AGENTS_ALLOW}, and the binding that allows it to people is not one`;

/** A refused token request that would be allowed with an approval says how to get one. */
export const withApprovalHint = (refused: Decision, needsApproval: boolean): Decision =>
  needsApproval
    ? { ...refused, reason: refused.reason === '' ? NEEDS_APPROVAL : `${NEEDS_APPROVAL}; ${refused.reason}` }
    : refused;

export const isAlwaysReviewed: Through = ({ approval }) => approval === 'review-always';

/**
 * The bindings through which a caller holds what it grants to others. An agent holds what it may do without asking: it
 * must not give itself, or another agent, what a person has to approve.
 */
export const throughForGrants = (caller: Identity): Through =>
  isAgent(caller) ? isForAgents : (facts) => !isAlwaysReviewed(facts);
