import { Agent, request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { tokenOf } from '../../test/e2e/support/server.ts';
import { DEMO_TOKEN_BODY, DEMO_TOKEN_PATH } from './demo-tokens.ts';

/** The responses that a client got. */
export class Responses {
  /** Milliseconds of each. */
  readonly times: number[] = [];
  /** Those with another status than 201, and requests without a response. */
  failed = 0;
}

/** Requests tokens at a fixed interval over keep-alive connections. */
export class SteadyClient {
  readonly #port: number;
  readonly #headers: Readonly<Record<string, string | number>>;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64, rejectUnauthorized: false });

  constructor(port: number, user: string) {
    this.#port = port;
    this.#headers = {
      Authorization: `Bearer ${tokenOf(user)}`,
      'Content-Type': 'application/json',
      'Content-Length': DEMO_TOKEN_BODY.length,
    };
  }

  /** Sends a request at each interval until `other` is done. The interval stays the same when responses are slow. */
  async sendDuring<T>(other: Promise<T>, everyMs: number, responses: Responses): Promise<T> {
    const pending = new Set<Promise<void>>();
    const timer = setInterval(() => {
      const from = performance.now();
      const one = this.#send()
        .then((code) => {
          responses.times.push(performance.now() - from);
          if (code !== 201) responses.failed += 1;
        })
        .catch(() => {
          responses.failed += 1;
        })
        .finally(() => pending.delete(one));
      pending.add(one);
    }, everyMs);
    try {
      return await other;
    } finally {
      clearInterval(timer);
      await Promise.all(pending);
    }
  }

  sendFor(seconds: number, everyMs: number, responses: Responses): Promise<void> {
    return this.sendDuring(sleep(seconds * 1000), everyMs, responses);
  }

  close(): void {
    this.#agent.destroy();
  }

  #send(retry = true): Promise<number> {
    const options = { agent: this.#agent, port: this.#port, host: '127.0.0.1', headers: this.#headers };
    return new Promise((resolve, reject) => {
      const outgoing = request({ ...options, method: 'POST', path: DEMO_TOKEN_PATH }, (response) => {
        response.resume();
        response.once('end', () => resolve(response.statusCode ?? 0));
      });
      outgoing.once('error', (error: NodeJS.ErrnoException) => {
        // The server may close a keep-alive connection in the moment it is used again. Clients retry once then.
        if (retry && outgoing.reusedSocket && error.code === 'ECONNRESET') this.#send(false).then(resolve, reject);
        else reject(error);
      });
      outgoing.end(DEMO_TOKEN_BODY);
    });
  }
}
