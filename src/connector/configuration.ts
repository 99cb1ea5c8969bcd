import type { TSchema } from 'typebox';
import { decodeBody } from '../api/codec/decode.ts';
import { bodySchema, type SchemaNode } from '../api/codec/shape.ts';
import { peopleNamespace } from '../api/connector.ts';
import type { BodyType } from '../api/kind.ts';
import type { ConnectorStatus } from '../api/kinds/connector.ts';

/** The file in which the owner of a cluster says what its connector may do, whatever Clusterpass orders. */

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
  /** Which objects are copied to Clusterpass, beside namespaces. A Pod needs its account. */
  readonly mirror: { readonly accounts: boolean; readonly pods: boolean };
  readonly allow: readonly Required<NonNullable<ConnectorStatus['allow']>[number]>[];
  readonly people: readonly { readonly group: string; readonly maxSeconds: number }[];
}

type Sent<T> = { readonly [K in keyof T]?: T[K] extends readonly (infer E)[] ? readonly Partial<E>[] : Partial<T[K]> };

/**
 * The rules of a file in YAML. Names of nothing that exists allow nothing.
 * @param ownNamespace of the connector
 * @throws Error whose message names a field that is wrong
 */
export function readRules(bytes: Uint8Array, ownNamespace: string): ConnectorRules {
  const body = { bytes, mediaType: 'application/yaml' };
  const { value } = decodeBody<Sent<ConnectorRules>>(body, CONFIGURATION, 'Strict');
  const { orders = true, revocable = true, mirror = {}, allow = [], people = [] } = value;
  for (const [at, { namespace = '' }] of allow.entries()) {
    const isOwn = namespace === ownNamespace;
    if (isOwn) throw new Error(`allow[${at}].namespace: a token of the connector could do all that it may`);
    const isOfPeople = namespace.startsWith(peopleNamespace(''));
    if (isOfPeople) throw new Error(`allow[${at}].namespace: people are allowed by their group`);
  }
  return {
    ...{ orders, revocable, mirror: { accounts: true, pods: true, ...mirror } },
    allow: allow.map((entry) => ({ namespace: '', accounts: [], maxSeconds: DEFAULT_SECONDS, ...entry })),
    people: people.map((entry) => ({ group: '', maxSeconds: DEFAULT_SECONDS, ...entry })),
  };
}
