import { useMemo } from 'react';
import { hrefOf, type QueryPage, replaceUrl } from '../router.ts';

export interface Fields {
  /** `""` if the URL does not have it. */
  readonly get: (name: string) => string;
  /** An empty value removes the field from the URL. */
  readonly set: (changes: Readonly<Record<string, string>>) => void;
}

/** The fields of a page that are kept in its URL: a reload, a bookmark and a link show the same. */
export function useFields(page: QueryPage, query: string): Fields {
  return useMemo(() => {
    const parameters = new URLSearchParams(query);
    return {
      get: (name) => parameters.get(name) ?? '',
      set: (changes) => {
        const next = new URLSearchParams(parameters);
        for (const [name, value] of Object.entries(changes)) {
          if (value === '') next.delete(name);
          else next.set(name, value);
        }
        replaceUrl(hrefOf({ page, query: next.toString() }));
      },
    };
  }, [page, query]);
}
