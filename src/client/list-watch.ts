import { reconnectMs, type Timing } from '../lib/backoff.ts';
import { ConnectionError, isStatus, StatusError, statusFrom } from './errors.ts';
import { isLater } from './known-clusters.ts';
import type { Transport } from './transport.ts';
import { readEvents, type WatchEvent } from './watch-events.ts';

export interface ListWatchOptions {
  readonly transport: Transport;
  /** The path of a collection. */
  readonly path: string;
  readonly selection?: { readonly labelSelector?: string | undefined; readonly fieldSelector?: string | undefined };
  readonly timing: Timing;
  /** After this time without data, the connection is closed. */
  readonly idleMs: number;
  /** The server ends each watch after this time. Default: the server decides. */
  readonly timeoutSeconds?: number;
  /** Requests the objects and returns their resourceVersion. Absent: a watch begins with them (`sendInitialEvents`). */
  readonly list?: (signal: AbortSignal | undefined) => Promise<string | undefined>;
  /** The version of the objects that the caller has. */
  readonly resourceVersion?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Whether to try again after this error. */
  readonly retries: (error: unknown) => boolean;
  /** Called when a connection is open; `isInitial` if its events begin with the objects. */
  readonly onConnected?: ((isInitial: boolean) => void) | undefined;
  /** Called when a connection ended, with the error if there was one, and the time until the next try. */
  readonly onInterruption?: ((cause: unknown, delayMs: number) => void) | undefined;
}

/** A connection that lasted this long resets the backoff. */
const STABLE_MS = 10_000;
const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';

/** Whether this event ends the objects with which a watch began. */
export const endsInitialEvents = ({ type, object }: WatchEvent): boolean =>
  type === 'BOOKMARK' && metadataOf(object).annotations?.[INITIAL_EVENTS_END] === 'true';

/**
 * Lists a collection and yields its events, bookmarks included, until the signal is aborted or an error occurs that is
 * not tried again. Reconnects after every interruption at the last resourceVersion. If the server no longer has that
 * version (410), starts over with all objects.
 */
export async function* listWatch(options: ListWatchOptions): AsyncGenerator<WatchEvent> {
  const { timing, signal } = options;
  const position: Position = { version: options.resourceVersion };
  let failures = 0;
  while (!signal?.aborted) {
    const openedAt = timing.now();
    let cause: unknown;
    try {
      position.version ??= await options.list?.(signal);
      yield* watchOnce(options, position);
    } catch (error) {
      if (isStatus(error, 410)) position.version = undefined;
      if (signal?.aborted) return;
      if (!options.retries(error)) throw error;
      cause = error;
    }
    if (signal?.aborted) return;
    failures = timing.now() - openedAt >= STABLE_MS ? 0 : failures + 1;
    const delayMs = reconnectMs(failures, timing.random);
    options.onInterruption?.(cause, delayMs);
    await timing.pause(delayMs, signal);
  }
}

interface Position {
  /** All events up to this version have been yielded; undefined: the next connection needs all objects. */
  version: string | undefined;
}

/** The events of one connection. */
async function* watchOnce(options: ListWatchOptions, position: Position): AsyncGenerator<WatchEvent> {
  const { transport, path, selection, timeoutSeconds, idleMs, signal } = options;
  const closed = new AbortController();
  const isInitial = position.version === undefined && options.list === undefined;
  try {
    const response = await transport.open('GET', path, {
      query: {
        ...selection,
        watch: true,
        allowWatchBookmarks: true,
        timeoutSeconds,
        ...(isInitial
          ? { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }
          : { resourceVersion: position.version }),
      },
      signal: signal === undefined ? closed.signal : AbortSignal.any([signal, closed.signal]),
    });
    if (response.body === null) throw new ConnectionError('the watch response has no body');
    options.onConnected?.(isInitial);
    for await (const event of readEvents(response.body, { idleMs, stop: () => closed.abort() })) {
      if (event.type === 'ERROR') throw errorOf(event);
      advance(position, event);
      yield event;
    }
  } finally {
    closed.abort();
  }
}

function errorOf({ object }: WatchEvent): Error {
  const error = new StatusError(statusFrom((object as { code?: number }).code ?? 500, JSON.stringify(object)));
  // The token expired during the watch. The next connection may have a new one; if not, it is refused with a 401.
  return error.code === 401 ? new ConnectionError('the token has expired', { cause: error }) : error;
}

/** An interruption before the end of the initial events starts them again: until then there is no version. */
function advance(position: Position, event: WatchEvent): void {
  const { resourceVersion = '' } = metadataOf(event.object);
  if (endsInitialEvents(event)) position.version = resourceVersion;
  // An object that became visible by a change of permissions has an older version than the watch.
  else if (position.version !== undefined && isLater(resourceVersion, position.version)) {
    position.version = resourceVersion;
  }
}

interface WatchedMetadata {
  readonly resourceVersion?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

const metadataOf = (object: unknown): WatchedMetadata => (object as { readonly metadata: WatchedMetadata }).metadata;
