import { useState } from 'react';
import { restOf } from '../components/form.tsx';
import { NO_FAILURE } from '../error-message.ts';
import { useAction } from './use-action.ts';
import { useDebouncedQuery } from './use-debounced-query.ts';

interface FormOptions<T> {
  /** Everything that the request depends on; `""` while the form is incomplete. */
  readonly content: string;
  readonly dryRun: (signal: AbortSignal) => Promise<T>;
  /** The fields that show what the server says about them: parts of their paths in the object. */
  readonly fields: readonly string[];
  readonly generation?: number;
}

/**
 * A form that the server checks while it is filled in, and the action that sends it. Why it failed is about what was
 * sent, and goes with the next change.
 */
export function useCheckedForm<T extends { readonly warnings: readonly string[] }>({
  content,
  dryRun,
  fields,
  generation = 0,
}: FormOptions<T>) {
  const action = useAction();
  const debounced = useDebouncedQuery(content, dryRun, generation);
  const { isCurrent, query } = debounced;
  const refused = content !== '' && query.status === 'failed' ? query : NO_FAILURE;
  const [sent, setSent] = useState('');
  const failure = action.problem === '' || sent !== content ? refused : action.failure;
  return {
    ...debounced,
    busy: action.busy,
    run: (work: () => Promise<void>): Promise<void> => {
      setSent(content);
      return action.run(work);
    },
    warnings: query.status === 'loaded' ? (query.value?.warnings ?? []) : [],
    /** The server accepts what the form has now. */
    isAccepted: content !== '' && isCurrent && query.status === 'loaded',
    failure,
    /** What is not said at a field; `""` if nothing. */
    refusal: restOf(failure, fields),
  };
}
