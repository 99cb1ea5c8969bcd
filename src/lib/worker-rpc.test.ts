import { EventEmitter } from 'node:events';
import { setImmediate as nextTick } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Methods,
  type Port,
  Rpc,
  type RpcOptions,
  startThread,
  type Thread,
  type Transferred,
} from './worker-rpc.ts';

const lost: RpcOptions['lost'] = (cause, sent) => new Error(`${sent ?? 'a late call'}: ${cause}`);

/** Both sides in this thread. A test delivers the messages. */
class Pipe {
  readonly sent: (readonly unknown[])[] = [];
  readonly #inboxes = [new EventEmitter(), new EventEmitter()] as const;
  #isOpen = true;

  end(side: 0 | 1): Port {
    return {
      post: (messages) => {
        this.sent.push(messages);
        setImmediate(() => {
          if (this.#isOpen) this.#inboxes[side === 0 ? 1 : 0].emit('messages', structuredClone(messages));
        });
      },
      onMessages: (listener) => void this.#inboxes[side].on('messages', listener),
      onClose: (listener) => void this.#inboxes[side].on('close', listener),
    };
  }

  close(cause: string): void {
    this.#isOpen = false;
    for (const inbox of this.#inboxes) inbox.emit('close', cause);
  }
}

function connect(methods: Methods, options: Partial<RpcOptions> = {}) {
  const pipe = new Pipe();
  const caller = new Rpc<Record<string, (input: unknown) => unknown>>(pipe.end(0), { lost, ...options });
  const server = new Rpc(pipe.end(1), { lost, ...options });
  server.serve(methods);
  return { pipe, caller, server };
}

describe('calls of another thread', () => {
  it('calls of one tick cross as one array, and each has its own answer, in whatever order', async () => {
    const { pipe, caller } = connect({ double: (n: number) => (n === 1 ? nextTick(2) : n * 2) });
    const answers = [1, 2, 3].map((n) => caller.call('double', n));
    expect(await Promise.all(answers)).toEqual([2, 4, 6]);
    expect(pipe.sent[0]).toHaveLength(3);
    expect(await caller.call('double', 4)).toBe(8);
  });

  it('an aborted call rejects at once, and its method sees the signal', async () => {
    const seen = Promise.withResolvers<void>();
    const { caller } = connect({
      wait: (_: unknown, signal?: AbortSignal) =>
        new Promise((resolve) => {
          seen.resolve();
          signal?.addEventListener('abort', () => resolve(seen.promise));
        }),
      ask: () => 'ready',
    });
    const abort = new AbortController();
    const waiting = caller.call('wait', undefined, { signal: abort.signal });
    await seen.promise;
    abort.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    await expect(caller.call('wait', undefined, { signal: abort.signal })).rejects.toThrow('enough');
    // Its late answer belongs to no call.
    expect(await caller.call('ask', undefined)).toBe('ready');
  });

  it('when the port closes, calls without an answer are lost, and so are later ones; running methods are aborted', async () => {
    const stopped = Promise.withResolvers<void>();
    const { pipe, caller } = connect({
      wait: (_: unknown, signal?: AbortSignal) =>
        new Promise(() => signal?.addEventListener('abort', () => stopped.resolve())),
    });
    const waiting = caller.call('wait', undefined, { signal: new AbortController().signal });
    await nextTick();
    await nextTick();
    expect(caller.lost).toBeUndefined();
    pipe.close('exit 1');
    await expect(waiting).rejects.toThrow('wait: exit 1');
    await expect(caller.call('wait', undefined)).rejects.toThrow('a late call: exit 1');
    await stopped.promise;
  });
});

type EchoMethods = {
  readonly size: (bytes: Uint8Array<ArrayBuffer>) => number;
  readonly zeros: (size: number) => Transferred<Uint8Array<ArrayBuffer>>;
  readonly die: () => void;
};

describe('a real thread', () => {
  const SCRIPT = `
    import { serveStarter, Transferred } from '${import.meta.resolve('./worker-rpc.ts')}';
    serveStarter((limit) => ({
      size: (bytes) => Math.min(bytes.byteLength, limit),
      zeros: (size) => { const bytes = new Uint8Array(size); return new Transferred(bytes, [bytes.buffer]); },
      die: () => { throw process.exit(3); },
    }), {});`;
  let thread: Thread;
  let rpc: Rpc<EchoMethods>;
  beforeEach(() => {
    thread = startThread(new URL(`data:text/javascript,${encodeURIComponent(SCRIPT)}`), { workerData: 100 });
    rpc = new Rpc(thread, { lost });
  });
  afterEach(() => thread.terminate());

  it('is started with data, and buffers are moved in both directions', async () => {
    const bytes = new Uint8Array(200);
    const asked = rpc.call('size', bytes, { transfer: [bytes.buffer] });
    rpc.flush();
    expect(bytes.byteLength).toBe(0);
    expect(await asked).toBe(100);
    expect(await rpc.call('zeros', 5)).toEqual(new Uint8Array(5));
  });

  it('that exits loses the calls that it was sent', async () => {
    await expect(rpc.call('die', undefined)).rejects.toThrow('die: 3');
    expect(rpc.lost?.message).toBe('a late call: 3');
  });
});
