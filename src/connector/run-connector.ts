import { decodeJwt, decodeProtectedHeader, type JSONWebKeySet } from 'jose';
import { CONNECTOR_CONTRACT, connectorAudience, LOST_SECONDS, RENEW_SECONDS } from '../api/connector.ts';
import type { Connector } from '../api/kinds/connector.ts';
import { isStatus } from '../client/errors.ts';
import { reconnectMs } from '../lib/backoff.ts';
import { problemLog } from '../lib/problem-log.ts';
import { toTimestamp } from '../lib/utc-second.ts';
import { clusterIdentity } from '../sync/cluster-identity.ts';
import { mirrorCluster } from '../sync/mirror.ts';
import { readFindings } from './cluster-findings.ts';
import { whileLeading } from './leader.ts';
import { createOrders } from './orders.ts';
import type { ConnectorParts } from './parts.ts';
import { Records } from './records.ts';
import { createOrderVerifier } from './verify-order.ts';

/** Runs until the signal is aborted. Only the leader of several connectors of a cluster does anything. */
export const runConnector = (parts: ConnectorParts, signal: AbortSignal): Promise<void> =>
  whileLeading(parts, signal, (leading) => lead(parts, leading));

/** Rejects when Clusterpass no longer knows this connector: perhaps it can be registered again. */
async function lead(parts: ConnectorParts, signal: AbortSignal): Promise<void> {
  const { log, timing, api, cluster, productName, server, rules } = parts;
  const root = `/${productName}/${encodeURIComponent(cluster)}`;
  const begin = async () => {
    const audience = await ownAudience(parts);
    const id = await clusterIdentity(api, signal);
    const connector = await ensureRegistered(parts, id, signal);
    const records = new Records(api, parts.namespace);
    await records.read(signal);
    const verify = createOrderVerifier({
      ...{ audience, cluster: { uid: connector.spec?.clusterUID ?? '', id }, now: timing.now },
      readKeys: async () =>
        (await server.request<JSONWebKeySet>('GET', `${root}/openid/v1/jwks`, { expects: 'unchecked' })).value,
    });
    const path = `${root}/apis/clusterpass.dev/v1alpha1/tokenorders`;
    return { id, connector, orders: createOrders({ ...parts, records, path, verify }) };
  };
  const begun = await untilDone(parts, 'the start', signal, begin);
  if (begun === undefined) return;
  log(`leads for the cluster ${cluster}`);
  const { id, connector, orders } = begun;
  const copies = { ...parts, id, pods: rules.mirror.pods };
  await Promise.all([
    report(parts, connector, orders.lastAnswer, signal),
    repeat(parts, signal, orders.sweep),
    rules.orders ? untilDone(parts, 'the orders', signal, () => orders.run(signal)) : undefined,
    rules.mirror.accounts ? untilDone(parts, 'the copies', signal, () => mirrorCluster(copies, signal)) : undefined,
  ]);
}

/** The audience of the connector's own tokens says at which address Clusterpass signs. */
async function ownAudience({ token, cluster }: ConnectorParts): Promise<string> {
  const { aud = [] } = decodeJwt(await token());
  const [audience = '', second] = [aud].flat();
  const suffix = connectorAudience('', cluster);
  if (second === undefined && audience.endsWith(suffix)) return audience;
  throw new Error(
    `the audience of the connector's token is ${JSON.stringify(aud)}: it must be the base URL of Clusterpass, ` +
      `then ${suffix}`,
  );
}

/** The Connector at Clusterpass, which is registered first if Clusterpass does not know it. */
async function ensureRegistered(parts: ConnectorParts, id: string, signal: AbortSignal): Promise<Connector> {
  const find = async () =>
    (await parts.server.request<Connector>('GET', pathOf(parts), { expects: 'object', signal })).value;
  try {
    return await find();
  } catch (error) {
    if (!isStatus(error, 401)) throw error;
    await parts.register(id, signal);
    return find();
  }
}

const pathOf = ({ cluster }: ConnectorParts): string =>
  `/apis/clusterpass.dev/v1alpha1/connectors/${encodeURIComponent(cluster)}`;

/** Tries again until it is done; undefined when the signal is aborted before. */
async function untilDone<T>(parts: ConnectorParts, what: string, signal: AbortSignal, task: () => Promise<T>) {
  const { timing, log } = parts;
  const tell = problemLog(log, what);
  for (let failures = 1; !signal.aborted; failures++) {
    try {
      return await task();
    } catch (error) {
      if (!signal.aborted) tell(error);
      await timing.pause(reconnectMs(failures, timing.random), signal);
    }
  }
  return undefined;
}

async function repeat({ timing }: ConnectorParts, signal: AbortSignal, task: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await task();
    await timing.pause(RENEW_SECONDS * 1000, signal);
  }
}

/** Writes the status of the Connector at its interval. Rejects with the 401 of one that was deleted. */
async function report(
  parts: ConnectorParts,
  known: Connector,
  lastAnswer: () => number | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { api, server, timing, version, token } = parts;
  const { allow, people, revocable } = parts.rules;
  let { renewTime = '', connectedSince = '', keys = known.spec?.keys } = known.status ?? {};
  const tell = problemLog(parts.log, 'the report');
  await repeat(parts, signal, async () => {
    const { keys: found = '', ...findings } = await readFindings(api);
    const now = timing.now();
    if (!(Date.parse(renewTime) > now - LOST_SECONDS * 1000)) connectedSince = toTimestamp(now);
    try {
      // Keys that do not verify its token would make this report the last one.
      if (found.includes(JSON.stringify(decodeProtectedHeader(await token()).kid))) keys = found;
      const answeredAt = lastAnswer();
      const status = {
        ...{ version, contract: CONNECTOR_CONTRACT, renewTime: toTimestamp(now), connectedSince },
        ...{ ...findings, keys, revocable, allow, people: people.map(({ group }) => group) },
        ...(answeredAt === undefined ? {} : { lastOrderTime: toTimestamp(answeredAt) }),
      };
      const options = { body: { status }, contentType: 'application/merge-patch+json', signal };
      await server.request('PATCH', `${pathOf(parts)}/status`, options);
      renewTime = status.renewTime;
      tell();
    } catch (error) {
      if (isStatus(error, 401)) throw error;
      if (!signal.aborted) tell(error);
    }
  });
}
