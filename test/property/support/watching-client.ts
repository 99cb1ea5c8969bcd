import { expect } from 'vitest';
import type { ApiObject } from '../../../src/api/kind.ts';
import type { ApiCore } from './api-core.ts';
import type { Viewer } from './history.ts';
import { MemorySink, type Received, type WatchFrame } from './memory-sink.ts';
import type { Model } from './model.ts';

/** One watch request. */
interface Connection {
  /** With initial events, or after a revision up to which the client knows the state. */
  readonly start: 'initial' | { readonly after: number };
  /** True when the client resumes and keeps its state. */
  readonly resumed: boolean;
  readonly sink: MemorySink;
  readonly received: Received[];
  /** True when the client never stalled. */
  neverStalled: boolean;
  readonly openedAt: number;
}

const versionOf = ({ metadata }: { metadata: ApiObject['metadata'] }): number => Number(metadata.resourceVersion);

const isEndOfInitial = ({ type, object }: WatchFrame): boolean =>
  type === 'BOOKMARK' && object.metadata.annotations?.['k8s.io/initial-events-end'] === 'true';

/**
 * Watches as a client-go reflector does: it keeps the state, resumes from the last resourceVersion, and starts over
 * when that has expired. At the end its state must be exactly what its caller may see.
 */
export class WatchingClient {
  readonly #core: ApiCore;
  readonly #viewer: Viewer;
  readonly #bookmarks: boolean;
  readonly #connections: Connection[] = [];

  constructor(core: ApiCore, viewer: Viewer, bookmarks: boolean) {
    this.#core = core;
    this.#viewer = viewer;
    this.#bookmarks = bookmarks;
  }

