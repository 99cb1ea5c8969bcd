import { useCallback, useEffect, useRef, useState } from 'react';
import { ConnectionError } from '../../../src/client/index.ts';
import { type Failure, failureOf } from '../error-message.ts';
import { eventsOf } from './browser-events.ts';
import { useConnected, useReconnections } from './use-connected.tsx';
import { useNow } from './use-now.ts';

/** The state of a request to the server. */
export type Query<T> =
  | { readonly status: 'loading' }
  | { readonly status: 'loaded'; readonly value: T }
  | ({ readonly status: 'failed' } & Failure);

/**
 * Calls `load` when `key` changes and ignores the response for an older key. A new `generation`, and a server that
 * answers again, call it again for the same key; the old value stays until the new one arrives.
 */
export function useQuery<T>(key: string, load: (signal: AbortSignal) => Promise<T>, generation = 0): Query<T> {
  const [state, setState] = useState<{ key: string; query: Query<T> }>({ key, query: { status: 'loading' } });
  const reconnections = useReconnections(useConnected());
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key contains everything that the request depends on
  useEffect(() => {
    const controller = new AbortController();
    const settle = (query: Query<T>, keepsLoaded = false): void => {
      if (controller.signal.aborted) return;
      setState((old) => (keepsLoaded && isLoaded(old, key) ? old : { key, query }));
    };
    load(controller.signal).then(
      (value) => settle({ status: 'loaded', value }),
      (error: unknown) =>
        settle(
          { status: 'failed', ...failureOf(error) },
          // An unreachable server says nothing about the value that was loaded before.
          error instanceof ConnectionError,
        ),
    );
    return () => controller.abort();
  }, [key, generation, reconnections]);
  return state.key === key ? state.query : { status: 'loading' };
}

const isLoaded = (state: { key: string; query: Query<unknown> }, key: string): boolean =>
  state.key === key && state.query.status === 'loaded';

/** A `generation` for useQuery that also increases every `intervalMs`. */
export const useRounds = (intervalMs: number): number =>
  useRefresh().generation + Math.floor(useNow(intervalMs) / intervalMs);

/** Limits the requests of a user who switches between windows. */
const MIN_REFRESH_INTERVAL_MS = 2_000;

/** A `generation` for useQuery. It increases when the page regains focus and when `refresh` is called. */
export function useRefresh(): { readonly generation: number; readonly refresh: () => void } {
  const [generation, setGeneration] = useState(0);
  const refreshedAt = useRef(Date.now());
  const refresh = useCallback(() => {
    if (Date.now() - refreshedAt.current < MIN_REFRESH_INTERVAL_MS) return;
    refreshedAt.current = Date.now();
    setGeneration((old) => old + 1);
  }, []);
  useEffect(() => {
    const refreshIfVisible = (): void => {
      if (document.visibilityState === 'visible') refresh();
    };
    return eventsOf(window, 'focus', 'visibilitychange')(refreshIfVisible);
  }, [refresh]);
  return { generation, refresh };
}
