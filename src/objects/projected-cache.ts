import {
  type ApiObject,
  apiVersionOf,
  type Kind,
  kindPrefix,
  type ProjectedNamespace,
  type Projection,
} from '../api/kind.ts';
import type { ReflectorListener } from '../storage/reflector.ts';
import type { Snapshot } from '../storage/snapshot.ts';
import type { CacheEvent, WatchCache } from '../storage/watch-cache.ts';
import type { ObjectView, ReadableCache, ReadableEvent, ReadableObject, ReadableState } from './readable.ts';
import { encode, type StoredObject } from './stored-object.ts';

type ProjectedKind = Kind & { readonly projection: Projection };

export const isProjected = (kind: Kind): kind is ProjectedKind => kind.projection !== undefined;

interface ProjectedEvent extends ReadableEvent {
  /** The stored change behind it. */
  readonly origin: CacheEvent<StoredObject>;
}

const prefixOf = (kind: Kind, { name }: ProjectedNamespace): string => `${kindPrefix(kind)}${name}/`;

/** An object that is computed from a stored one, when it is first shown. */
class ProjectedObject implements ReadableObject {
  readonly kind: ProjectedKind;
  readonly key: string;
  readonly cluster = '';
  readonly namespace: string;
  readonly name: string;
  readonly #source: StoredObject;
  #labels: ReadableObject['labels'];
  /** The content without resourceVersion, by variant. Bound: for a cluster profile, one for each server endpoint. */
  #contents: Map<string, string> | undefined;

  constructor(kind: ProjectedKind, namespace: string, source: StoredObject) {
    this.kind = kind;
    this.namespace = namespace;
    this.name = source.name;
    this.key = `${kindPrefix(kind)}${namespace}/${source.name}`;
    this.#source = source;
  }

  get revision(): number {
    return this.#source.revision;
  }

  get labels(): ReadableObject['labels'] {
    this.#labels ??= this.kind.projection.labelsOf(this.#source);
    return this.#labels;
  }

  get ruleLabels(): ReadableObject['labels'] {
    return this.#source.labels;
  }

  isExpired(now: number): boolean {
    return this.#source.isExpired(now);
  }

  field(label: string): string {
    if (label === 'metadata.name') return this.name;
    return label === 'metadata.namespace' ? this.namespace : '';
  }

  withRevision(revision: number): ProjectedObject {
    return new ProjectedObject(this.kind, this.namespace, this.#source.withRevision(revision));
  }

  shown(_view: ObjectView, clientAddress: string): ApiObject {
    return this.#project(this.#variantFor(clientAddress));
  }

  json(_view: ObjectView, clientAddress: string): Uint8Array {
    const variant = this.#variantFor(clientAddress);
    const id = JSON.stringify([apiVersionOf(this.kind), this.namespace, variant]);
    return this.#source.projectedJson(id, () => encode(this.kind, this.#project(variant)));
  }

  showsSameAs(other: ReadableObject, clientAddress: string): boolean {
    return other instanceof ProjectedObject && this.#content(clientAddress) === other.#content(clientAddress);
  }

  #variantFor(clientAddress: string): string {
    return this.kind.projection.variantFor(this.#source, clientAddress);
  }

  #project(variant: string): ApiObject {
    return this.kind.projection.project(this.#source.object(), this.namespace, variant);
  }

  /** Kept, because all groups of watchers compare the objects of an event. */
  #content(clientAddress: string): string {
    const variant = this.#variantFor(clientAddress);
    this.#contents ??= new Map();
    const known = this.#contents.get(variant);
    if (known !== undefined) return known;
    const { metadata, ...rest } = this.#project(variant);
    const content = JSON.stringify({ ...rest, metadata: { ...metadata, resourceVersion: '' } });
    this.#contents.set(variant, content);
    return content;
  }
}

/** The projection of one state of the source. Entries are created as they are read. */
class ProjectedState implements ReadableState {
  readonly #kind: ProjectedKind;
  readonly #source: Snapshot<StoredObject>;
  readonly #sourcePrefix: string;

  constructor(kind: ProjectedKind, source: Snapshot<StoredObject>) {
    this.#kind = kind;
    this.#source = source;
    this.#sourcePrefix = kindPrefix(kind.projection.source);
  }

  get indexed(): boolean {
    return this.#source.indexed;
  }

  indexesLabel(label: string): boolean {
    return this.#source.indexed && !this.#kind.projection.ownLabels.has(label);
  }

