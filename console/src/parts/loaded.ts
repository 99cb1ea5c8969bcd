import { useEffect, useState } from 'react';

/** Something that was asked of the server. */
export type Loaded<T> =
  | { readonly phase: 'loading' }
  | { readonly phase: 'loaded'; readonly value: T }
  | { readonly phase: 'failed'; readonly message: string };

/** Asks when `key` changes; the answer to an older question is forgotten. */
export function useLoaded<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<{ key: string; loaded: Loaded<T> }>({ key, loaded: { phase: 'loading' } });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for everything that the question depends on
  useEffect(() => {
    const ended = new AbortController();
    const tell = (loaded: Loaded<T>): void => {
      if (!ended.signal.aborted) setState({ key, loaded });
    };
    load(ended.signal).then(
      (value) => tell({ phase: 'loaded', value }),
      (error: unknown) => tell({ phase: 'failed', message: error instanceof Error ? error.message : String(error) }),
    );
    return () => ended.abort();
  }, [key]);
  return state.key === key ? state.loaded : { phase: 'loading' };
}
