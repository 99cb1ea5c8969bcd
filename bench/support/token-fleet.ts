import { createHash } from 'node:crypto';
import type { Caller, Fleet } from './fleet.ts';
import {
  account,
  accountObject,
  bindingObject,
  clusterIs,
  clusterName,
  clusterObject,
  type FleetObject,
  group,
  namespaceObject,
  otherBindings,
  roleObjects,
} from './objects.ts';

/**
 * A fleet whose teams request tokens: each cluster belongs to a team, and the callers of a team may get tokens of all
 * service accounts in its clusters, by bindings with cluster selectors.
 */
export interface TokenFleetSize {
  readonly clusters: number;
  /** Service accounts, spread evenly over the clusters. Those of the callers are not counted. */
  readonly accounts: number;
  readonly bindings: number;
}

export interface Account {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
}

/** A member of a team has a static token. An automation is a service account and has an issued token. */
export type TokenCaller = { readonly member: Caller } | { readonly automation: Account };

export interface AskedToken {
  readonly audience: string;
  readonly seconds: number;
}

/** One request of the mix: the caller asks for a token of the account. Both belong to the team. */
export interface MixedRequest {
  readonly caller: TokenCaller;
  readonly account: Account;
  readonly asked: AskedToken;
}

const TEAMS = 50;
const MEMBERS = 2;
const AUTOMATIONS = ['deploy', 'sync'];
const AUTOMATION_NAMESPACE = 'automation';
const NAMESPACES = ['ci', 'apps'];
const AUDIENCES = Array.from({ length: 40 }, (_, index) => `https://service-${index}.example`);
/** From ten minutes, the shortest lifetime of a token, to almost seven hours. */
const LIFETIMES = Array.from({ length: 40 }, (_, index) => 600 * (index + 1));

const teamName = (team: number): string => `team-${String(team).padStart(2, '0')}`;
const teamOf = (cluster: number): number => cluster % TEAMS;

/** By team. */
const CALLERS = Array.from({ length: TEAMS }, (_, team): TokenCaller[] => {
  const name = teamName(team);
  const members = Array.from({ length: MEMBERS }, (_, index) => `${name}-member-${index}`);
  const groups = [name, `${name}-on-call`];
  const home = { cluster: clusterName(team), namespace: AUTOMATION_NAMESPACE };
  return [
    ...members.map((member) => ({ member: { name: member, token: `token-of-${member}-0123456789`, groups } })),
    ...AUTOMATIONS.map((task) => ({ automation: { ...home, name: `${name}-${task}` } })),
  ];
});

function accountsOf({ clusters, accounts }: TokenFleetSize): (Account & { readonly team: number })[] {
  return Array.from({ length: accounts }, (_, index) => {
    const cluster = index % clusters;
    const number = Math.floor(index / clusters);
    const namespace = NAMESPACES[number % NAMESPACES.length] ?? '';
    return { team: teamOf(cluster), cluster: clusterName(cluster), namespace, name: `account-${number}` };
  });
}

export const tokenFleet = (size: TokenFleetSize): Fleet => ({
  callers: CALLERS.flat().flatMap((caller) => ('member' in caller ? [caller.member] : [])),
  objects: () => objectsOf(size),
});

function* objectsOf(size: TokenFleetSize): Generator<FleetObject> {
  if (size.clusters < TEAMS) throw new Error(`a token fleet has at least ${TEAMS} clusters, one for each team`);
  for (let index = 0; index < size.clusters; index++) {
    const name = clusterName(index);
    const env = ['dev', 'staging', 'prod'][index % 3] ?? '';
    const region = `r-${Math.floor(index / TEAMS) % 20}`;
    yield clusterObject(name, { team: teamName(teamOf(index)), env, region });
    for (const namespace of NAMESPACES) yield namespaceObject(name, namespace);
  }
  for (const { cluster, namespace, name } of accountsOf(size)) yield accountObject(cluster, namespace, name);
  yield* roleObjects();
  for (let team = 0; team < TEAMS; team++) yield* objectsOfTeam(team);
  yield* otherBindings(size.bindings - TEAMS * BINDINGS_OF_A_TEAM);
}

const BINDINGS_OF_A_TEAM = 5;

/** Members get tokens outside of production, those on call in production, automations in all clusters of the team. */
function objectsOfTeam(team: number): FleetObject[] {
  const name = teamName(team);
  const home = clusterName(team);
  const automations = AUTOMATIONS.map((task) => `${name}-${task}`);
  // Outside of its own cluster, the user name of a service account contains the cluster.
  const prefix = `system:cluster:${home}:serviceaccount:${AUTOMATION_NAMESPACE}:`;
  const abroad = automations.map((task) => `${prefix}${task}`);
  const atHome = automations.map((task) => account(AUTOMATION_NAMESPACE, task));
  return [
    namespaceObject(home, AUTOMATION_NAMESPACE),
    ...automations.map((task) => accountObject(home, AUTOMATION_NAMESPACE, task)),
    bindingObject(`${name}-viewers`, 'viewer', [group(name)], `team=${name}`),
    bindingObject(`${name}-members`, 'issuer', [group(name)], `team=${name},env in (dev,staging)`),
    bindingObject(`${name}-on-call`, 'issuer', [group(`${name}-on-call`)], `team=${name},env=prod`),
    bindingObject(`${name}-automation`, 'issuer', abroad, `team=${name}`),
    bindingObject(`${name}-automation-home`, 'issuer', atHome, clusterIs(home)),
  ];
}

/** A number that is the same in every run, and random for another text. */
const hashOf = (text: string): number => createHash('sha256').update(text).digest().readUInt32BE(0);

const pick = <T>(values: readonly T[], text: string): T => values[hashOf(text) % values.length] as T;

/**
 * Requests in a shuffled order that is the same in every run. Each account comes once in every lap over the accounts.
 * A lap shuffles the first half of the accounts and then the second, so between two requests for one account there are
 * at least half as many others as there are accounts, also when the list is sent again from the start.
 */
export function mixedRequests(size: TokenFleetSize, laps: number): MixedRequest[] {
  const accounts = accountsOf(size);
  return Array.from({ length: laps }, (_, lap) =>
    accounts
      .map(({ team, ...account }, index) => {
        const text = `${lap} ${index}`;
        const half = index < accounts.length / 2 ? 0 : 1;
        const asked = { audience: pick(AUDIENCES, `audience ${text}`), seconds: pick(LIFETIMES, `lifetime ${text}`) };
        const request = { caller: pick(CALLERS[team] ?? [], `caller ${text}`), account, asked };
        return { order: half * 2 ** 32 + hashOf(`order ${text}`), request };
      })
      .sort((one, other) => one.order - other.order)
      .map(({ request }) => request),
  ).flat();
}
