import { setTimeout as delay } from 'node:timers/promises';
import { decodeJwt } from 'jose';
import { FLEET_BINDINGS, fleetBinding } from '../e2e/support/bindings.ts';
import { ASK, tokenPath } from '../e2e/support/objects.ts';
import { CLUSTERS } from '../e2e/support/paths.ts';
import { type CallOptions, type Server, tokenOf } from '../e2e/support/server.ts';
import { CALL_MS, type Follower, follow, LIST, type World } from './clients.ts';
import type { Shown } from './history-checker.ts';
import { CHAOS_USER } from './revocation-clients.ts';

/** How long a binding lasts at least, and how long after its end its permissions are tried. */
const LASTS_MS = 2_000;
const OBSERVE_MS = 3_000;
const PAUSE_MS = 200;

/** Bindings that end, one after the other, each for another user. All replicas are asked for what they grant. */
export async function endBindings(world: World, name: string, followMs: number): Promise<void> {
  for (let n = 0; world.running(); n++) {
    await endOne(world, `${name}-${n}`, followMs).catch(() => undefined);
    await delay(PAUSE_MS + world.pauseMs);
  }
}

async function endOne(world: World, user: string, followMs: number): Promise<void> {
  const { replicas } = world;
  const endsAt = Math.ceil(Date.now() / 1_000) * 1_000 + LASTS_MS;
  const fields = { expiresAt: new Date(endsAt).toISOString().replace('.000Z', 'Z') };
  const body = fleetBinding({ name: user, to: [user], role: 'cluster-admin', fields });
  const made = await pick(replicas).call('POST', FLEET_BINDINGS, { body, ...optionsOf() });
  if (made.code !== 201) return;
  const view = new EndingView(world, user, endsAt);
  const watching = watch(world, view, endsAt + followMs);
  const askAll = () => Promise.all(replicas.map((replica) => ask(world, replica, user, endsAt)));
  await askAll();
  // An overloaded machine may answer after the end.
  await delay(Math.max(0, endsAt - Date.now()));
  while (Date.now() < endsAt + OBSERVE_MS && world.running()) {
    await askAll();
    const path = `${FLEET_BINDINGS}?fieldSelector=metadata.name=${user}`;
    const left = await pick(replicas)
      .call('GET', path, optionsOf())
      .catch(() => undefined);
    if (left?.code === 200 && left.json.items.length === 0) view.deletedBy(Number(left.json.metadata.resourceVersion));
    await delay(PAUSE_MS);
  }
  await watching;
}

/** What only the binding allows. All replicas of a run have the clock of this process: no offset is allowed. */
async function ask({ checker, isClockRight }: World, replica: Server, user: string, endsAt: number): Promise<void> {
  const send = async (method: string, path: string, body?: object): Promise<void> => {
    const hasEnded = Date.now() >= endsAt;
    const answer = await replica.call(method, path, { body, ...optionsOf(user) }).catch(() => undefined);
    if (hasEnded && answer?.code === 403) checker.endedRefused();
    if (answer === undefined || answer.code >= 300) return;
    if (hasEnded && isClockRight())
      checker.problem('granted after the end', `${user} at ${replica.url}: ${method} ${path}`);
    if (method === 'POST') checker.endingPass(answer.json.status, decodeJwt(answer.json.status.token), endsAt);
  };
  await Promise.all([send('GET', `${CLUSTERS}/alpha`), send('POST', tokenPath(), ASK)]);
}

/** Lists and watches until nothing is visible any more. */
async function watch({ replicas, checker, isClockRight }: World, view: EndingView, giveUpAt: number): Promise<void> {
  let mustList = true;
  while (!view.isOver) {
    if (Date.now() > giveUpAt) return checker.problem('shown after the end', `${view.user} still watches`);
    const server = pick(replicas);
    try {
      if (mustList) {
        const hasEnded = Date.now() >= view.endsAt;
        const { code, json } = await server.call('GET', LIST, optionsOf(view.user));
        if (code !== 200) throw new Error(`${code}`);
        if (hasEnded && isClockRight() && json.items.length > 0)
          checker.problem('shown after the end', `${view.user} in a list`);
        view.listed(json);
        mustList = false;
      } else mustList = (await follow(server, view, () => view.isOver, optionsOf(view.user))) === 'gone';
    } catch {
      await delay(100);
    }
  }
}

/** The clusters that a user sees, by lists and watches. */
class EndingView implements Follower {
  readonly #world: World;
  readonly user: string;
  readonly endsAt: number;
  #visible = new Set<string>();
  position = 0;
  /** The binding was gone at this version. */
  #deletedBy = Number.POSITIVE_INFINITY;

  constructor(world: World, user: string, endsAt: number) {
    this.#world = world;
    this.user = user;
    this.endsAt = endsAt;
  }

  get isOver(): boolean {
    return Date.now() >= this.endsAt && this.#visible.size === 0;
  }

  listed(list: { metadata: { resourceVersion: string }; items: { metadata: { name: string } }[] }): void {
    if (this.#visible.size > 0 && list.items.length === 0) this.#world.checker.endFollowed();
    this.#visible = new Set(list.items.map(({ metadata }) => metadata.name));
    this.reached(Number(list.metadata.resourceVersion));
  }

  shown({ name, version }: Shown, type: string): void {
    if (type !== 'DELETED') {
      this.#visible.add(name);
      this.reached(version);
    } else if (this.#visible.delete(name) && this.#visible.size === 0) this.#world.checker.endFollowed();
  }

  /** The end of a permission is shown before any later version. */
  reached(version: number): void {
    this.position = Math.max(this.position, version);
    if (this.position <= this.#deletedBy || this.#visible.size === 0) return;
    const text = `${this.user} at ${this.position}, the binding was deleted by ${this.#deletedBy}`;
    this.#world.checker.problem('shown after the end', text);
    this.#visible.clear();
  }

  deletedBy(version: number): void {
    this.#deletedBy = Math.min(this.#deletedBy, version);
    this.reached(0);
  }
}

const pick = (replicas: readonly Server[]): Server => replicas[Math.floor(Math.random() * replicas.length)] as Server;

/** As the chaos user, or as one that it impersonates, who has no other permissions. */
const optionsOf = (user?: string): Pick<CallOptions, 'token' | 'headers' | 'signal'> => ({
  signal: AbortSignal.timeout(CALL_MS),
  token: tokenOf(CHAOS_USER),
  headers: user === undefined ? {} : { 'Impersonate-User': user },
});
