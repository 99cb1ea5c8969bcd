import { decodeJwt, decodeProtectedHeader, type JSONWebKeySet } from 'jose';
import { CONNECTOR_CONTRACT, connectorAudience, LOST_SECONDS, RENEW_SECONDS } from '../api/connector.ts';
import type { Connector } from '../api/kinds/connector.ts';
import { isStatus } from '../client/errors.ts';
import { reconnectMs, type Timing } from '../lib/backoff.ts';
import { problemLog } from '../lib/problem-log.ts';
import { toTimestamp } from '../lib/utc-second.ts';
import { readFindings } from './cluster-findings.ts';
import { whileLeading } from './leader.ts';
import { createSweep } from './made-objects.ts';
import { Orders } from './orders.ts';
import type { ConnectorParts } from './parts.ts';
import { Records } from './records.ts';
import { createOrderVerifier } from './verify-order.ts';

/** The audience of the connector's own tokens says at which address Clusterpass signs. Throws for another one. */
function baseUrlIn(token: string, cluster: string): string {
  const { aud = [] } = decodeJwt(token);
  const [audience = '', second] = [aud].flat();
  const suffix = connectorAudience('', cluster);
  if (second === undefined && audience.endsWith(suffix)) return audience.slice(0, -suffix.length);
  throw new Error(
    `the audience of the connector's token is ${JSON.stringify(aud)}: it must be the base URL of Clusterpass, ` +
      `then ${suffix}`,
  );
}

/** Runs until the signal is aborted. Only the leader of several connectors of a cluster does anything. */
export const runConnector = (parts: ConnectorParts, signal: AbortSignal): Promise<void> =>
  whileLeading(parts, signal, async (leading) => {
    while (!leading.aborted) {
      const unknown = new AbortController();
      const isKnown = AbortSignal.any([leading, unknown.signal]);
      await lead(parts, isKnown, () => unknown.abort());
    }
  });

/** @param onUnknown called when Clusterpass no longer knows this connector: perhaps it can be registered again */
async function lead(parts: ConnectorParts, signal: AbortSignal, onUnknown: () => void): Promise<void> {
  const { log, timing, api, cluster, productName, server } = parts;
  const begun = await untilDone(parts, 'the start', signal, async () => {
    const baseUrl = baseUrlIn(await parts.token(), cluster);
    const id = await parts.identity(signal);
    const connector = await ensureRegistered(parts, id, signal);
    const records = new Records(api, parts.namespace);
    await records.read(signal);
    return { id, connector, records, baseUrl };
  });
  if (begun === undefined) return;
  log(`leads for the cluster ${cluster}`);
  const { id, connector, records, baseUrl } = begun;
  const root = `/${productName}/${encodeURIComponent(cluster)}`;
  const orders = new Orders({
    ...{ ...parts, records },
    path: `${root}/apis/clusterpass.dev/v1alpha1/tokenorders`,
    verify: createOrderVerifier({
      issuer: `${baseUrl}/${productName}/${cluster}`,
      audience: connectorAudience(baseUrl, cluster),
      cluster: { name: cluster, uid: connector.spec?.clusterUID ?? '', id },
      readKeys: async () =>
        (await server.request<JSONWebKeySet>('GET', `${root}/openid/v1/jwks`, { expects: 'unchecked' })).value,
      now: timing.now,
    }),
    onChange: () => void sweep(),
  });
  const sweep = createSweep({ ...parts, records }, (order) => orders.isGone(order));
  await Promise.all([
    report({ ...parts, connector, orders, onUnknown }, signal),
    repeat(timing, signal, sweep),
    parts.rules().orders ? untilDone(parts, 'the orders', signal, () => orders.run(signal)) : undefined,
    untilDone(parts, 'the copies', signal, () => parts.mirror(id, signal)),
  ]);
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

async function repeat(timing: Timing, signal: AbortSignal, task: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await task();
    await timing.pause(RENEW_SECONDS * 1000, signal);
  }
}

type ReportParts = ConnectorParts & {
  readonly connector: Connector;
  readonly orders: Orders;
  readonly onUnknown: () => void;
};

/** Writes the status of the Connector at its interval. */
async function report(parts: ReportParts, signal: AbortSignal): Promise<void> {
  const { api, server, timing, version, rules, token, connector, orders, onUnknown } = parts;
  const { spec, status: before } = connector;
  let { connectedSince, keys = spec?.keys } = before ?? {};
  let reportedAt = Date.parse(before?.renewTime ?? '') || 0;
  const tell = problemLog(parts.log, 'the report');
  /** A token of an account was asked for without an audience, as kubelet does. Any other says nothing about them. */
  const readAudiences = async () => {
    const { aud = [], 'kubernetes.io': account } = decodeJwt((await parts.apiToken?.()) ?? '');
    return account === undefined ? null : [aud].flat();
  };
  await repeat(timing, signal, async () => {
    const { keys: found = '', ...findings } = await readFindings(api);
    const { allow, people, revocable } = rules();
    const now = timing.now();
    if (connectedSince === undefined || now > reportedAt + LOST_SECONDS * 1000) connectedSince = toTimestamp(now);
    try {
      // Keys that do not verify its token would make this report the last one.
      if (found.includes(JSON.stringify(decodeProtectedHeader(await token()).kid))) keys = found;
      const times = { renewTime: toTimestamp(now), connectedSince };
      const answered = orders.lastAnswer === undefined ? {} : { lastOrderTime: toTimestamp(orders.lastAnswer) };
      const rule = { revocable, people: people.map(({ group }) => group), allow };
      const about = { version, contract: CONNECTOR_CONTRACT, audiences: await readAudiences().catch(() => null) };
      const status = { ...about, ...times, ...answered, ...findings, ...rule, keys };
      const options = { body: { status }, contentType: 'application/merge-patch+json', signal };
      await server.request('PATCH', `${pathOf(parts)}/status`, options);
      reportedAt = now;
      tell();
    } catch (error) {
      if (!signal.aborted) tell(error);
      if (isStatus(error, 401)) onUnknown();
    }
  });
}
