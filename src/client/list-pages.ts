import { isStatus } from './errors.ts';
import type { Transport } from './transport.ts';
import type { ListOptions } from './types.ts';

const DEFAULT_LIMIT = 500;
/** A page whose objects are all filtered out is empty and has a continue token. So many in a row are a fault. */
const MAX_EMPTY_PAGES = 100;

/** A transport, or a client. */
type Requester = Pick<Transport, 'request'>;

export interface Page<T> {
  readonly metadata: { readonly continue?: string; readonly resourceVersion?: string };
  readonly items: readonly T[];
}

type PageOptions = Omit<ListOptions, 'view'>;

/** All pages of a list, at one resourceVersion. Throws a 410 StatusError if the server no longer has that version. */
export async function* listPages<P extends Page<unknown>>(
  transport: Requester,
  path: string,
  { labelSelector, fieldSelector, limit = DEFAULT_LIMIT, signal }: PageOptions,
): AsyncGenerator<P> {
  const isEndless = endlessListCheck(path);
  const check = ({ metadata, items }: P): string | undefined => isEndless(metadata.continue, items.length);
  let next = '';
  do {
    const query = { labelSelector, fieldSelector, limit, continue: next === '' ? undefined : next };
    const { value } = await transport.request<P>('GET', path, { query, check, expects: 'list', signal });
    next = value.metadata.continue ?? '';
    yield value;
  } while (next !== '');
}

/** Returns the reason why a page, with its continue token and its number of items, leads to no end of the list. */
export function endlessListCheck(path: string): (token: string | undefined, items: number) => string | undefined {
  const tokens = new Set<string>();
  let emptyPages = 0;
  return (token = '', items) => {
    if (token === '') return undefined;
    if (tokens.has(token)) return `the same continue token for two pages of ${path}`;
    tokens.add(token);
    emptyPages = items === 0 ? emptyPages + 1 : 0;
    return emptyPages < MAX_EMPTY_PAGES ? undefined : `${MAX_EMPTY_PAGES} empty pages of ${path} in a row`;
  };
}

/** All pages in an array. After a 410, requests the list again as one page. */
export async function readPages<P extends Page<unknown>>(
  transport: Requester,
  path: string,
  options: PageOptions,
): Promise<P[]> {
  const read = async (limit: number | undefined): Promise<P[]> => {
    const pages: P[] = [];
    for await (const page of listPages<P>(transport, path, { ...options, limit })) pages.push(page);
    return pages;
  };
  try {
    return await read(options.limit);
  } catch (error) {
    if (!isStatus(error, 410)) throw error;
    return read(0);
  }
}
