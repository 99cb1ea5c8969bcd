import { isStatus } from './errors.ts';
import type { Transport } from './transport.ts';
import type { ListOptions } from './types.ts';

const DEFAULT_LIMIT = 500;
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
  let next = '';
  do {
    const query = { labelSelector, fieldSelector, limit, continue: next === '' ? undefined : next };
    const { value } = await transport.request<P>('GET', path, { query, expects: 'list', signal });
    next = value.metadata.continue ?? '';
    yield value;
  } while (next !== '');
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
