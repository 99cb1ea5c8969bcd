import type { StoredObject } from '../../objects/stored-object.ts';
import type { CacheEvent } from '../../storage/cache/kind-cache.ts';
import type { Snapshot } from '../../storage/cache/snapshot.ts';
import type { Representation } from '../representation.ts';
import { entriesAt, includes, isOver, isVisible, type Selection, selectAll } from '../selection.ts';
import { frameFor, hiddenFrame, NOTHING, type Told, tellAdded } from './frames.ts';

/** What a watcher is shown. Replaced as a whole when permissions change. */
export interface WatchView {
  readonly selection: Selection;
  readonly representation: Representation;
}

/** From this revision on, until the next turn, the caller could see this. */
export interface Turn {
  readonly revision: number;
  readonly selection: Selection;
}

export interface Past {
  /** All that happened, in order; may go on beyond `upTo`. */
  readonly events: readonly CacheEvent<StoredObject>[];
  readonly turns: readonly Turn[];
  readonly upTo: number;
  /** A copy of the state at the revision of the first turn. Asked for only if there are more turns. */
  readonly firstState: () => Snapshot<StoredObject>;
}

/**
 * What an open watch was sent in the meantime, for one that was not open. Every step is told, not only the
 * difference between the ends: objects that became visible carry versions of their own, so a client may
 * come back with a version that is older than what it knows, and has to hear of everything that went since.
 * What is shown is decided by the rules of the moment in which it is sent.
 */
export function replay({ events, turns, upTo, firstState }: Past, now: () => WatchView): Generator<Told> {
  return replayTurns({ events, turns, upTo }, turns.length > 1 ? firstState() : undefined, now);
}

function* replayTurns(
  { events, turns, upTo }: Omit<Past, 'firstState'>,
  state: Snapshot<StoredObject> | undefined,
  now: () => WatchView,
): Generator<Told> {
  let next = 0;
  for (const [index, { revision, selection }] of turns.entries()) {
    const before = turns[index - 1]?.selection;
    if (before !== undefined && state !== undefined) {
      yield* framesOfChange(compareViews(state, before, selection), revision, now);
    }
    const end = turns[index + 1]?.revision ?? upTo;
    for (let event = events[next]; event !== undefined && event.revision <= end; event = events[++next]) {
      const told = now();
      const frame = frameFor(selection, told.representation, event, told.selection);
      yield frame === undefined ? NOTHING : [frame];
      state?.replace(event.before, event.after);
    }
  }
}

/** What takes a caller from one view of a state to another. */
export interface ViewChange {
  readonly shown: readonly StoredObject[];
  /** By name. */
  readonly hidden: readonly string[];
}

const NO_CHANGE: ViewChange = { shown: [], hidden: [] };

/** Costs what may have changed, where the rules can tell, and otherwise what the two views hold; not what the fleet does. */
export function compareViews(state: Snapshot<StoredObject>, before: Selection, after: Selection): ViewChange {
  if (before.rule === after.rule) return NO_CHANGE;
  const places = before.rule && after.rule?.differsFrom?.(before.rule);
  const entries = places && entriesAt(state, after.prefix, places);
  const shown: StoredObject[] = [];
  const hidden: string[] = [];
  for (const entry of entries ?? selectAll(state, after)) {
    if (includes(after, entry) && !includes(before, entry) && !isOver(after, entry)) shown.push(entry);
  }
  for (const entry of entries ?? selectAll(state, before)) {
    if (includes(before, entry) && !includes(after, entry)) hidden.push(entry.name);
  }
  return { shown, hidden };
}

/**
 * All of it carries versions from before the change: a client that loses its connection in the middle comes back with
 * one of them, and is told all of it again.
 */
export function* framesOfChange(
  { shown, hidden }: ViewChange,
  changedAt: number,
  now: () => WatchView,
): Generator<Told> {
  const revision = changedAt - 1;
  for (const entry of shown) {
    const { selection, representation } = now();
    yield isVisible(selection, entry)
      ? tellAdded(representation, entry)
      : [hiddenFrame(representation, entry.name, revision)];
  }
  for (const name of hidden) yield [hiddenFrame(now().representation, name, revision)];
}
