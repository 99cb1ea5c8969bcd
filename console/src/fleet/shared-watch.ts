import {
  type Client,
  type Cluster,
  type ClusterEvent,
  type ClusterList,
  ConnectionError,
  isStatus,
  type UserInfo,
  type WatchOptions,
} from '../../../src/client/index.ts';
import { isLater, KnownClusters } from '../../../src/client/known-clusters.ts';
import { every } from '../../../src/lib/rounds.ts';
import { errorMessage } from '../error-message.ts';
import { EventQueue } from './event-queue.ts';

/** What tabs tell each other: clusters and the state of the connection, never a token. */
type Message =
  /** To the leader: send a snapshot. */
  | { readonly type: 'hello' }
  /** To the leader: reconnect now. */
  | { readonly type: 'retry' }
  /** From a new leader: wait for its snapshot. The last changes of the leader before may not have reached every tab. */
  | { readonly type: 'leader' }
  | { readonly type: 'alive' }
  /** For the tabs that wait for it. The changes that follow it on the channel are those since. */
  | { readonly type: 'snapshot'; readonly snapshot: Snapshot }
  | { readonly type: 'change'; readonly change: Change };

type Change =
  | { readonly type: 'event'; readonly event: ClusterEvent }
  | { readonly type: 'synced' }
  | { readonly type: 'state'; readonly state: State };

/** What the leader knows. */
interface Snapshot {
  readonly clusters: readonly Cluster[];
  readonly synced: boolean;
  readonly state: State;
}

type State =
  | { readonly kind: 'connecting' | 'connected' }
  /** `reason` is undefined if the user need not know. */
  | { readonly kind: 'interrupted'; readonly reason: string | undefined; readonly retryAt: number };

interface SharedWatchOptions {
  readonly client: Pick<Client, 'watchClusters'>;
  readonly user: UserInfo;
  /** Ends the delay before the next connection of the client. */
  readonly retryNow: () => void;
  /** Sends a request with the token of this tab, so that the session ends if the server rejects the token. */
  readonly checkSession: () => Promise<unknown>;
}

const ALIVE_MS = 20_000;
/** Browsers call timers of hidden pages once a minute. A leader that is silent for longer is frozen. */
const SILENCE_MS = 150_000;
const CHECK_MS = 60_000;
const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id';

/** Equal for tabs that see the same clusters: permissions depend on the user, not on the token. */
function nameFor({ username = '', uid = '', groups = [], extra = {} }: UserInfo): string {
  const attributes = Object.entries(extra).filter(([key]) => key !== CREDENTIAL_ID);
  return `clusterpass.fleet ${JSON.stringify([username, uid, [...groups].sort(), attributes.sort()])}`;
}

/**
 * One watch for all tabs of a user. A browser opens at most six HTTP/1.1 connections to a server, and a watch occupies
 * one for as long as it lasts. The tab that holds a Web Lock is the leader: it watches with its own token and
 * broadcasts every event. If it closes or its session ends, the next tab gets the lock and continues at the last event.
 */
export class SharedWatch {
  readonly #options: SharedWatchOptions;
  readonly #name: string;
  #channel: BroadcastChannel | undefined;

  constructor(options: SharedWatchOptions) {
    this.#options = options;
    this.#name = nameFor(options.user);
  }

  /** Like that of the client. Selectors are not supported. */
  readonly watchClusters = (options: WatchOptions = {}): AsyncGenerator<ClusterEvent> =>
    // Browsers have locks on secure origins only: https and localhost.
    'locks' in navigator ? this.#watch(options) : this.#options.client.watchClusters(options);

  retryNow(): void {
    this.#options.retryNow();
    this.#channel?.postMessage({ type: 'retry' } satisfies Message);
  }

  async *#watch(options: WatchOptions): AsyncGenerator<ClusterEvent> {
    const ended = new AbortController();
    const signal = AbortSignal.any([ended.signal, ...(options.signal === undefined ? [] : [options.signal])]);
    const tab = new Tab(this.#name, this.#options, options, signal);
    this.#channel = tab.channel;
    try {
      yield* tab.events;
    } finally {
      ended.abort();
      this.#channel = undefined;
    }
  }
}

class Tab {
  readonly channel: BroadcastChannel;
  readonly events = new EventQueue<ClusterEvent>();
  readonly #name: string;
  readonly #shared: SharedWatchOptions;
  readonly #options: WatchOptions;
  readonly #signal: AbortSignal;
  readonly #known = new KnownClusters();
  /** Defined while this tab is the leader; aborted when another tab takes the lock. */
  #leading: AbortController | undefined;
  /** Until the snapshot of the leader arrives. */
  #isWaiting = true;
  #synced = false;
  #state: State = { kind: 'connecting' };
  #heardAt = Date.now();

  constructor(name: string, shared: SharedWatchOptions, options: WatchOptions, signal: AbortSignal) {
    this.#name = name;
    this.#shared = shared;
    this.#options = options;
    this.#signal = signal;
    this.channel = new BroadcastChannel(name);
    this.channel.onmessage = ({ data }: MessageEvent<Message>) => this.#receive(data);
    const stopChecking = every(CHECK_MS, () => {
      if (this.#leading === undefined) void shared.checkSession().catch(() => undefined);
    });
    this.#send({ type: 'hello' });
    this.#takePart()
      .then(
        () => this.events.end(),
        (error: unknown) => this.events.fail(error),
      )
      .finally(() => {
        stopChecking();
        this.channel.close();
      });
  }

  #send(message: Message): void {
    this.channel.postMessage(message);
  }

