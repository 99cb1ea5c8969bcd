import { MASTERS } from '../caller.ts';
import type { ApiObject } from '../kind.ts';
import { type ClusterCondition, statusOf } from '../kinds/cluster-spec.ts';
import type { GrantedSubject } from '../kinds/grant-reviews.ts';
import { COMPUTED_ANNOTATIONS, TOKEN_CHECKS_ANNOTATION } from './annotations.ts';
import { conditionOf } from './conditions.ts';

/** What has to be true of a registered cluster before it can be used. */
export interface UsabilityStep {
  readonly id: 'reachable' | 'trust' | 'accounts' | 'callers';
  readonly title: string;
  /** Undefined: neither Clusterpass nor the caller can know it. */
  readonly done: boolean | undefined;
  readonly note: string;
  /** The command that does it. */
  readonly command: string;
}

export interface UsabilityFacts {
  /** The public view. */
  readonly cluster: ApiObject;
  /** How many there are; undefined if the caller may not list them. */
  readonly accounts: number | undefined;
  /** All who reach the cluster; undefined if the caller may not ask. */
  readonly subjects: readonly GrantedSubject[] | undefined;
}

const PASSES = ['AccountPasses', 'ReviewedPasses', 'OwnPasses'];

/** The checklist of a registered cluster, in the order in which an operator works through it. */
export function usabilitySteps({ cluster, accounts, subjects }: UsabilityFacts): UsabilityStep[] {
  const { name = '' } = cluster.metadata;
  const ready = conditionOf(statusOf(cluster), 'Ready');
  const users = subjects?.filter(
    (subject) => subject.name !== MASTERS && subject.gives?.some(({ action }) => PASSES.includes(action)),
  );
  const forPeople = users?.some(({ gives }) => gives?.some(({ action }) => action === 'OwnPasses')) === true;
  const counted = (what: string, count?: number): string => (count === undefined ? '' : `${what}: ${count}`);
  return [
    {
      id: 'reachable',
      title: 'Reachable',
      done: isDone(ready),
      note: ready === undefined ? 'No probe has finished yet.' : `${ready.reason}: ${ready.message}`,
      command: `clusterpass register ${name} --update --kubeconfig FILE`,
    },
    { id: 'trust', title: 'Trusts Clusterpass', ...trustOf(cluster, name) },
    {
      id: 'accounts',
      title: 'Accounts known',
      done: forPeople || (accounts === undefined ? undefined : accounts > 0),
      note: counted('Service accounts', accounts),
      command: `clusterpass kubectl --cluster ${name} create serviceaccount ACCOUNT -n NAMESPACE`,
    },
    {
      id: 'callers',
      title: 'Usable by callers',
      done: users && users.length > 0,
      note: counted('Users, groups and accounts that get passes', users?.length),
      command: `clusterpass grant --group GROUP --role clusterpass:token-creator --cluster ${name} --apply`,
    },
  ];
}

const isDone = (condition: ClusterCondition | undefined): boolean | undefined =>
  ({ True: true, False: false })[condition?.status ?? ''];

const STATED_CHECKS: Readonly<Record<string, string>> = {
  webhook: 'Its webhook asks Clusterpass about each pass.',
  keys: 'It verifies passes by the key set of Clusterpass.',
};
const UNSTATED =
  'Its API server needs this file as --authentication-config, and does not say whether it has it. When kubectl auth ' +
  `whoami accepts a pass, annotate the cluster with ${TOKEN_CHECKS_ANNOTATION}=keys.`;

/** A cluster does not tell whether it has the file. An operator states it, or the cluster issues its own tokens. */
function trustOf(cluster: ApiObject, name: string): Pick<UsabilityStep, 'done' | 'note' | 'command'> {
  const { annotations = {} } = cluster.metadata;
  const credential = conditionOf(statusOf(cluster), 'CredentialUsable');
  if (annotations[COMPUTED_ANNOTATIONS.issuer] === undefined) {
    if (credential !== undefined)
      return { done: isDone(credential), note: `${credential.message}`, command: `clusterpass confirm ${name}` };
    const ready = conditionOf(statusOf(cluster), 'Ready');
    const note = 'Its connector issues the tokens.';
    return { done: isDone(ready), note, command: `clusterpass connector --cluster ${name} --config FILE` };
  }
  const note = STATED_CHECKS[annotations[TOKEN_CHECKS_ANNOTATION] ?? ''];
  const command = `clusterpass trust ${name} > authentication.yaml`;
  return note === undefined ? { done: undefined, note: UNSTATED, command } : { done: true, note, command };
}
