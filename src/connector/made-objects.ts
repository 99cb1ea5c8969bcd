import { type OrderAnswer, type OrderClaims, passSecretName } from '../api/connector.ts';
import type { ApiObject } from '../api/kind.ts';
import { isStatus, StatusError, statusFrom } from '../client/errors.ts';
import { SharedCall } from '../lib/shared-call.ts';
import type { Task } from './judge-order.ts';
import type { ConnectorParts } from './parts.ts';
import { type MadeRecord, type Records, unlessAbsent } from './records.ts';

/** The tokens, Secrets and accounts that a connector makes in its cluster, and their removal. */

type MadeParts = Pick<ConnectorParts, 'api' | 'timing' | 'log'> & { readonly records: Records };

/** The admission policy of the chart lets the connector create and delete no other Secrets. */
const SECRET_TYPE = 'clusterpass.dev/pass';
const LABELS = { 'app.kubernetes.io/managed-by': 'clusterpass-connector' };
const DAY_MS = 86_400_000;
/** The account of a person is removed when it was not used for a week. */
const UNUSED_DAYS = 7;
/** The clock of the API server may be behind. */
const SKEW_MS = 60_000;
/** A process that was killed may have sent a request that arrives after the sweep: then the Secret is there later. */
const LATE_MS = 120_000;

const inNamespace = (namespace: string, resource: string): string =>
  `/api/v1/namespaces/${encodeURIComponent(namespace)}/${resource}`;

/** Asks the API server for the token of an order that is claimed and allowed. What it refuses is the answer. */
export async function issueToken(
  { api, records, timing }: MadeParts,
  { jti: order, requester }: OrderClaims,
  { namespace, account, audiences, seconds, isRevocable, person, boundObjectRef }: Task,
  signal: AbortSignal,
): Promise<OrderAnswer> {
  const endsAt = timing.now() + seconds * 1000 + SKEW_MS;
  const create = async (resource: string, object: object): Promise<ApiObject> => {
    const options = { body: { apiVersion: 'v1', ...object }, signal, expects: 'object' } as const;
    return (await api.request<ApiObject>('POST', inNamespace(namespace, resource), options)).value;
  };
  const ensureAccount = async (): Promise<void> => {
    const key = `person.${namespace}.${account}`;
    // Written once a day.
    const until = (Math.ceil(endsAt / DAY_MS) + UNUSED_DAYS) * DAY_MS;
    if ((records.all.get(key)?.until ?? 0) < until) await records.put(key, { namespace, account, until });
    const metadata = { name: account, namespace, labels: LABELS, annotations: { 'clusterpass.dev/person': person } };
    await create('serviceaccounts', { kind: 'ServiceAccount', metadata }).catch((error: unknown) => {
      if (!isStatus(error, 409)) throw error;
    });
  };
  const bindToSecret = async (): Promise<object> => {
    const since = timing.now();
    await records.put(order, { namespace, until: endsAt });
    const name = passSecretName(order);
    const annotations = { 'clusterpass.dev/order': order, 'clusterpass.dev/requester': requester.user };
    const metadata = { name, namespace, labels: LABELS, annotations };
    const { uid } = (await create('secrets', { kind: 'Secret', type: SECRET_TYPE, metadata })).metadata;
    if (timing.now() - since < LATE_MS) return { apiVersion: 'v1', kind: 'Secret', name, uid };
    // This process may have slept. Another connector may have removed the record, and would not remove the Secret.
    await api.request('DELETE', `${inNamespace(namespace, 'secrets')}/${name}`);
    throw new Error('the connector has not made the Secret of the token in time');
  };
  try {
    if (person !== undefined) await ensureAccount();
    const bound = isRevocable ? await bindToSecret() : boundObjectRef;
    const path = inNamespace(namespace, `serviceaccounts/${encodeURIComponent(account)}/token`);
    const spec = { audiences, expirationSeconds: seconds, boundObjectRef: bound };
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec };
    const { code, value } = await api.request<unknown>('POST', path, { body, signal, expects: 'unchecked' });
    return { order, status: code, body: value };
  } catch (error) {
    if (error instanceof StatusError) return { order, status: error.code, body: error.status };
    const { message } = error as Error;
    return { order, status: 503, body: { ...statusFrom(503, ''), reason: 'ServiceUnavailable', message } };
  }
}

/**
 * Removes what is not needed any more, by the records alone: Secrets of orders that have ended, which ends the tokens,
 * and accounts of people who have not used theirs. What fails is tried again by the next call.
 * @param isGone whether the order has ended: false while that is not known
 */
export function createSweep(
  { api, records, timing, log }: MadeParts,
  isGone: (order: string) => boolean,
): () => Promise<void> {
  const missingSince = new Map<string, number>();
  const remove = async (key: string, { namespace, account }: MadeRecord): Promise<void> => {
    const object = account === undefined ? `secrets/${passSecretName(key)}` : `serviceaccounts/${account}`;
    const removed = await api.request('DELETE', inNamespace(namespace, object)).catch(unlessAbsent);
    const now = timing.now();
    const since = missingSince.get(key) ?? now;
    missingSince.set(key, since);
    if (removed === undefined && now - since < LATE_MS) return;
    missingSince.delete(key);
    await records.put(key, null);
  };
  // Changes that arrive during a sweep share the next one.
  const sweep = new SharedCall(async () => {
    for (const [key, made] of records.all) {
      // A token ends by itself, also while Clusterpass cannot be reached.
      if (timing.now() < made.until && !(made.account === undefined && isGone(key))) continue;
      await remove(key, made).catch((error: Error) => log(`${key} cannot be removed: ${error.message}`));
    }
  });
  return () => sweep.call();
}
