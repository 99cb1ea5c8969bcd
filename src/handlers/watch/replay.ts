import type { StoredObject } from '../../objects/stored-object.ts';
import type { Snapshot } from '../../storage/snapshot.ts';
import type { CacheEvent } from '../../storage/watch-cache.ts';
import type { Representation } from '../representation.ts';
import { isVisible, type Selection } from '../selection.ts';
import { frameFor, hiddenFrame, NOTHING, type Told, tellAdded } from './frames.ts';
import { ViewChange } from './view-change.ts';

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
      yield* framesOfChange(new ViewChange(state, before, selection), revision, now);
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

/**
 * All of it carries versions from before the change: a client that loses its connection in the middle comes back with
 * one of them, and is told all of it again.
 */
export function* framesOfChange(change: ViewChange, changedAt: number, now: () => WatchView): Generator<Told> {
  const revision = changedAt - 1;
  for (const step of change.steps()) {
    if (step === undefined) {
      yield NOTHING;
      continue;
    }
    const { selection, representation } = now();
    if (typeof step === 'string') yield [hiddenFrame(representation, step, revision)];
    else if (isVisible(selection, step)) yield tellAdded(representation, step);
    else yield [hiddenFrame(representation, step.name, revision)];
  }
}
