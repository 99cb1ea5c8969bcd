import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Job, Outcome } from './load-client.ts';

/** Starts a client in a separate process (`load-client.ts`). The outcome is there when its time is over. */
export function startLoad(job: Job): Promise<Outcome> {
  const child = fork(fileURLToPath(new URL('load-client.ts', import.meta.url)));
  const outcome = (once(child, 'message') as Promise<[Outcome]>).then(([message]) => message);
  child.send(job);
  return outcome;
}
