import { ENGINE_KEYS, type Revision, type Store } from '../storage/contract.ts';
import { ArchiveWriter } from './archive.ts';

const PAGE = 500;

/** Yields the lines of an archive of the whole store, read at one revision. */
export async function* exportStore(store: Store): AsyncGenerator<string, { items: number; revision: Revision }> {
  const writer = new ArchiveWriter();
  let page = await store.list({ prefix: '/', limit: PAGE });
  const { revision } = page;
  let items = 0;
  yield writer.head(revision);
  for (;;) {
    for (const item of page.items) {
      if (ENGINE_KEYS.includes(item.key)) continue;
      items += 1;
      yield writer.item(item);
    }
    const after = page.items.at(-1)?.key;
    if (!page.more || after === undefined) break;
    page = await store.list({ prefix: '/', limit: PAGE, revision, after });
  }
  yield writer.end();
  return { items, revision };
}
