import { ENGINE_KEYS, type Revision, type StoreReads } from '../storage/contract.ts';
import { scan } from '../storage/scan.ts';
import { ArchiveWriter } from './archive.ts';

/** Yields the lines of an archive of the whole store, read at one revision. */
export async function* exportStore(store: StoreReads): AsyncGenerator<string, { items: number; revision: Revision }> {
  const writer = new ArchiveWriter();
  const revision = await store.revision();
  let count = 0;
  yield writer.head(revision);
  for await (const items of scan(store, { prefix: '/', revision })) {
    for (const item of items) {
      if (ENGINE_KEYS.includes(item.key)) continue;
      count += 1;
      yield writer.item(item);
    }
  }
  yield writer.end();
  return { items: count, revision };
}
