import type { Change, Revision, WatchBatch } from '../contract.ts';
import type { ChangeFeed, Follower } from './change-feed.ts';

export interface ChangePage {
  readonly changes: readonly Change[];
  /** Everything up to here is in this page or was before it. */
  readonly revision: Revision;
}

export interface WatchSource {
  readonly changeFeed: ChangeFeed;
  /** The next changes from the log; undefined when the store has been closed. */
  readLog(prefix: string, after: Revision): Promise<ChangePage | undefined>;
}

/**
 * Two sources, one at a time. Behind, it reads the log page by page; at the moment in which its position is
 * the feed's revision it follows the feed. Comparing the two and beginning to follow happen without letting
 * anything in between, so there is neither a gap nor a change that comes twice.
 */
export async function* watchChanges(
  source: WatchSource,
  prefix: string,
  after: Revision,
  signal: AbortSignal,
): AsyncGenerator<WatchBatch, void, undefined> {
  let position = after;
  let follower: Follower | undefined;
  const stop = (): void => follower?.end();
  signal.addEventListener('abort', stop);
  try {
    while (!signal.aborted) {
      // A position in the future waits for the feed to come by, too.
      if (follower === undefined && position >= source.changeFeed.revision) follower = source.changeFeed.follow(prefix);
      let batch: WatchBatch;
      if (follower !== undefined) {
        const taken = await follower.take();
        if ('ended' in taken || signal.aborted) return;
        if ('behind' in taken) {
          follower = undefined;
          continue;
        }
        batch = taken.batch;
      } else {
        const page = await source.readLog(prefix, position);
        if (page === undefined || signal.aborted) return;
        // Before the page is handed out: from here on the feed keeps what the consumer has not come to yet.
        if (page.revision >= source.changeFeed.revision) follower = source.changeFeed.follow(prefix);
        batch = page;
      }
      if (batch.revision <= position) continue;
      const changes = dropUpTo(batch.changes, position);
      position = batch.revision;
      yield { changes, revision: position };
    }
  } finally {
    signal.removeEventListener('abort', stop);
    follower?.end();
  }
}

/** Only a watch that began in the future has anything to drop. */
function dropUpTo(changes: readonly Change[], position: Revision): readonly Change[] {
  const first = changes[0];
  if (first === undefined || first.modRevision > position) return changes;
  return changes.filter(({ modRevision }) => modRevision > position);
}
