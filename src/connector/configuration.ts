import type { TSchema } from 'typebox';
import { decodeBody } from '../api/codec/decode.ts';
import { bodySchema, type SchemaNode } from '../api/codec/shape.ts';
import { peopleNamespace } from '../api/connector.ts';
import type { BodyType } from '../api/kind.ts';
import type { ConnectorStatus } from '../api/kinds/connector.ts';
import { isDns1123Label, isDns1123Subdomain } from '../api/names.ts';
import { checkEach, errorText, type FieldError, forbiddenField, invalidValue, required } from '../api/status.ts';

/** The file in which the owner of a cluster says what its connector may do, whatever Clusterpass orders. */

/** kube-apiserver grants no shorter lifetime. */
const LEAST_SECONDS = 600;
const MOST_SECONDS = 7 * 86_400;
const DEFAULT_SECONDS = 3_600;

/** A schema as TypeBox writes it, which takes 12 MB of memory. */
const struct = (goType: string, properties: Record<string, SchemaNode>): SchemaNode => ({
  ...{ type: 'object', goType, properties },
});
const list = (items: SchemaNode): SchemaNode => ({ type: 'array', items, maxItems: 1_000 });
const TEXT: SchemaNode = { type: 'string', goType: 'string', maxLength: 1_024 };
const FLAG: SchemaNode = { type: 'boolean' };
const SECONDS: SchemaNode = { type: 'integer' };

const SCHEMA = struct('ConnectorConfiguration', {
  ...{ kind: TEXT, apiVersion: TEXT, orders: FLAG, revocable: FLAG },
  mirror: struct('ConnectorMirror', { accounts: FLAG, pods: FLAG }),
  allow: list(struct('ConnectorAllowance', { namespace: TEXT, accounts: list(TEXT), maxSeconds: SECONDS })),
  people: list(struct('ConnectorPeople', { group: TEXT, maxSeconds: SECONDS })),
});
const CONFIGURATION: BodyType = {
  ...{ group: 'clusterpass.dev', version: 'v1alpha1', kind: 'ConnectorConfiguration', style: 'custom' },
  ...bodySchema(SCHEMA as TSchema),
};

export interface ConnectorRules {
  /** False: it mirrors and reports only. */
  readonly orders: boolean;
  /** Tokens are bound to Secrets, so that they can be revoked. */
  readonly revocable: boolean;
  /** Which objects are copied to Clusterpass, beside namespaces. */
  readonly mirror: { readonly accounts: boolean; readonly pods: boolean };
  readonly allow: readonly Required<NonNullable<ConnectorStatus['allow']>[number]>[];
  readonly people: readonly { readonly group: string; readonly maxSeconds: number }[];
}

type Sent<T> = { readonly [K in keyof T]?: T[K] extends readonly (infer E)[] ? readonly Partial<E>[] : Partial<T[K]> };

/** In force while the file cannot be used. */
export const NOTHING_ALLOWED: ConnectorRules = {
  ...{ orders: true, revocable: true, allow: [], people: [] },
  mirror: { accounts: false, pods: false },
};

/**
 * The rules of a file in YAML.
 * @param ownNamespace of the connector
 * @throws Error whose message names every field that is wrong
 */
export function readRules(bytes: Uint8Array, ownNamespace: string): ConnectorRules {
  const body = { bytes, mediaType: 'application/yaml' };
  const { value } = decodeBody<Sent<ConnectorRules>>(body, CONFIGURATION, 'Strict');
  const { orders = true, revocable = true, mirror = {}, allow = [], people = [] } = value;
  const rules = {
    ...{ orders, revocable, mirror: { accounts: true, pods: mirror.accounts ?? true, ...mirror } },
    allow: allow.map((entry) => ({ namespace: '', accounts: [], maxSeconds: DEFAULT_SECONDS, ...entry })),
    people: people.map((entry) => ({ group: '', maxSeconds: DEFAULT_SECONDS, ...entry })),
  };
  const namespaces = rules.allow.map(({ namespace }) => namespace);
  const groups = rules.people.map(({ group }) => group);
  const errors = [
    ...checkEach(rules.allow, ({ accounts, maxSeconds }, at) => [
      ...namespaceErrors(namespaces, at, ownNamespace),
      ...(accounts.length > 0 ? [] : [required(`allow[${at}].accounts`, 'names of service accounts, or "*" for all')]),
      ...accounts.flatMap((name, index) => nameErrors(isDns1123Subdomain, `allow[${at}].accounts[${index}]`, name)),
      ...secondsErrors(`allow[${at}]`, maxSeconds),
    ]),
    ...checkEach(rules.people, ({ group, maxSeconds }, at) => [
      // Its namespace has the group in its name.
      ...nameErrors((text) => isDns1123Label(peopleNamespace(text)), `people[${at}].group`, group),
      ...repetition(groups, at, `people[${at}].group`),
      ...secondsErrors(`people[${at}]`, maxSeconds),
    ]),
  ];
  if (rules.mirror.pods && !rules.mirror.accounts) {
    errors.push(forbiddenField('mirror.pods', 'a copy of a Pod needs that of its account'));
  }
  if (errors.length > 0) throw new Error(errors.map(errorText).join('; '));
  return rules;
}

function namespaceErrors(namespaces: readonly string[], at: number, ownNamespace: string): FieldError[] {
  const field = `allow[${at}].namespace`;
  const name = namespaces[at] ?? '';
  const errors = [...nameErrors(isDns1123Label, field, name), ...repetition(namespaces, at, field)];
  if (name === ownNamespace) errors.push(forbiddenField(field, 'a token of the connector could do all that it may'));
  if (name.startsWith(peopleNamespace(''))) errors.push(forbiddenField(field, 'people are allowed by their group'));
  return errors;
}

const nameErrors = (check: (name: string) => string[], field: string, name: string): FieldError[] =>
  name === '*' && field.includes('.accounts[') ? [] : check(name).map((why) => invalidValue(field, name, why));

const repetition = (values: readonly string[], at: number, field: string): FieldError[] =>
  values.indexOf(values[at] ?? '') < at ? [forbiddenField(field, 'is in the list already')] : [];

const secondsErrors = (entry: string, seconds: number): FieldError[] =>
  seconds >= LEAST_SECONDS && seconds <= MOST_SECONDS
    ? []
    : [invalidValue(`${entry}.maxSeconds`, seconds, `must be from ${LEAST_SECONDS} to ${MOST_SECONDS}`)];
