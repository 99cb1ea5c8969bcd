import { expect } from 'vitest';
import type { ApiObject } from '../../../src/api/kind.ts';
import type { Looking } from './history.ts';
import type { House } from './house.ts';
import type { Model } from './model.ts';
import { MemorySink, type Received, type WatchFrame } from './watch-client.ts';

/** One stream from its beginning to its end. */
interface Connection {
  /** From a state of its own (`initial`), or after a revision up to which the client knows everything. */
  readonly start: 'initial' | { readonly after: number };
  /** True when the client had been watching before and keeps what it knows. */
  readonly resumed: boolean;
  readonly sink: MemorySink;
  readonly received: Received[];
  /** True when the client always took at once what was sent. */
  quick: boolean;
  readonly openedAt: number;
}

const versionOf = ({ metadata }: { metadata: ApiObject['metadata'] }): number => Number(metadata.resourceVersion);

const isEndOfInitial = ({ type, object }: WatchFrame): boolean =>
  type === 'BOOKMARK' && object.metadata.annotations?.['k8s.io/initial-events-end'] === 'true';

/**
 * Watches as a careful client does: keeps what it was told, comes back with the last version it saw, and
 * starts over when that is too old. At the end it must know exactly what its caller may see.
 */
export class Onlooker {
  readonly #house: House;
  readonly #looking: Looking;
  readonly #bookmarks: boolean;
  readonly #connections: Connection[] = [];

  constructor(house: House, looking: Looking, bookmarks: boolean) {
    this.#house = house;
    this.#looking = looking;
    this.#bookmarks = bookmarks;
  }

