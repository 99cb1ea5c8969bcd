import type { ReactNode } from 'react';
import type { Query } from '../hooks/use-query.ts';

interface LoadedProps<T> {
  readonly query: Query<T>;
  readonly children: (value: NoInfer<T>) => ReactNode;
}

/** What the server has answered, or why there is no answer. */
export function Loaded<T>({ query, children }: LoadedProps<T>) {
  if (query.status === 'loading') return <p className="muted">Loading…</p>;
  return query.status === 'loaded' ? children(query.value) : <p className="problem">{query.message}</p>;
}
