import { type Expected, wrongTypeIn } from './answer-types.ts';
import { ConnectionError } from './errors.ts';

/** An event of any watch of a Kubernetes API. */
export interface WatchEvent {
  readonly type: string;
  readonly object: unknown;
}

/** Longer than any event. Bounds the memory for a line that does not end. */
const MAX_LINE = 16 * 1024 * 1024;

interface ReadOptions {
  readonly idleMs: number;
  readonly stop: () => void;
}

/** Reads the events of a response. Throws after `idleMs` without data: a lost connection may not close. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  { idleMs, stop }: ReadOptions,
): AsyncGenerator<WatchEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  let isIdle = false;
  const onIdle = (): void => {
    isIdle = true;
    stop();
  };
  let timer = setTimeout(onIdle, idleMs);
  // Not all browsers support asynchronous iteration of a stream.
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(onIdle, idleMs);
      rest += decoder.decode(value, { stream: true });
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > MAX_LINE) throw new ConnectionError('the watch sent a line that is too long');
      for (const line of lines) if (line !== '') yield parseEvent(line);
    }
  } catch (error) {
    if (isIdle) throw new ConnectionError(`the watch sent nothing for ${Math.round(idleMs / 1000)} seconds`);
    throw error instanceof ConnectionError ? error : new ConnectionError('the watch was interrupted', { cause: error });
  } finally {
    clearTimeout(timer);
    reader.releaseLock();
  }
}

function parseEvent(line: string): WatchEvent {
  let event: WatchEvent | null;
  try {
    event = JSON.parse(line) as WatchEvent | null;
  } catch (error) {
    throw new ConnectionError('the watch sent a line that is not an event', { cause: error });
  }
  const problem = wrongTypeIn(event?.object, expectedOf(event?.type));
  if (event === null || problem !== undefined) throw new ConnectionError(`the watch sent ${problem}`);
  return event;
}

function expectedOf(type: string | undefined): Expected | undefined {
  if (type === 'ERROR') return undefined;
  return type === 'BOOKMARK' ? 'metadata' : 'object';
}
