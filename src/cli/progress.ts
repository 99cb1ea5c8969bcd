import type { Fetch } from '../client/transport.ts';
import type { Context } from './command.ts';

const AFTER_MS = 1_000;

/** Says what is being waited for, to a person and only if it takes long; the line goes when the answer is there. */
export function whileWaiting({ err }: Pick<Context, 'err'>, server: string, fetch: Fetch): Fetch {
  if (!err.isTerminal) return fetch;
  return async (input, init) => {
    let shown = false;
    const timer = setTimeout(() => {
      shown = true;
      err.write(`Waiting for ${new URL(server).host}...`);
    }, AFTER_MS);
    try {
      return await fetch(input, init);
    } finally {
      clearTimeout(timer);
      if (shown) err.write('\r\u001b[K');
    }
  };
}
