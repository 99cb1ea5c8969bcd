/** The output of the writer, as JSON lines, and the state that follows from it. */
import type { Revision } from '../../src/storage/contract.ts';

export type Line =
  /** Before a write: it may happen from now on. A nonce of null deletes. */
  | { readonly type: 'intent'; readonly key: string; readonly nonce: string | null }
  /** After the write was acknowledged: it must not be lost. */
  | { readonly type: 'ack'; readonly key: string; readonly nonce: string | null; readonly revision: Revision }
  /** After a compaction: older revisions must stay unreadable. */
  | { readonly type: 'compacted'; readonly revision: Revision };

export interface Known {
  readonly nonce: string | null;
  readonly revision: Revision;
}

/** Each key has one writer with one write at a time, so at most one write of a key is pending. */
export class Journal {
  readonly acked = new Map<string, Known>();
  readonly pending = new Map<string, string | null>();
  compacted: Revision = 0;
  newest: Revision = 0;
  writes = 0;
  compactions = 0;

  /** Throws when the line violates the contract. */
  read(line: Line, round: { floor: Revision; revisions: Set<Revision> }): void {
    switch (line.type) {
      case 'intent':
        this.pending.set(line.key, line.nonce);
        return;
      case 'ack': {
        if (line.revision <= round.floor) {
          throw new Error(`revision ${line.revision} was assigned after the store had been at ${round.floor}`);
        }
        if (round.revisions.has(line.revision)) throw new Error(`revision ${line.revision} was assigned twice`);
        round.revisions.add(line.revision);
        this.pending.delete(line.key);
        this.acked.set(line.key, { nonce: line.nonce, revision: line.revision });
        this.newest = Math.max(this.newest, line.revision);
        this.writes++;
        return;
      }
      case 'compacted':
        this.compacted = Math.max(this.compacted, line.revision - 1);
        this.compactions++;
    }
  }
}
