import {
  type AccountOrder,
  type OrderClaims,
  type PersonOrder,
  peopleNamespace,
  personAccountName,
} from '../api/connector.ts';
import { isDns1123Subdomain } from '../api/names.ts';
import type { ConnectorRules } from './configuration.ts';

/** A token that the rules allow. */
export interface Task {
  readonly namespace: string;
  readonly account: string;
  readonly audiences: readonly string[];
  readonly seconds: number;
  /** The object that the request itself binds the token to. */
  readonly boundObjectRef?: object | undefined;
  /** Bind it to a Secret. */
  readonly isRevocable: boolean;
  /** The person that the account stands for. */
  readonly person?: string;
}

export interface Refusal {
  readonly reason: 'Forbidden';
  readonly message: string;
}

const forbidden = (whose: string, field: string): Refusal => ({
  reason: 'Forbidden',
  message: `the owner of the cluster does not allow its connector to issue tokens for ${whose} (${field})`,
});

export const isRefusal = (judgement: object): judgement is Refusal => 'reason' in judgement;

/**
 * What the owner of the cluster makes of an order. Its signature says who sent it, not that it is in form.
 * @throws Error for an order that is not
 */
export function judgeOrder({ allow, people, revocable }: ConnectorRules, order: OrderClaims): Task | Refusal {
  const { request, person } = order;
  const task = (asked: AccountOrder | PersonOrder, maxSeconds: number) => {
    const { audiences, expirationSeconds } = asked;
    if (!Number.isSafeInteger(expirationSeconds)) throw new Error('its expirationSeconds is not a number');
    return { audiences, seconds: Math.min(expirationSeconds, maxSeconds) };
  };
  const isRevocable = order.revocable === true && revocable;
  if (request !== undefined) {
    const { namespace, serviceAccount: account, boundObjectRef } = request;
    // It becomes a segment of a path.
    const isName = isDns1123Subdomain(account).length === 0;
    const isNamed = ({ accounts }: ConnectorRules['allow'][number]) =>
      accounts.includes(account) || accounts.includes('*');
    const rule = allow.find((each) => isName && each.namespace === namespace && isNamed(each));
    if (rule === undefined) return forbidden(`the service account ${namespace}/${account}`, 'allow');
    const isBound = boundObjectRef !== undefined;
    const bound = { boundObjectRef, isRevocable: isRevocable && !isBound };
    return { namespace, account, ...bound, ...task(request, rule.maxSeconds) };
  }
  if (person === undefined) throw new Error('it asks for nothing');
  const { name, group } = person;
  const rule = people.find((each) => each.group === group);
  if (rule === undefined) return forbidden(`people of the group ${JSON.stringify(group)}`, 'people');
  const account = personAccountName(name);
  return { namespace: peopleNamespace(group), account, person: name, isRevocable, ...task(person, rule.maxSeconds) };
}
