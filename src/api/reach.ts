import { exactDuration } from './codec/go-text/human-duration.ts';

/** What callers reach in a cluster, in words. */
const ACTIONS = {
  /** Gets, lists or watches the Cluster object. */
  See: () => 'sees it',
  AccountPasses: ({ accounts }: Wording) => `passes of ${accounts}`,
  ReviewedPasses: ({ accounts }: Wording) => `after an approval, passes of ${accounts}`,
  /** Passes whose subject is the caller itself. */
  OwnPasses: () => 'passes as a person',
  AskForAccess: ({ where }: Wording) => `may ask for access${where}`,
  /** Decides about the requests of others for access or passes. */
  Approve: ({ where, names }: Wording) => `approves ${names || 'requests'}${where}`,
  ActAsUser: ({ names }: Wording) => `acts as ${names || 'any user'}`,
  ActAsGroup: ({ names }: Wording) => `acts as the group ${names || 'of its choice'}`,
  ActAsAccount: ({ accounts }: Wording) => `acts as ${accounts}`,
  /** Changes the Cluster object: its labels, address and CA. */
  Change: () => 'changes it',
  /** Writes roles or bindings. It takes further rights to grant what one does not hold. */
  Grant: ({ where, names }: Wording) => `writes ${names || 'roles and bindings'}${where}`,
} as const;

/** Parts of the words; `""` for all names, and for all namespaces. */
type Wording = Readonly<Record<'accounts' | 'names' | 'where', string>>;

export type ReachAction = keyof typeof ACTIONS;

/** One thing that a binding gives in a cluster. */
export interface Given {
  readonly action: ReachAction;
  /** Absent: all of them, or none if it is not about objects in namespaces. */
  readonly namespaces?: readonly string[];
  /** The objects to which it is restricted; absent: all. */
  readonly names?: readonly string[];
}

export interface GivenTerms {
  readonly gives?: readonly Given[];
  readonly agents?: string;
  readonly approval?: string;
  readonly maxPassSeconds?: number;
}

const isOfPasses = ({ action }: Given): boolean => action === 'AccountPasses' || action === 'ReviewedPasses';

/** Whether these are passes of an account; with the name `""`, of every account of the namespace. */
export const givesPassesOf = ({ namespace, name }: { namespace: string; name: string }, given: Given): boolean =>
  isOfPasses(given) && given.namespaces?.includes(namespace) !== false && given.names?.includes(name) !== false;

/** What a binding gives and on which terms, for people: `sees it`, `passes of ci/builder`. */
export function givesTexts({ gives = [], agents, approval = '', maxPassSeconds }: GivenTerms): string[] {
  const approvedBy = { Requester: ', each confirmed by the requester', Approver: ', each after an approval' }[approval];
  const terms = [
    ...(maxPassSeconds === undefined ? [] : [`passes of ${exactDuration(maxPassSeconds)} at most`]),
    ...(agents === undefined ? [] : [`agents too${approvedBy ?? ''}`]),
  ];
  return [...(isEverything(gives) ? ['everything'] : gives.map(givenText)), ...(gives.some(isOfPasses) ? terms : [])];
}

/** Whether no other binding could add anything. */
const isEverything = (gives: readonly Given[]): boolean =>
  Object.keys(ACTIONS).every(
    (action) =>
      action === 'ReviewedPasses' || gives.some((each) => each.action === action && !each.namespaces && !each.names),
  );

function givenText({ action, namespaces, names }: Given): string {
  const where = namespaces === undefined ? '' : ` in ${namespaces.join(', ')}`;
  const accounts =
    namespaces === undefined || names === undefined
      ? `${names?.join(', ') ?? 'every account'}${where || ' in every namespace'}`
      : namespaces.flatMap((namespace) => names.map((name) => `${namespace}/${name}`)).join(', ');
  // A newer server may know more of them.
  return ACTIONS[action]?.({ accounts, where, names: names?.join(', ') ?? '' }) ?? action;
}
