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

/** The checklist of a registered cluster, in the order in which an operator works through it. */
export function usabilitySteps({ cluster, accounts, subjects }: UsabilityFacts): UsabilityStep[] {
  const { name = '' } = cluster.metadata;
  const ready = conditionOf(statusOf(cluster), 'Ready');
  const having = (...actions: readonly string[]): GrantedSubject[] | undefined =>
    subjects?.filter(({ name, gives }) => name !== MASTERS && gives?.some(({ action }) => actions.includes(action)));
  const users = having('AccountPasses', 'ReviewedPasses', 'OwnPasses');
  const viewers = having('See')?.map(nameOf);
  // There are kubeconfigs only of clusters that one sees. Members of one group may see it through another.
  const isSeen = users?.some((user) => viewers?.includes(nameOf(user)));
  const isBlind = users !== undefined && users.length > 0 && !isSeen;
  const counted = (what: string, count?: number): string => (count === undefined ? '' : `${what}: ${count}`);
  return [
    {
      id: 'reachable',
      title: 'Reachable',
      done: isDone(ready),
      note: ready === undefined ? 'No probe has finished yet: look again.' : `${ready.reason}: ${ready.message}`,
      command: `clusterpass ${ready ? `register ${name} --update --kubeconfig FILE` : `describe cluster ${name}`}`,
    },
    { id: 'trust', title: 'Trusts Clusterpass', ...trustOf(cluster, isDone(ready)) },
    {
      id: 'accounts',
      title: 'Accounts known',
      done: having('OwnPasses')?.length ? true : accounts === undefined ? undefined : accounts > 0,
      note: counted('Service accounts', accounts),
      command: `clusterpass kubectl --cluster ${name} create serviceaccount ACCOUNT -n NAMESPACE`,
    },
    {
      id: 'callers',
      title: 'Usable by callers',
      done: isBlind ? undefined : isSeen,
      note: counted('Users, groups and accounts that get passes', users?.length) + (isBlind ? '; none sees it' : ''),
      command: `clusterpass grant --group GROUP --role clusterpass:${isBlind ? 'viewer' : 'token-creator'} --cluster ${name} --apply`,
    },
  ];
}

const nameOf = ({ kind, namespace = '', name }: GrantedSubject): string => `${kind} ${namespace}/${name}`;

const isDone = (condition: ClusterCondition | undefined): boolean | undefined =>
  ({ True: true, False: false })[condition?.status ?? ''];

const STATED_CHECKS: Readonly<Record<string, string>> = {
  webhook: 'Its webhook asks Clusterpass about each pass.',
  keys: 'It verifies passes by the key set of Clusterpass.',
};
const unstated = (name: string): string =>
  'Its API server needs this file as --authentication-config, and does not say whether it has it. When kubectl auth ' +
  `whoami accepts a pass: clusterpass kubectl annotate cluster ${name} ${TOKEN_CHECKS_ANNOTATION}=keys`;

/** A cluster does not tell whether it has the file. An operator states it, or the cluster issues its own tokens. */
function trustOf(cluster: ApiObject, isReady: boolean | undefined): Pick<UsabilityStep, 'done' | 'note' | 'command'> {
  const { name = '', annotations = {} } = cluster.metadata;
  const credential = conditionOf(statusOf(cluster), 'CredentialUsable');
  if (annotations[COMPUTED_ANNOTATIONS.issuer] === undefined) {
    if (credential !== undefined)
      return { done: isDone(credential), note: `${credential.message}`, command: `clusterpass confirm ${name}` };
    const note = 'Its connector issues the tokens.';
    return { done: isReady, note, command: `clusterpass connector --cluster ${name} --config FILE` };
  }
  const note = STATED_CHECKS[annotations[TOKEN_CHECKS_ANNOTATION] ?? ''];
  const done = note === undefined ? undefined : true;
  return { done, note: note ?? unstated(name), command: `clusterpass trust ${name} > authentication.yaml` };
}