  get #last(): Connection | undefined {
    return this.#connections.at(-1);
  }

  get isOpen(): boolean {
    return this.#last?.sink.ending === 'open';
  }

  async open(start: Connection['start'], stalled: boolean, resumed = false): Promise<void> {
    const { catalog, reader, broadcaster } = this.#core;
    const { caller, selector, alwaysPublic } = this.#viewer;
    const response = await this.#core.request({
      caller,
      verb: 'watch',
      kind: catalog.clusters,
      alwaysPublic,
      query: {
        ...selector.query,
        watch: 'true',
        allowWatchBookmarks: String(this.#bookmarks),
        ...(start === 'initial'
          ? { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' }
          : { resourceVersion: String(start.after) }),
      },
    });
    if (response.type !== 'watch') throw new Error(`unexpected response: ${response.type}`);
    const received: Received[] = [];
    const newest = (): number =>
      Math.max(reader.revision, ...catalog.kinds.map((k) => reader.cache(k).lastEventRevision));
    const sink = new MemorySink(
      () => ({ broadcast: broadcaster.revision, newest: newest() }),
      (each) => received.push(each),
    );
    sink.stalled = stalled;
    this.#connections.push({ start, resumed, sink, received, neverStalled: !stalled, openedAt: broadcaster.revision });
    response.start(sink);
  }

  stall(): void {
    if (this.#last === undefined || !this.isOpen) return;
    this.#last.sink.stalled = true;
    this.#last.neverStalled = false;
  }

  drain(): void {
    this.#last?.sink.drain();
  }

  disconnect(): void {
    this.#last?.sink.disconnect();
  }

  /** Reconnects until a watch is open: the first one may end with 410. */
  async reconnect(): Promise<void> {
    for (let attempt = 1; !this.isOpen; attempt++) {
      expect(attempt).toBeLessThanOrEqual(2);
      const after = this.#resumeAfter();
      if (after === undefined) await this.open('initial', false);
      else await this.open({ after }, false, true);
    }
  }

  /** Undefined when the client has no complete state, or its revision has expired. */
  #resumeAfter(): number | undefined {
    let after: number | undefined;
    for (const { start, received } of this.#connections) {
      after = start === 'initial' ? undefined : start.after;
      let complete = start !== 'initial';
      for (const { frame } of received) {
        if (frame.type === 'ERROR') {
          after = undefined;
          complete = false;
          continue;
        }
        complete ||= isEndOfInitial(frame);
        if (complete) after = versionOf(frame.object);
      }
    }
    return after;
  }

  verify(model: Model): void {
    for (const connection of this.#connections) {
      for (const received of connection.received) this.#verifyAllowed(model, received);
      const until = this.#unchangedUntil(model, connection);
      if (until !== undefined) this.#verifyExact(model, connection, until);
    }
    const { caller, selector } = this.#viewer;
    const visible = model.visible(caller, 'watch', selector, model.last, model.last);
    expect(this.#known(model)).toEqual(new Map(visible.map((cluster) => [cluster.metadata.name, versionOf(cluster)])));
  }

  /** The state of the client: names and versions. */
  #known(model: Model): Map<string, number> {
    const { caller, selector } = this.#viewer;
    let known = new Map<string, number>();
    for (const { start, resumed, received } of this.#connections) {
      if (start === 'initial') known = new Map();
      else if (!resumed) {
        const listed = model.visible(caller, 'watch', selector, start.after, start.after);
        known = new Map(listed.map((cluster) => [cluster.metadata.name ?? '', versionOf(cluster)]));
      }
      for (const { frame } of received) {
        if (frame.type === 'ADDED' || frame.type === 'MODIFIED') {
          known.set(frame.object.metadata.name ?? '', versionOf(frame.object));
        } else if (frame.type === 'DELETED') {
          known.delete(frame.object.metadata.name ?? '');
        }
      }
    }
    return known;
  }

  /** A frame shows only objects and fields that the caller may see at that time. */
  #verifyAllowed(model: Model, { frame, broadcast, newest }: Received): void {
    if (frame.type === 'ERROR') {
      expect(frame.object).toMatchObject({ code: 410, reason: 'Expired' });
      return;
    }
    if (frame.type === 'BOOKMARK') {
      expect(Object.keys(frame.object).sort()).toEqual(['apiVersion', 'kind', 'metadata']);
      return;
    }
    const { object } = frame;
    if (frame.type === 'DELETED' && object.metadata.uid === undefined) {
      expect(Object.keys(object.metadata).sort()).toEqual(['name', 'resourceVersion']);
      expect(Object.keys(object).sort()).toEqual(['apiVersion', 'kind', 'metadata']);
      return;
    }
    const version = versionOf(object);
    const revisions = version > broadcast ? [version] : range(Math.max(broadcast, model.first), newest);
    const { caller, alwaysPublic } = this.#viewer;
    const allowed = revisions.filter((revision) => model.may(caller, 'watch', object, revision));
    expect(allowed, `${JSON.stringify(frame)} at ${revisions} to ${caller.key}`).not.toEqual([]);
    const shown = allowed.flatMap((revision) => {
      const stored = contentOf(model, frame, revision);
      if (stored === undefined) return [];
      return !alwaysPublic && model.may(caller, 'update', stored, revision)
        ? [stored]
        : [this.#core.publicView(stored)];
    });
    expect(shown).toContainEqual(object);
  }

  /**
   * The last revision up to which the caller's permissions were the same as at the start, for a client that never
   * stalled; undefined when there is none. Later events depend on how changes were batched.
   */
  #unchangedUntil(model: Model, { start, neverStalled, openedAt, sink }: Connection): number | undefined {
    if (!neverStalled || sink.frames.some(({ type }) => type === 'ERROR')) return undefined;
    const from = start === 'initial' ? openedAt : start.after;
    const rules = this.#permissions(model, from);
    const changed = range(from, model.last).find((revision) => this.#permissions(model, revision) !== rules);
    if (changed === undefined) return model.last;
    // Events from before the watch was opened are filtered by the rules at that time.
    return changed > openedAt ? changed - 1 : undefined;
  }

  /** What the caller may watch of every version of every cluster, as text. */
  #permissions(model: Model, rulesOf: number): string {
    const computed = model.derived;
    const key = `${model.rulesSince(rulesOf)} ${this.#viewer.caller.key}`;
    const text =
      computed.get(key) ??
      model.changes
        .flatMap(({ key: where, after }) => (after !== undefined && model.isCluster(where) ? [after] : []))
        .map((cluster) => (model.may(this.#viewer.caller, 'watch', cluster, rulesOf) ? '1' : '0'))
        .join('');
    computed.set(key, text);
    return text;
  }

  /** Each event once, in order, none missing, and each of the right type. */
  #verifyExact(model: Model, { start, received, openedAt, sink }: Connection, until: number): void {
    const { caller, selector } = this.#viewer;
    const from = start === 'initial' ? openedAt : start.after;
    const sees = (cluster: ApiObject | undefined): boolean =>
      cluster !== undefined && selector.matches(cluster) && model.may(caller, 'watch', cluster, from);
    const initial = start === 'initial' ? model.visible(caller, 'watch', selector, from, from) : [];
    const expected = initial.map((cluster) => `ADDED ${cluster.metadata.name} ${versionOf(cluster)}`);
    for (const { revision, key, before, after } of model.changes) {
      if (revision <= from || revision > until || !model.isCluster(key)) continue;
      const name = (after ?? before)?.metadata.name;
      if (sees(after)) expected.push(`${sees(before) ? 'MODIFIED' : 'ADDED'} ${name} ${revision}`);
      else if (sees(before)) expected.push(`DELETED ${name} ${revision}`);
    }
    const got = received
      .filter(({ frame }) => frame.type !== 'BOOKMARK')
      .map(
        ({ frame: { type, object } }) =>
          `${type} ${(object as ApiObject).metadata.name} ${versionOf(object as ApiObject)}`,
      );
    const compared = until === model.last ? got : got.slice(0, expected.length);
    // A client that disconnected has not received the last events.
    expect(compared).toEqual(sink.ending === 'disconnected' ? expected.slice(0, compared.length) : expected);
    exact.count += expected.length;
  }
}

/** The number of events compared one by one: a property that compares none proves nothing. */
export const exact = { count: 0 };

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index);

/** The stored object that the frame should show. A deletion shows the last content with its own version. */
function contentOf(model: Model, { type, object }: WatchFrame, at: number): ApiObject | undefined {
  const version = versionOf(object as ApiObject);
  const { uid } = (object as ApiObject).metadata;
  const before = model.changes.filter(({ after, revision }) => after?.metadata.uid === uid && revision <= at);
  if (type !== 'DELETED') return before.find(({ revision }) => revision === version)?.after;
  const last = before.findLast(({ revision }) => revision < version)?.after;
  return last && { ...last, metadata: { ...last.metadata, resourceVersion: String(version) } };
}
