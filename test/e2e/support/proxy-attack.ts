import { Agent } from 'node:https';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type AuditEvent, eventsOf, readAudit } from './audit.ts';
import type { ForeignProxy, ProxyLine } from './foreign-proxy.ts';
import { refusedRequests, splitRequests } from './hostile-wire.ts';
import { CLUSTERS } from './paths.ts';
import { ask, type ProxyAnswer, sendBytes } from './proxy-clients.ts';
import { type Server, tokenOf } from './server.ts';

/**
 * mallory sends the hostile corpus through a proxy while anna sends requests that mallory never sends. Then the
 * responses of both clients, the log of the proxy and the audit log of the server are compared.
 */

const TOKEN_PATH = '/orchestrator/prod-eu-1/api/v1/namespaces/ci/serviceaccounts/builder/token';
/** Before the hostile request, for proxies that give the first request of a client a separate connection. */
export const PLAIN_REQUEST = `GET ${CLUSTERS}/first HTTP/1.1\r\nHost: localhost\r\n\r\n`;

export interface AttackOptions {
  /** Sent by mallory before each hostile request; each is sent when the response to the one before has come. */
  readonly opening?: readonly string[];
  /** One request of the corpus by its name, instead of all. */
  readonly only?: string;
}

export interface AttackOutcome {
  /** The contradictions, in sentences. */
  readonly problems: readonly string[];
  /** How many requests the server has seen. */
  readonly served: number;
}

interface Witness {
  readonly innocent: readonly ProxyAnswer[];
  readonly hostile: readonly { name: string; port: number; answers: readonly ProxyAnswer[] }[];
  readonly lines: readonly ProxyLine[];
  readonly events: readonly AuditEvent[];
}

/** The corpus. After each request comes one that makes the proxy close the connection. */
function corpus(): readonly (readonly [name: string, bytes: string])[] {
  const head = `Host: localhost\r\nAuthorization: Bearer ${tokenOf('mallory')}\r\n`;
  const get = (name: string, more = ''): string => `GET ${CLUSTERS}/${name} HTTP/1.1\r\n${head}${more}\r\n`;
  const aim = { get: `${CLUSTERS}/hostile`, post: TOKEN_PATH, head };
  return [
    ...refusedRequests(aim).map(([name, , bytes]) => [name, bytes] as const),
    ...splitRequests(aim, get('smuggled')).map(({ name, bytes }) => [name, bytes] as const),
  ].map(([name, bytes]) => [name, `${bytes}${get('last', 'Connection: close\r\n')}`]);
}

export async function attack(
  server: Server,
  proxy: ForeignProxy,
  { opening = [], only }: AttackOptions = {},
): Promise<AttackOutcome> {
  const auditLog = join(server.dataDir, 'audit', 'audit.log');
  /** Waits until the events of answers so far are written: the audit log has them in order. Returns the last event. */
  const written = async (): Promise<AuditEvent> => {
    const { headers } = await server.call('GET', '/version');
    const [last] = await eventsOf(auditLog, headers.get('audit-id'));
    return last;
  };
  // By the time at which a request came: the end of one that a client has left is written later.
  const { requestReceivedTimestamp: begun } = await written();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const innocent: ProxyAnswer[] = [];
  const askInnocently = async (): Promise<void> => {
    const headers = { Authorization: `Bearer ${tokenOf('anna')}`, Host: 'localhost' };
    innocent.push(await ask(proxy.port, { path: `${CLUSTERS}/innocent-${innocent.length}`, headers, agent }));
  };
  const hostile: Witness['hostile'][number][] = [];
  await askInnocently();
  for (const [name, bytes] of corpus().filter(([one]) => only === undefined || one === only)) {
    const [outcome] = await Promise.all([sendBytes(proxy.port, [...opening, bytes]), askInnocently()]);
    hostile.push({ name, ...outcome });
    await askInnocently();
  }
  agent.destroy();

  const { auditID: marker } = await written();
  const events = (await readAudit(auditLog)).filter(
    ({ auditID, requestReceivedTimestamp, requestURI }) =>
      requestReceivedTimestamp > begun && auditID !== marker && requestURI !== '/readyz',
  );
  // The proxy writes its log after the response.
  const last = innocent.at(-1)?.port;
  const linesOf = async (port: number | undefined): Promise<number> =>
    (await proxy.log()).filter(({ clientPort }) => clientPort === port).length;
  await expect.poll(() => linesOf(last)).toBe(innocent.filter(({ port }) => port === last).length);
  const witness = { innocent, hostile, lines: await proxy.log(), events };
  return { problems: [...misled(witness), ...mixedUp(witness), ...unknown(witness)], served: events.length };
}

/** Responses to anna that do not belong to her request. */
const misled = ({ innocent }: Witness): string[] =>
  innocent.flatMap(({ code, text }, i) => {
    const expected = `\\"innocent-${i}\\" is forbidden: User \\"anna\\"`;
    return code === 403 && text.includes(expected) ? [] : [`innocent-${i} got ${code} ${text}`];
  });

/** Responses that the proxy sent to another client, and clients with more or fewer responses than requests. */
function mixedUp({ innocent, hostile, lines }: Witness): string[] {
  const problems: string[] = [];
  const clientOf = new Map(lines.map(({ auditId, clientPort }) => [auditId, clientPort]));
  const answers = [...innocent, ...hostile.flatMap((one) => one.answers)];
  for (const { port, auditId } of answers) {
    if (auditId !== undefined && clientOf.get(auditId) !== port) {
      problems.push(`${port} got the answer ${auditId}, which the proxy gave to ${clientOf.get(auditId)}`);
    }
  }
  for (const { name, port } of hostile) {
    const got = answers.filter((answer) => answer.port === port).length;
    const had = lines.filter(({ clientPort }) => clientPort === port).length;
    if (got !== had) problems.push(`${name}: ${got} answers to ${had} requests`);
  }
  return problems;
}

/** Requests that the server got and the proxy did not send, or with another path or caller. */
function unknown({ innocent, lines, events }: Witness): string[] {
  const problems: string[] = [];
  const lineOf = new Map(lines.map((line) => [line.auditId, line]));
  for (const { auditID, requestURI, user } of events) {
    const line = lineOf.get(auditID);
    if (line === undefined) problems.push(`the proxy does not know of ${auditID} ${requestURI}`);
    // The proxy logs a decoded path. Where there is nothing to decode, both logs must have the same path.
    else if (/^[\w./-]+$/.test(requestURI) && line.path !== requestURI) {
      problems.push(`${auditID} is ${line.path} to the proxy and ${requestURI} to the server`);
    }
    if ((user.username === 'anna') !== /\/innocent-\d+$/.test(requestURI)) {
      problems.push(`${requestURI} by ${user.username}`);
    }
  }
  const asked = events.filter(({ user }) => user.username === 'anna').length;
  if (asked !== innocent.length) problems.push(`anna asked ${innocent.length} times, the server says ${asked}`);
  return problems;
}
