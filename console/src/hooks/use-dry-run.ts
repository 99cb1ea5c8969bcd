import { type DebouncedQuery, useDebouncedQuery } from './use-debounced-query.ts';

/** What the server says about the content of a form, before it is sent. */
export interface DryRun<T> extends DebouncedQuery<T> {
  /** The server accepts what the form has now. */
  readonly isAccepted: boolean;
  /** Why the server refuses it; `""` if it does not. */
  readonly refusal: string;
}

/** Sends a dry run after `content` has not changed for a moment. */
export function useDryRun<T>(content: string, send: (signal: AbortSignal) => Promise<T>, generation = 0): DryRun<T> {
  const debounced = useDebouncedQuery(content, send, generation);
  const { isCurrent, query } = debounced;
  return {
    ...debounced,
    isAccepted: content !== '' && isCurrent && query.status === 'loaded',
    refusal: content !== '' && query.status === 'failed' ? query.message : '',
  };
}
