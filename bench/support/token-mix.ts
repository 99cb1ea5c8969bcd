import { writeFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { join } from 'node:path';
import { type CallTarget, call, expectEqual } from './client.ts';
import type { Fleet } from './fleet.ts';
import type { TokenSample } from './floor-process.ts';
import { tokenPath } from './objects.ts';
import { type FleetServer, makeFolder, startFleetServer } from './processes.ts';
import { type MixedRequest, mixedRequests, type TokenCaller, type TokenFleetSize, tokenFleet } from './token-fleet.ts';
import { credentialOf, tokenText, verifiedToken } from './tokens.ts';

export interface TokenMix {
  readonly server: FleetServer;
  readonly requests: { readonly file: string };
  /** Requests and verifies some of the tokens. */
  verifySample(target: CallTarget): Promise<readonly TokenSample[]>;
  /** Throws unless callers of one team are refused tokens of another. */
  expectRefusals(target: CallTarget): Promise<void>;
}

/** Texts for the driver at most. More requests than this are sent in the order of the first again. */
const TEXTS = 40_000;
/** Requests whose tokens are verified before the measurement. */
const SAMPLE = 100;
const AT_ONCE = 8;

/** Runs the tasks, `AT_ONCE` of them at a time. */
async function inParallel<T>(values: Iterable<T>, task: (value: T) => Promise<void>): Promise<void> {
  const queue = [...values].values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const value of queue) await task(value);
    }),
  );
}

/** The credential of each caller in the requests. */
async function credentialsOf(
  server: CallTarget,
  requests: readonly MixedRequest[],
): Promise<ReadonlyMap<TokenCaller, string>> {
  const credentials = new Map<TokenCaller, string>();
  await inParallel(new Set(requests.map(({ caller }) => caller)), async (caller) => {
    const token = 'member' in caller ? caller.member.token : await credentialOf(server, caller.automation);
    credentials.set(caller, token);
  });
  return credentials;
}

/** Starts a server with this fleet, and writes the requests of its callers to a file of the driver. */
export async function startTokenMix(
  size: TokenFleetSize,
  progress?: (line: string) => void,
  start: (fleet: Fleet) => Promise<FleetServer> = startFleetServer,
): Promise<TokenMix> {
  const begun = performance.now();
  const server = await start(tokenFleet(size));
  const requests = mixedRequests(size, Math.ceil(TEXTS / size.accounts)).slice(0, TEXTS);
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const target = { ...server, agent };
  const credentials = await credentialsOf(target, requests);
  const credential = (caller: TokenCaller): string => credentials.get(caller) ?? '';
  // One request of each of so many callers.
  const sample = [...new Map(requests.map((request) => [request.caller, request])).values()].slice(0, SAMPLE);
  const verifySample = async (from: CallTarget): Promise<TokenSample[]> => {
    const verified: TokenSample[] = [];
    await inParallel(sample, async ({ caller, account, asked }) => {
      verified.push(await verifiedToken(from, credential(caller), account, asked));
    });
    return verified;
  };
  const refusals = (from: CallTarget): Promise<void> => expectRefusals(from, requests, credential);
  await verifySample(target);
  await refusals(target);
  agent.destroy();
  const file = join(await makeFolder(), 'requests.json');
  const texts = requests.map(({ caller, account, asked }) => tokenText(credential(caller), account, asked));
  await writeFile(file, JSON.stringify(texts));
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  progress?.(`${size.accounts} accounts, ${credentials.size} callers: ready and verified after ${seconds} s`);
  return { server, requests: { file }, verifySample, expectRefusals: refusals };
}

/** A caller is allowed by the bindings of its team: for an account of another team it gets 403. */
async function expectRefusals(
  server: CallTarget,
  requests: readonly MixedRequest[],
  credential: (caller: TokenCaller) => string,
): Promise<void> {
  for (const kind of ['member', 'automation']) {
    const request = requests.find(({ caller }) => kind in caller);
    const other = requests.find(({ team }) => team !== request?.team);
    if (request === undefined || other === undefined) throw new Error(`the mix has no ${kind} of another team`);
    const { cluster, namespace, name } = other.account;
    const sent = { token: credential(request.caller), body: { spec: { audiences: [other.asked.audience] } } };
    const { code } = await call(server, 'POST', tokenPath(cluster, namespace, name), sent);
    expectEqual(`status for a ${kind} of another team`, code, 403);
  }
}
