import { createCatalog } from '../../api/catalog.ts';
import { type Kind, kindPrefix } from '../../api/kind.ts';
import type { WatchSink } from '../../api/request.ts';
import type { SharedFrames } from '../../api/shared-frames.ts';
import type { ApiError } from '../../api/status.ts';
import type { VisibilityRule } from '../../api/visibility.ts';
import { MemoryAccount, type MemoryLimits } from '../../lib/memory-account.ts';
import { parseFieldSelector } from '../../objects/selectors/field-selector.ts';
import { parseLabelSelector } from '../../objects/selectors/label-selector.ts';
import { StoredObject } from '../../objects/stored-object.ts';
import { WatchCache } from '../../storage/watch-cache.ts';
import type { Representation } from '../representation.ts';
import type { Selection } from '../selection.ts';
import { Broadcaster } from './broadcaster.ts';
import type { WatchViews } from './watch-view.ts';
import { Watcher, type WatcherOptions } from './watcher.ts';

/** A broadcaster with caches that tests write to, and a client that can refuse to read. */

const catalog = createCatalog({ productName: 'orchestrator' });
export const NOTHING = (name: string): boolean => name === '';
export const EVERYTHING = (): boolean => true;

/** The client of a watch: reads what is written at once, or when `read` is called. */
export class Client implements WatchSink {
  received = '';
  unread: Buffer[] = [];
  reads = true;
  ending: 'open' | 'ended' | 'destroyed' | 'failed' = 'open';
  #drained = (): void => {};

  get pending(): number {
    return this.unread.reduce((sum, { length }) => sum + length, 0);
  }
  write(frames: Uint8Array): boolean {
    this.unread.push(Buffer.from(frames));
    if (this.reads) this.received += Buffer.concat(this.unread.splice(0)).toString();
    return this.reads;
  }
  writeShared({ bytes }: SharedFrames): boolean {
    return this.write(bytes);
  }

  writeOwn(pieces: readonly Uint8Array[]): boolean {
    return this.write(Buffer.concat(pieces));
  }
  onDrain(listener: () => void): void {
    this.#drained = listener;
  }
  onClose(): void {}
  end(): void {
    this.ending = 'ended';
  }
  destroy(): void {
    this.ending = 'destroyed';
  }
  fail(): void {
    this.ending = 'failed';
  }
  /** Reads until nothing is left. */
  read(): void {
    while (this.unread.length > 0) {
      this.received += Buffer.concat(this.unread.splice(0)).toString();
      this.#drained();
    }
  }
  get events(): string[] {
    const lines = [this.received, ...this.unread.map(String)].join('').split('\n').filter(Boolean);
    return lines.map((line) => {
      const { type, object } = JSON.parse(line);
      return type === 'ERROR'
        ? `ERROR ${object.code}`
        : `${type} ${object.metadata.name} ${object.metadata.resourceVersion}`;
    });
  }
}

/** A broadcaster with caches of clusters and bindings. */
export class WatchHarness {
  readonly broadcaster: Broadcaster;
  readonly cache = this.#cacheOf(catalog.clusters);
  readonly #bindings = this.#cacheOf(catalog.clusterRoleBindings);
  #rule: VisibilityRule = ruleFor(EVERYTHING);
  #ruleChangedAt = 0;
  refusal: ApiError | undefined;
  live = true;
  /** Runs everything at once; a subclass may hold it back. */
  defer = (run: () => void): void => run();
  now = (): number => 0;
  /** The time of day, and until when it changes no permission. */
  time = 0;
  steadyUntil = Number.POSITIVE_INFINITY;
  #revision = 0;

  readonly memory: MemoryAccount;

  constructor(bookmarkIntervalMs: number, memory: Partial<MemoryLimits> = {}) {
    this.memory = new MemoryAccount({ perFlow: AMPLE, total: AMPLE, ...memory }, (relieve) => this.defer(relieve));
    this.broadcaster = new Broadcaster({
      clusters: catalog.clusters,
      isPolicy: ({ before, after }) => (after ?? before)?.kind === catalog.clusterRoleBindings,
      bookmarkIntervalMs,
      memory: this.memory,
      defer: (run) => this.defer(run),
      now: () => this.now(),
      timeOfDay: () => this.time,
    });
  }

  #cacheOf(kind: Kind): WatchCache<StoredObject> {
    return new WatchCache<StoredObject>({
      prefix: kindPrefix(kind),
      project: (stored) => new StoredObject(kind, stored),
      indexLabels: false,
      windowSize: 10_000,
    });
  }

  #change(cache: WatchCache<StoredObject>, name: string, note = ''): void {
    const revision = ++this.#revision;
    const value = Buffer.from(
      JSON.stringify({ apiVersion: 'x', kind: 'x', metadata: { name, annotations: { note } } }),
    );
    const key = `${cache.prefix}${name}`;
    this.broadcaster.onEvent(cache.apply({ type: 'put', key, value, modRevision: revision, createRevision: revision }));
  }
  write = (name: string, note?: string): void => this.#change(this.cache, name, note);
  writeAll(names: readonly string[], note?: string): void {
    for (const name of names) this.write(name, note);
  }
  /** Writes a binding that lets the caller see only these clusters. */
  allow(admits: (name: string) => boolean): void {
    this.#rule = ruleFor(admits);
    this.#ruleChangedAt = this.#revision + 1;
    this.#change(this.#bindings, 'binding');
  }
  /** Time takes the permission to see clusters, without an event. */
  expireTo(admits: (name: string) => boolean): void {
    this.#rule = ruleFor(admits);
  }
  /** The events of these changes arrive together. */
  batch(changes: () => void): void {
    changes();
    this.broadcaster.onProgress(this.#revision);
  }

  readonly #selectionOf = (rule: VisibilityRule | undefined): Selection => ({
    prefix: this.cache.prefix,
    namesAreUnique: true,
    labels: parseLabelSelector(''),
    fields: parseFieldSelector(''),
    rule,
  });
  readonly views: WatchViews = {
    current: () => ({
      groupId: this.#rule.fingerprint,
      selection: this.#selectionOf(this.#rule),
      representation: REPRESENTATION,
    }),
    isSteady: (time) => time < this.steadyUntil,
  };

  watch(client: Client, options: Partial<WatcherOptions> = {}): Watcher {
    return new Watcher({
      broadcaster: this.broadcaster,
      cache: this.cache,
      sink: client,
      caller: {
        as: () => ({ name: 'jane', uid: '', groups: [], extra: {} }),
        home: undefined,
        key: 'jane',
        flow: 'jane',
        expiresAt: undefined,
        dependsOn: [`${this.cache.prefix}home`],
        isLive: () => this.live,
      },
      views: this.views,
      refusal: () => this.refusal,
      hasChangedSince: (revision) => revision < this.#ruleChangedAt,
      bookmarks: false,
      timeoutMs: 3_600_000,
      now: () => 0,
      ...options,
    });
  }
}

const REPRESENTATION: Representation = {
  kind: catalog.clusters,
  form: 'object',
  includeObject: 'Metadata',
  whole: undefined,
  clientAddress: '',
  now: () => 0,
};

const AMPLE = 1_000_000_000;
let rules = 0;

const ruleFor = (admits: (name: string) => boolean): VisibilityRule => ({
  fingerprint: `rule ${++rules}`,
  all: false,
  none: false,
  admits,
  candidates: undefined,
});
