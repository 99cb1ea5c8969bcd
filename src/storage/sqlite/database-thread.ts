import { workerEntry } from '../../lib/program-files.ts';
import { Rpc, startThread } from '../../lib/worker-rpc.ts';
import type { Revision, StorageError } from '../contract.ts';
import { storeCalls } from '../serialize-error.ts';
import type { DatabaseMethods, DatabaseSettings, StoreMethods } from './database-methods.ts';

export interface DatabaseThread {
  readonly rpc: Rpc<DatabaseMethods>;
  readonly revision: Revision;
  /** The last call. Earlier calls are done first, because they keep their order. */
  close(): Promise<void>;
}

export interface ThreadEvents {
  noBackups: StoreMethods['noBackups'];
  /** The thread ended without `close`. Every later call fails. */
  died(error: StorageError): void;
}

export async function startDatabase(settings: DatabaseSettings, events: ThreadEvents): Promise<DatabaseThread> {
  const thread = startThread(workerEntry('storage/sqlite/database-worker'), {
    name: 'sqlite',
    workerData: settings,
    // Without the flags of the process. node:sqlite prints an ExperimentalWarning.
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  let isUsed = false;
  const rpc = new Rpc<DatabaseMethods>(thread, storeCalls('the thread of the store has ended: restart the process'));
  rpc.serve({ noBackups: events.noBackups } satisfies StoreMethods);
  rpc.onClose(() => {
    if (isUsed) events.died(rpc.lost as StorageError);
    isUsed = false;
  });
  try {
    const revision = await rpc.call('open', undefined);
    isUsed = true;
    return {
      rpc,
      revision,
      async close() {
        isUsed = false;
        if (rpc.lost === undefined) await rpc.call('close', undefined);
        await thread.terminate();
      },
    };
  } catch (error) {
    await thread.terminate();
    throw error;
  }
}
