import type { Server } from './server.ts';

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  // biome-ignore lint/suspicious/noExplicitAny: tests look into objects of every shape
  readonly object: any;
}

/** An open watch over a real socket, read event by event. */
export class Watch {
  readonly code: number;
  readonly headers: Headers;
  readonly #events: AsyncGenerator<WatchEvent>;
  readonly #stop: AbortController;

  private constructor(response: Response, stop: AbortController) {
    this.code = response.status;
    this.headers = response.headers;
    this.#stop = stop;
    this.#events = lines(response);
  }

  static async open(
    server: Server,
    path: string,
    token: string = server.adminToken,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Watch> {
    const stop = new AbortController();
    const response = await fetch(`${server.url}${path}`, {
      headers: { Authorization: `Bearer ${token}`, 'User-Agent': 'clusterpass-test', ...headers },
      signal: stop.signal,
    });
    return new Watch(response, stop);
  }

  /** The next event; undefined when the stream has ended. */
  async next(): Promise<WatchEvent | undefined> {
    const result = await this.#events.next();
    return result.done === true ? undefined : result.value;
  }

  /** The next `count` events. */
  async take(count: number): Promise<WatchEvent[]> {
    const events: WatchEvent[] = [];
    while (events.length < count) {
      const event = await this.next();
      if (event === undefined) break;
      events.push(event);
    }
    return events;
  }

  /** All events up to and including the first one for which the predicate is true. */
  async until(found: (event: WatchEvent) => boolean): Promise<WatchEvent[]> {
    const events: WatchEvent[] = [];
    for (;;) {
      const event = await this.next();
      if (event === undefined) return events;
      events.push(event);
      if (found(event)) return events;
    }
  }

  /** All events until the server ends the stream. */
  async rest(): Promise<WatchEvent[]> {
    return this.until(() => false);
  }

  close(): void {
    this.#stop.abort();
  }
}

/** `ADDED a`, or `ERROR 410`. */
export const brief = ({ type, object }: WatchEvent): string =>
  type === 'ERROR' ? `ERROR ${object.code}` : `${type} ${object.metadata.name ?? ''}`.trim();

async function* lines(response: Response): AsyncGenerator<WatchEvent> {
  if (response.body === null) return;
  let rest = '';
  try {
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      const parts = (rest + chunk).split('\n');
      rest = parts.pop() ?? '';
      for (const line of parts) yield JSON.parse(line) as WatchEvent;
    }
  } catch (error) {
    if ((error as Error).name !== 'AbortError') throw error;
  }
}