  get(key: string): ProjectedObject | undefined {
    for (const namespace of this.#kind.projection.namespaces) {
      const prefix = prefixOf(this.#kind, namespace);
      if (key.startsWith(prefix)) return this.#entryAt(namespace, key.slice(prefix.length));
    }
    return undefined;
  }

  *scan(prefix: string, after?: string): Generator<ProjectedObject> {
    for (const namespace of this.#below(prefix)) {
      const own = prefixOf(this.#kind, namespace);
      const isInside = after?.startsWith(own) === true;
      // Keys are in order: the whole namespace is before `after`.
      if (after !== undefined && !isInside && after > own) continue;
      const afterName = isInside ? after.slice(own.length) : undefined;
      for (const source of this.#sourcesIn(namespace, afterName)) yield this.#entry(namespace, source);
    }
  }

  collectNamed(into: ReadableObject[], prefix: string, name: string): void {
    for (const namespace of this.#below(prefix)) {
      const entry = this.#entryAt(namespace, name);
      if (entry !== undefined) into.push(entry);
    }
  }

  /** By the labels of the source: rules of callers are about those. */
  *withLabel(label: string, value: string): Generator<ProjectedObject> {
    for (const namespace of this.#kind.projection.namespaces) {
      for (const source of this.#source.withLabel(label, value)) {
        if (namespace.matches(source.labels, source.name)) yield this.#entry(namespace, source);
      }
    }
  }

  collectLabel(into: ReadableObject[], label: string, value: string): void {
    for (const entry of this.withLabel(label, value)) into.push(entry);
  }

  copy(): ProjectedState {
    return new ProjectedState(this.#kind, this.#source.copy());
  }

  #below(prefix: string): ProjectedNamespace[] {
    return this.#kind.projection.namespaces.filter((namespace) => prefixOf(this.#kind, namespace).startsWith(prefix));
  }

  *#sourcesIn({ matches, requiredLabel }: ProjectedNamespace, afterName: string | undefined): Generator<StoredObject> {
    const after = afterName === undefined ? undefined : `${this.#sourcePrefix}${afterName}`;
    const isIndexed = requiredLabel !== undefined && this.#source.indexed;
    const sources = isIndexed
      ? this.#source.withLabel(requiredLabel.key, requiredLabel.value, after)
      : this.#source.scan(this.#sourcePrefix, after);
    for (const source of sources) {
      if (after !== undefined && source.key <= after) continue;
      if (matches(source.labels, source.name)) yield source;
    }
  }

  #entryAt(namespace: ProjectedNamespace, name: string): ProjectedObject | undefined {
    const source = this.#source.get(`${this.#sourcePrefix}${name}`);
    return source !== undefined && namespace.matches(source.labels, name) ? this.#entry(namespace, source) : undefined;
  }

  #entry({ name }: ProjectedNamespace, source: StoredObject): ProjectedObject {
    return new ProjectedObject(this.#kind, name, source);
  }
}

/** A projection of a watch cache, with the same history. It holds nothing itself. */
export class ProjectedCache implements ReadableCache {
  readonly kind: ProjectedKind;
  readonly source: WatchCache<StoredObject>;

  constructor(kind: ProjectedKind, source: WatchCache<StoredObject>) {
    this.kind = kind;
    this.source = source;
  }

  get current(): ProjectedState {
    return new ProjectedState(this.kind, this.source.current);
  }

  get snapshot(): ProjectedState {
    return new ProjectedState(this.kind, this.source.snapshot);
  }

  get windowStart(): number {
    return this.source.windowStart;
  }

  get(key: string): ReadableObject | undefined {
    return this.current.get(key);
  }

  at(revision: number): ProjectedState | undefined {
    const state = this.source.at(revision);
    return state === undefined ? undefined : new ProjectedState(this.kind, state);
  }

  eventsAfter(revision: number): readonly ProjectedEvent[] | undefined {
    return this.source.eventsAfter(revision)?.flatMap((event) => this.eventsOf(event));
  }

  /** The events of one stored change: one in each namespace that shows the object before or after it. */
  eventsOf(origin: CacheEvent<StoredObject>): ProjectedEvent[] {
    const { before, after, revision } = origin;
    const events: ProjectedEvent[] = [];
    for (const { name, matches } of this.kind.projection.namespaces) {
      const entryOf = (stored: StoredObject | undefined): ProjectedObject | undefined =>
        stored !== undefined && matches(stored.labels, stored.name)
          ? new ProjectedObject(this.kind, name, stored)
          : undefined;
      const event = { revision, before: entryOf(before), after: entryOf(after), origin };
      if (event.before !== undefined || event.after !== undefined) events.push(event);
    }
    return events;
  }

  /**
   * Events of one stored change have one revision. A client that got only some of them before its connection broke
   * comes back with that revision, so all of them are sent again.
   */
  resumeAfter(revision: number, prefix: string): number {
    const [event] = this.source.eventsAfter(revision - 1) ?? [];
    if (event?.revision !== revision) return revision;
    const events = this.eventsOf(event).filter(({ before, after }) => (after ?? before)?.key.startsWith(prefix));
    return events.length > 1 ? revision - 1 : revision;
  }

  pin(): void {
    this.source.pin();
  }
}

/** What gets the events of projections besides those of stored objects. */
export interface ProjectionListener extends ReflectorListener<StoredObject> {
  onEvent(event: ReadableEvent): void;
  /** False: events of this kind need not be made. */
  isWatched(kind: Kind): boolean;
}

/** Gives a listener the events of stored objects, and after each those of its projections. */
export const withProjections = (
  projections: readonly ProjectedCache[],
  listener: ProjectionListener,
): ReflectorListener<StoredObject> => ({
  onEvent: (event) => {
    listener.onEvent(event);
    for (const projection of projections) {
      if (projection.source !== event.cache || !listener.isWatched(projection.kind)) continue;
      for (const projected of projection.eventsOf(event)) listener.onEvent(projected);
    }
  },
  onProgress: (revision) => listener.onProgress?.(revision),
  onReset: (revision) => listener.onReset(revision),
});
