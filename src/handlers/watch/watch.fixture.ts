import type { ClusterRule } from '../../api/authorization.ts';
import { createCatalog } from '../../api/catalog.ts';
import type { Kind } from '../../api/kind.ts';
import { kindPrefix } from '../../api/object-key.ts';
import type { WatchSink } from '../../api/request.ts';
import type { SharedFrames } from '../../api/shared-frames.ts';
import type { ApiError } from '../../api/status.ts';
import { parseFieldSelector } from '../../objects/selectors/field-selector.ts';
import { parseLabelSelector } from '../../objects/selectors/label-selector.ts';
import { StoredObject } from '../../objects/stored-object.ts';
import { WatchCache } from '../../storage/watch-cache.ts';
import type { Representation } from '../representation.ts';
import { Broadcaster } from './broadcaster.ts';
import type { WatchView } from './replay.ts';
import { Watcher, type WatcherOptions } from './watcher.ts';

/** A stage for watches and a client that can be made to wait, for tests. Nothing else may import this. */

const catalog = createCatalog({ productName: 'orchestrator' });
export const NOTHING = (name: string): boolean => name === '';
export const EVERYTHING = (): boolean => true;

/** The client's end: takes what is written at once, or not until it is told to. */
export class Client implements WatchSink {
  taken = '';
  waiting: Buffer[] = [];
  reads = true;
  ending: 'open' | 'ended' | 'cut' = 'open';
  #drained = (): void => {};

  get pending(): number {
    return this.waiting.reduce((sum, { length }) => sum + length, 0);
  }
  write(frames: Uint8Array): boolean {
    this.waiting.push(Buffer.from(frames));
    if (this.reads) this.taken += Buffer.concat(this.waiting.splice(0)).toString();
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
  cut(): void {
    this.ending = 'cut';
  }
  /** Takes all there is, until there is no more. */
  read(): void {
    while (this.waiting.length > 0) {
      this.taken += Buffer.concat(this.waiting.splice(0)).toString();
      this.#drained();
    }
  }
  get events(): string[] {
    const lines = [this.taken, ...this.waiting.map(String)].join('').split('\n').filter(Boolean);
    return lines.map((line) => {
      const { type, object } = JSON.parse(line);
      return type === 'ERROR'
        ? `ERROR ${object.code}`
        : `${type} ${object.metadata.name} ${object.metadata.resourceVersion}`;
    });
  }
}

/** A hub with caches of clusters and bindings, fed by hand, batch by batch. */
export class Stage {
  readonly broadcaster: Broadcaster;
  readonly cache = this.#cacheOf(catalog.clusters);
  readonly #bindings = this.#cacheOf(catalog.clusterRoleBindings);
  #rule: ClusterRule = ruleFor(EVERYTHING);
  readonly #rules: { revision: number; rule: ClusterRule }[] = [{ revision: 0, rule: this.#rule }];
  refusal: ApiError | undefined;
  live = true;
  /** Everything at once, unless a test has another idea. */
  later = (run: () => void): void => run();
  clock = (): number => 0;
  #revision = 0;

  constructor(bookmarkIntervalMs: number) {
    this.broadcaster = new Broadcaster({
      clusters: catalog.clusters,
      isPolicy: (kind) => kind === catalog.clusterRoleBindings,
      bookmarkIntervalMs,
      later: (run) => this.later(run),
      clock: () => this.clock(),
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
  /** A binding that lets the caller see only these. */
  allow(admits: (name: string) => boolean): void {
    this.#rule = ruleFor(admits);
    this.#rules.push({ revision: this.#revision + 1, rule: this.#rule });
    this.#change(this.#bindings, 'binding');
  }
  /** All changes made in between arrive together. */
  batch(changes: () => void): void {
    changes();
    this.broadcaster.onProgress(this.#revision);
  }

  watch(client: Client, options: Partial<WatcherOptions> = {}): Watcher {
    const base = {
      prefix: this.cache.prefix,
      namesAreUnique: true,
      labels: parseLabelSelector(''),
      fields: parseFieldSelector(''),
    };
    const representation: Representation = {
      kind: catalog.clusters,
      form: 'object',
      includeObject: 'Metadata',
      whole: undefined,
      now: () => 0,
    };
    let view: WatchView = { selection: { ...base, rule: this.#rule }, representation };
    return new Watcher({
      broadcaster: this.broadcaster,
      cache: this.cache,
      sink: client,
      caller: {
        as: () => ({ name: 'jane', uid: '', groups: [], extra: {} }),
        home: undefined,
        key: 'jane',
        expiresAt: undefined,
        dependsOn: [`${this.cache.prefix}home`],
        isLive: () => this.live,
      },
      currentView: () => {
        if (view.selection.rule !== this.#rule) view = { selection: { ...base, rule: this.#rule }, representation };
        return view;
      },
      turns: (from, upTo) => {
        const before = this.#rules.findLast(({ revision }) => revision <= from);
        const later = this.#rules.filter(({ revision }) => revision > from && revision <= upTo);
        return [{ revision: from, rule: before?.rule }, ...later].map(({ revision, rule }) => ({
          revision,
          selection: { ...base, rule },
        }));
      },
      groupIdOf: ({ selection }) => String(this.#rules.findIndex(({ rule }) => rule === selection.rule)),
      refused: () => this.refusal,
      bookmarks: false,
      timeoutMs: 3_600_000,
      now: () => 0,
      ...options,
    });
  }
}

let rules = 0;

const ruleFor = (admits: (name: string) => boolean): ClusterRule => ({
  fingerprint: `rule ${++rules}`,
  all: false,
  none: false,
  admits,
  candidates: undefined,
});
