import { useEffect, useState } from 'react';
import { type Query, useQuery } from './use-query.ts';

const DEBOUNCE_MS = 250;

/** A query about the content of a form. */
interface DebouncedQuery<T> {
  /** The content that was sent, for other queries about it; `""` if it was incomplete. */
  readonly checked: string;
  /** Whether `checked` is what the form has now. */
  readonly isCurrent: boolean;
  readonly query: Query<T | undefined>;
}

/**
 * Calls `load` after `content` has not changed for a moment, so that not every key press sends a request. `content`
 * contains everything that the request depends on; `""` while the form is incomplete.
 */
export function useDebouncedQuery<T>(
  content: string,
  load: (signal: AbortSignal) => Promise<T>,
  generation = 0,
): DebouncedQuery<T> {
  const [checked, setChecked] = useState(content);
  useEffect(() => {
    const timer = setTimeout(() => setChecked(content), DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [content]);
  const query = useQuery(checked, async (signal) => (checked === '' ? undefined : load(signal)), generation);
  return { checked, isCurrent: checked === content, query };
}
