/** Calls between the process that has the store open (the owner) and other processes of the machine (its clients). */
import type { KeyValue, ListRequest, ListResult, Revision, WatchBatch, Write, WriteResult } from '../contract.ts';

export type OwnerMethods = {
  readonly get: (call: {
    readonly key: string;
    readonly revision: Revision | undefined;
  }) => Promise<KeyValue | undefined>;
  readonly list: (request: ListRequest) => Promise<ListResult>;
  readonly write: (write: Write) => Promise<WriteResult>;
  readonly revision: () => Promise<Revision>;
  readonly compact: (revision: Revision) => Promise<void>;
  readonly watch: (call: { readonly watch: number; readonly prefix: string; readonly after: Revision }) => void;
  /** The next batch of a watch, or undefined at its end. Pulled, so that a stopped process is not sent anything. */
  readonly next: (watch: number) => Promise<WatchBatch | undefined>;
  readonly unwatch: (watch: number) => void;
  /** Begins or renews the term of this client: its first revision; undefined while another client leads. */
  readonly campaign: () => Promise<Revision | undefined>;
  readonly resign: () => void;
};
