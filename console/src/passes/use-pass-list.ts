import { useState } from 'react';
import type { Client, TrackedToken } from '../../../src/client/index.ts';
import { useRowsAtOnce } from '../components/first-rows.tsx';
import { errorMessage } from '../error-message.ts';
import { useConnected, useReconnections } from '../hooks/use-connected.tsx';
import { useQuery } from '../hooks/use-query.ts';
import { listPasses, type PassFilter, type PassPage } from './list-passes.ts';

export interface PassList {
  readonly status: 'loading' | 'loaded' | 'failed';
  readonly passes: readonly TrackedToken[];
  readonly remaining: number;
  readonly problem: string;
  /** Undefined on the last page. */
  readonly loadMore: (() => void) | undefined;
}

interface FurtherPages {
  readonly key: string;
  readonly pages: readonly PassPage[];
  readonly problem: string;
}

const NO_PAGES: FurtherPages = { key: '', pages: [], problem: '' };

/** The passes that match, page by page. What reads the first page again drops the others. */
export function usePassList(client: Client, filter: PassFilter, generation: number): PassList {
  const atOnce = useRowsAtOnce();
  const selection = JSON.stringify(filter);
  const first = useQuery(selection, (signal) => listPasses(client, filter, '', atOnce, signal), generation);
  const [stored, setStored] = useState(NO_PAGES);
  const reconnections = useReconnections(useConnected());
  const key = `${generation} ${reconnections} ${selection}`;
  const further = stored.key === key ? stored : NO_PAGES;
  const pages = first.status === 'loaded' ? [first.value, ...further.pages] : [];
  const last = pages.at(-1);
  const next = last?.next ?? '';
  const loadMore = async (): Promise<void> => {
    const add = (page: readonly PassPage[], problem: string): void =>
      setStored((old) => ({ key, pages: [...(old.key === key ? old.pages : []), ...page], problem }));
    try {
      add([await listPasses(client, filter, next, atOnce)], '');
    } catch (error) {
      add([], errorMessage(error));
    }
  };
  return {
    status: first.status,
    passes: pages.flatMap(({ passes }) => passes),
    remaining: last?.remaining ?? 0,
    problem: first.status === 'failed' ? first.message : further.problem,
    loadMore: next === '' ? undefined : () => void loadMore(),
  };
}
