import { useCallback, useEffect, useRef, useState } from 'react';
import { ConnectionError } from '../../../src/client/index.ts';

/** Something that was asked of the server. */
export type Loaded<T> =
  | { readonly phase: 'loading' }
  | { readonly phase: 'loaded'; readonly value: T }
  | { readonly phase: 'failed'; readonly message: string };

/**
 * Asks when `key` changes; the answer to an older question is forgotten. Another `turn` asks the same again: until there
 * is a new answer, the old one stays.
 */
export function useLoaded<T>(key: string, load: (signal: AbortSignal) => Promise<T>, turn = 0): Loaded<T> {
  const [state, setState] = useState<{ key: string; loaded: Loaded<T> }>({ key, loaded: { phase: 'loading' } });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for everything that the question depends on
  useEffect(() => {
    const ended = new AbortController();
    const tell = (loaded: Loaded<T>, keepsOld = false): void => {
      if (ended.signal.aborted) return;
      setState((old) => (keepsOld && isLoaded(old, key) ? old : { key, loaded }));
    };
    load(ended.signal).then(
      (value) => tell({ phase: 'loaded', value }),
      (error: unknown) =>
        tell(
          { phase: 'failed', message: error instanceof Error ? error.message : String(error) },
          // Whoever could not be asked again has not said anything else.
          error instanceof ConnectionError,
        ),
    );
    return () => ended.abort();
  }, [key, turn]);
  return state.key === key ? state.loaded : { phase: 'loading' };
}

const isLoaded = (state: { key: string; loaded: Loaded<unknown> }, key: string): boolean =>
  state.key === key && state.loaded.phase === 'loaded';

/** However often somebody looks away and back. */
const SOONEST_MS = 2_000;

/** Another number when the person comes back to the page, or when `again` is called: for what others may have changed. */
export function useTurns(): { readonly turn: number; readonly again: () => void } {
  const [turn, setTurn] = useState(0);
  const lastAt = useRef(Date.now());
  const again = useCallback(() => {
    if (Date.now() - lastAt.current < SOONEST_MS) return;
    lastAt.current = Date.now();
    setTurn((old) => old + 1);
  }, []);
  useEffect(() => {
    const look = (): void => {
      if (document.visibilityState === 'visible') again();
    };
    addEventListener('focus', look);
    document.addEventListener('visibilitychange', look);
    return () => {
      removeEventListener('focus', look);
      document.removeEventListener('visibilitychange', look);
    };
  }, [again]);
  return { turn, again };
}
