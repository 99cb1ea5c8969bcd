import type { KeyValue, Revision, Store } from './contract.ts';

/** Items of the first page, whose sizes are not known. */
const FIRST_ITEMS = 200;
/**
 * The size of a page. etcd counts all keys from the start of a page to the end of the range, whatever the limit: pages
 * of 200 of a million keys made it visit two thousand million keys. So pages are as large as one message may well be.
 */
const PAGE_BYTES = 4 * 1024 * 1024;
const MAX_PAGE_ITEMS = 4_000;

/** All items below a prefix at one revision, in order of their keys, in pages. Yields nothing when there are none. */
export async function* scan(
  store: Pick<Store, 'list'>,
  { prefix, revision }: { readonly prefix: string; readonly revision: Revision },
): AsyncGenerator<readonly KeyValue[]> {
  let limit = FIRST_ITEMS;
  let after: string | undefined;
  for (;;) {
    const { items, more } = await store.list({ prefix, revision, limit, ...(after === undefined ? {} : { after }) });
    if (items.length > 0) yield items;
    after = items.at(-1)?.key;
    if (!more || after === undefined) return;
    limit = nextLimit(items, limit);
  }
}

/** As many items as fill a page if they are like these; at most twice as many, because others may be larger. */
function nextLimit(items: readonly KeyValue[], limit: number): number {
  const bytes = items.reduce((sum, { key, value }) => sum + key.length + value.length, 0);
  const fitting = Math.floor((PAGE_BYTES / bytes) * items.length);
  return Math.max(FIRST_ITEMS, Math.min(fitting, 2 * limit, MAX_PAGE_ITEMS));
}