  /** Leads whenever this tab has the lock. Ends with the signal, or with an error of the watch. */
  async #takePart(): Promise<void> {
    let steal = false;
    while (!this.#signal.aborted) {
      const waiting = new AbortController();
      const stopListening = every(ALIVE_MS, () => {
        if (this.#leading === undefined && Date.now() - this.#heardAt >= SILENCE_MS) waiting.abort();
      });
      // A lock cannot be taken over and waited for with a signal in one request.
      const how: LockOptions = steal ? { steal } : { signal: AbortSignal.any([this.#signal, waiting.signal]) };
      try {
        await navigator.locks.request(this.#name, how, () => this.#lead());
      } catch (error) {
        // The wait was ended, or another tab has taken the lock.
        if ((error as Error).name !== 'AbortError') throw error;
        this.#leading?.abort();
      } finally {
        stopListening();
      }
      steal = waiting.signal.aborted;
    }
  }

  async #lead(): Promise<void> {
    if (this.#signal.aborted) return;
    const leading = new AbortController();
    this.#leading = leading;
    this.#isWaiting = false;
    this.#send({ type: 'leader' });
    this.#sendSnapshot();
    const stopSending = every(ALIVE_MS, () => this.#send({ type: 'alive' }));
    const from = this.#synced ? listOf([...this.#known.clusters()]) : undefined;
    if (from === undefined) this.#known.beginInitialEvents();
    try {
      const events = this.#shared.client.watchClusters({
        ...(from === undefined ? {} : { from }),
        signal: AbortSignal.any([this.#signal, leading.signal]),
        onConnected: () => this.#publish({ type: 'state', state: { kind: 'connected' } }),
        onSynced: () => {
          for (const event of this.#known.endInitialEvents()) this.#publish({ type: 'event', event });
          this.#publish({ type: 'synced' });
        },
        onInterruption: (cause, delayMs) => {
          // A watch that timed out, or whose token expired, reconnects at once. The user need not know.
          const isUsual = cause === undefined || isStatus((cause as Error).cause, 401);
          const reason = isUsual ? undefined : errorMessage(cause);
          const retryAt = Date.now() + delayMs;
          this.#publish({ type: 'state', state: { kind: 'interrupted', reason, retryAt } });
        },
      });
      for await (const { type, cluster } of events) {
        const changes = type === 'DELETED' ? this.#known.delete(cluster) : this.#known.put(cluster);
        for (const event of changes) this.#publish({ type: 'event', event });
      }
    } finally {
      stopSending();
      if (this.#leading === leading) this.#leading = undefined;
    }
  }

  /** Broadcasts a change and makes it in this tab. */
  #publish(change: Change): void {
    this.#send({ type: 'change', change });
    if (change.type === 'event') this.events.push(change.event);
    else this.#apply(change);
  }

  #setSynced(): void {
    this.#synced = true;
    this.events.call(() => this.#options.onSynced?.());
  }

  #setState(state: State): void {
    this.#state = state;
    this.events.call(() => {
      if (state.kind === 'connected') this.#options.onConnected?.();
      if (state.kind !== 'interrupted') return;
      const cause = state.reason === undefined ? undefined : new ConnectionError(state.reason);
      this.#options.onInterruption?.(cause, Math.max(0, state.retryAt - Date.now()));
    });
  }

  #receive(message: Message): void {
    if (this.#leading !== undefined) {
      if (message.type === 'hello') this.#sendSnapshot();
      if (message.type === 'retry') this.#shared.retryNow();
      return;
    }
    if (message.type === 'hello' || message.type === 'retry') return;
    this.#heardAt = Date.now();
    if (message.type === 'leader') this.#isWaiting = true;
    else if (message.type === 'snapshot' && this.#isWaiting) this.#restore(message.snapshot);
    else if (message.type === 'change' && !this.#isWaiting) this.#apply(message.change);
  }

  #sendSnapshot(): void {
    const clusters = [...this.#known.clusters()];
    this.#send({ type: 'snapshot', snapshot: { clusters, synced: this.#synced, state: this.#state } });
  }

  #restore({ clusters, synced, state }: Snapshot): void {
    this.#isWaiting = false;
    this.#known.beginInitialEvents();
    for (const cluster of clusters) for (const event of this.#known.put(cluster)) this.events.push(event);
    for (const event of this.#known.endInitialEvents()) this.events.push(event);
    this.#setState(state);
    if (synced) this.#setSynced();
  }

  #apply(change: Change): void {
    if (change.type === 'synced') this.#setSynced();
    else if (change.type === 'state') this.#setState(change.state);
    else {
      const { type, cluster } = change.event;
      const events = type === 'DELETED' ? this.#known.delete(cluster) : this.#known.put(cluster);
      for (const event of events) this.events.push(event);
    }
  }
}

/** A list to continue from: nothing after the newest cluster has been seen. */
function listOf(items: Cluster[]): ClusterList | undefined {
  let resourceVersion = '';
  for (const { metadata } of items) {
    if (isLater(metadata.resourceVersion ?? '', resourceVersion)) resourceVersion = metadata.resourceVersion ?? '';
  }
  if (resourceVersion === '') return undefined;
  return { apiVersion: '', kind: '', metadata: { resourceVersion, continue: '' }, items };
}
