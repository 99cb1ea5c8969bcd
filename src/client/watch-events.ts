import { ConnectionError } from './errors.ts';

export interface WireEvent {
  readonly type: string;
  readonly object: unknown;
}

/** No object is nearly as long; a line without an end must not fill the memory. */
const MAX_LINE = 16 * 1024 * 1024;

/**
 * The events of an open watch. Ends when the server ends it. Bookmarks come every minute, so a stream that is
 * silent for longer has lost its server: then it throws, because no one else would notice.
 */
export async function* watchEvents(
  body: ReadableStream<Uint8Array>,
  { idleMs, stop }: { readonly idleMs: number; readonly stop: () => void },
): AsyncGenerator<WireEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  let silent = false;
  const fail = (): void => {
    silent = true;
    stop();
  };
  let timer = setTimeout(fail, idleMs);
  // Not every browser can iterate over a stream.
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(fail, idleMs);
      rest += decoder.decode(value, { stream: true });
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > MAX_LINE) throw new ConnectionError('the watch sent a line without an end');
      for (const line of lines) if (line !== '') yield parse(line);
    }
  } catch (error) {
    if (silent) throw new ConnectionError(`the watch was silent for ${Math.round(idleMs / 1000)} seconds`);
    throw error instanceof ConnectionError ? error : new ConnectionError('the watch was interrupted', { cause: error });
  } finally {
    clearTimeout(timer);
    reader.releaseLock();
  }
}

function parse(line: string): WireEvent {
  try {
    return JSON.parse(line) as WireEvent;
  } catch (error) {
    throw new ConnectionError('the watch sent something that is not an event', { cause: error });
  }
}
