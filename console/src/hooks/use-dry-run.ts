import { useDebounced } from './use-debounced.ts';
import { type Query, useQuery } from './use-query.ts';

/** What the server says about the content of a form, before it is sent. */
export interface DryRun<T> {
  /** The content that was sent, for other queries about it; `""` if it was incomplete. */
  readonly checked: string;
  /** Whether `checked` is what the form has now. */
  readonly isCurrent: boolean;
  readonly query: Query<T | undefined>;
  /** The server accepts what the form has now. */
  readonly isAccepted: boolean;
  /** Why the server refuses it; `""` if it does not. */
  readonly refusal: string;
}

/**
 * Sends a dry run after `content` has not changed for a moment. `content` contains everything that the request depends
 * on; `""` while the form is incomplete.
 */
export function useDryRun<T>(content: string, send: (signal: AbortSignal) => Promise<T>, generation = 0): DryRun<T> {
  const checked = useDebounced(content);
  const query = useQuery(checked, async (signal) => (checked === '' ? undefined : send(signal)), generation);
  const isCurrent = checked === content;
  return {
    checked,
    isCurrent,
    query,
    isAccepted: content !== '' && isCurrent && query.status === 'loaded',
    refusal: content !== '' && query.status === 'failed' ? query.message : '',
  };
}