  get #last(): Connection | undefined {
    return this.#connections.at(-1);
  }

  get isOpen(): boolean {
    return this.#last?.sink.ending === 'open';
  }

  async open(start: Connection['start'], stalled: boolean, resumed = false): Promise<void> {
    const { catalog, reader, broadcaster } = this.#house;
    const { caller, selector, alwaysPublic } = this.#looking;
    const answer = await this.#house.ask({
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
    if (answer.type !== 'watch') throw new Error(`a watch is answered with a ${answer.type}`);
    const received: Received[] = [];
    const newest = (): number =>
      Math.max(reader.revision, ...catalog.kinds.map((k) => reader.cache(k).lastEventRevision));
    const sink = new MemorySink(
      () => ({ handedOut: broadcaster.revision, newest: newest() }),
      (each) => received.push(each),
    );
    sink.stalled = stalled;
    this.#connections.push({ start, resumed, sink, received, quick: !stalled, openedAt: broadcaster.revision });
    answer.start(sink);
  }

  stall(): void {
    if (this.#last === undefined || !this.isOpen) return;
    this.#last.sink.stalled = true;
    this.#last.quick = false;
  }

  drain(): void {
    this.#last?.sink.drain();
  }

  leave(): void {
    this.#last?.sink.leave();
  }

  /** Until a stream stands: the first one may only tell that the client has to start over. */
  async comeBack(): Promise<void> {
    for (let attempt = 1; !this.isOpen; attempt++) {
      expect(attempt).toBeLessThanOrEqual(2);
      const after = this.#resumeAfter();
      if (after === undefined) await this.open('initial', false);
      else await this.open({ after }, false, true);
    }
  }

  /** Undefined when the client does not know, or was told that it is too late. */
  #resumeAfter(): number | undefined {
    let after: number | undefined;
    for (const { start, received } of this.#connections) {
      after = start === 'initial' ? undefined : start.after;
      let whole = start !== 'initial';
      for (const { frame } of received) {
        if (frame.type === 'ERROR') {
          after = undefined;
          whole = false;
          continue;
        }
        whole ||= isEndOfInitial(frame);
        if (whole) after = versionOf(frame.object);
      }
    }
    return after;
  }

  verify(model: Model): void {
    for (const connection of this.#connections) {
      for (const received of connection.received) this.#verifyAllowed(model, received);
      const until = this.#undisturbedUntil(model, connection);
      if (until !== undefined) this.#verifyExact(model, connection, until);
    }
    const { caller, selector } = this.#looking;
    const visible = model.visible(caller, 'watch', selector, model.last, model.last);
    expect(this.#known(model)).toEqual(new Map(visible.map((cluster) => [cluster.metadata.name, versionOf(cluster)])));
  }

  /** What the client has in its hands after all it was told: names and versions. */
  #known(model: Model): Map<string, number> {
    const { caller, selector } = this.#looking;
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

  /** Nothing is shown that the caller may not see at that moment, and no more of it than the caller may. */
  #verifyAllowed(model: Model, { frame, handedOut, newest }: Received): void {
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
    const moments = version > handedOut ? [version] : range(Math.max(handedOut, model.first), newest);
    const { caller, alwaysPublic } = this.#looking;
    const allowed = moments.filter((moment) => model.may(caller, 'watch', object, moment));
    expect(allowed, `${JSON.stringify(frame)} at ${moments} to ${caller.key}`).not.toEqual([]);
    const shown = allowed.flatMap((moment) => {
      const stored = contentOf(model, frame, moment);
      if (stored === undefined) return [];
      return !alwaysPublic && model.may(caller, 'update', stored, moment) ? [stored] : [this.#house.publicView(stored)];
    });
    expect(shown).toContainEqual(object);
  }

  /**
   * The last revision up to which the caller's rules said what they said when the stream began, and the client was
   * not behind; undefined when there is no such time. What comes later depends on how changes fell together.
   */
  #undisturbedUntil(model: Model, { start, quick, openedAt, sink }: Connection): number | undefined {
    if (!quick || sink.frames.some(({ type }) => type === 'ERROR')) return undefined;
    const from = start === 'initial' ? openedAt : start.after;
    const rules = this.#signature(model, from);
    const changed = range(from, model.last).find((revision) => this.#signature(model, revision) !== rules);
    if (changed === undefined) return model.last;
    // What happened before it opened is told under the rules of when it opened.
    return changed > openedAt ? changed - 1 : undefined;
  }

  /** What the caller may watch at all, of every cluster there ever was in every state it ever had. */
  #signature(model: Model, rulesOf: number): string {
    const known = signatures.get(model) ?? new Map<string, string>();
    signatures.set(model, known);
    const key = `${model.rulesSince(rulesOf)} ${this.#looking.caller.key}`;
    const text =
      known.get(key) ??
      model.steps
        .flatMap(({ key: where, after }) => (after !== undefined && model.isCluster(where) ? [after] : []))
        .map((cluster) => (model.may(this.#looking.caller, 'watch', cluster, rulesOf) ? '1' : '0'))
        .join('');
    known.set(key, text);
    return text;
  }

  /** Each event once, in order, none missing, and each of the right type. */
  #verifyExact(model: Model, { start, received, openedAt, sink }: Connection, until: number): void {
    const { caller, selector } = this.#looking;
    const from = start === 'initial' ? openedAt : start.after;
    const sees = (cluster: ApiObject | undefined): boolean =>
      cluster !== undefined && selector.matches(cluster) && model.may(caller, 'watch', cluster, from);
    const initial = start === 'initial' ? model.visible(caller, 'watch', selector, from, from) : [];
    const expected = initial.map((cluster) => `ADDED ${cluster.metadata.name} ${versionOf(cluster)}`);
    for (const { revision, key, before, after } of model.steps) {
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
    const told = until === model.last ? got : got.slice(0, expected.length);
    // A client that left did not hear the end of it.
    expect(told).toEqual(sink.ending === 'left' ? expected.slice(0, told.length) : expected);
    exact.count += expected.length;
  }
}

/** How many events were compared one by one: a property that compares nothing proves nothing. */
export const exact = { count: 0 };

const signatures = new WeakMap<Model, Map<string, string>>();

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index);

/** What was stored, as the frame should show it. A deletion shows the last content under its own version. */
function contentOf(model: Model, { type, object }: WatchFrame, moment: number): ApiObject | undefined {
  const version = versionOf(object as ApiObject);
  const { uid } = (object as ApiObject).metadata;
  const before = model.steps.filter(({ after, revision }) => after?.metadata.uid === uid && revision <= moment);
  if (type !== 'DELETED') return before.find(({ revision }) => revision === version)?.after;
  const last = before.findLast(({ revision }) => revision < version)?.after;
  return last && { ...last, metadata: { ...last.metadata, resourceVersion: String(version) } };
}
