import { type OrderClaims, peopleNamespace, personAccountName } from '../api/connector.ts';
import { isDns1123Subdomain } from '../api/names.ts';
import { memberOf } from '../lib/json.ts';
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
  readonly person?: string | undefined;
}

export interface Refusal {
  readonly reason: 'Forbidden' | 'Invalid';
  readonly message: string;
}

const forbidden = (whose: string, field: string): Refusal => ({
  reason: 'Forbidden',
  message: `the owner of the cluster does not allow its connector to issue tokens for ${whose} (${field})`,
});
const invalid = (message: string): Refusal => ({ reason: 'Invalid', message: `the order is not valid: ${message}` });
const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

export const isRefusal = (judgement: object): judgement is Refusal => 'reason' in judgement;

/** What the owner of the cluster makes of an order. Its signature says who sent it, not that it is in form. */
export function judgeOrder(rules: ConnectorRules, order: OrderClaims): Task | Refusal {
  const { requester, request, person, revocable } = order;
  const asked = request ?? person;
  if (!isText(memberOf(requester, 'user'))) return invalid('it does not say who asks');
  if (asked === undefined || (request !== undefined && person !== undefined)) {
    return invalid('it asks for one account or one person');
  }
  const { audiences, expirationSeconds } = asked;
  if (!Array.isArray(audiences) || !audiences.every(isText)) return invalid('audiences is not a list of texts');
  if (!Number.isSafeInteger(expirationSeconds)) return invalid('expirationSeconds is not a number');
  const found = request === undefined ? forPerson(rules, person) : forAccount(rules, request);
  if (isRefusal(found)) return found;
  const { maxSeconds, ...account } = found;
  const boundObjectRef = request?.boundObjectRef;
  const isRevocable = revocable === true && rules.revocable && boundObjectRef === undefined;
  return { ...account, audiences, seconds: Math.min(expirationSeconds, maxSeconds), boundObjectRef, isRevocable };
}

type Found = (Pick<Task, 'namespace' | 'account' | 'person'> & { readonly maxSeconds: number }) | Refusal;

function forAccount({ allow }: ConnectorRules, request: NonNullable<OrderClaims['request']>): Found {
  const { namespace, serviceAccount: account } = request;
  if (!isText(account) || isDns1123Subdomain(account).length > 0) return invalid('its service account has no name');
  const rule = allow.find((each) => each.namespace === namespace);
  const isAllowed = rule?.accounts.includes(account) || rule?.accounts.includes('*');
  if (rule === undefined || !isAllowed) return forbidden(`the service account ${namespace}/${account}`, 'allow');
  return { namespace, account, maxSeconds: rule.maxSeconds };
}

function forPerson({ people }: ConnectorRules, person: OrderClaims['person']): Found {
  const { name, group } = person ?? {};
  if (!isText(name) || !isText(group)) return invalid('its person has no name or no group');
  const rule = people.find((each) => each.group === group);
  if (rule === undefined) return forbidden(`people of the group ${JSON.stringify(group)}`, 'people');
  const { maxSeconds } = rule;
  return { namespace: peopleNamespace(group), account: personAccountName(name), person: name, maxSeconds };
}
