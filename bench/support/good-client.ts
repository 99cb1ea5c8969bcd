import { Agent, request } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { tokenOf } from '../../test/e2e/support/server.ts';

/** What somebody with a good token met with. */
export class Answers {
  /** Milliseconds, each. */
  readonly times: number[] = [];
  failed = 0;
}

const PATH = '/orchestrator/prod-eu-1/api/v1/namespaces/ci/serviceaccounts/builder/token';
const BODY = '{"spec":{"audiences":["bench"]}}';

/** Somebody with a good token, who asks for tokens over connections that are kept. */
export class GoodClient {
  readonly #port: number;
  readonly #headers: Readonly<Record<string, string | number>>;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64, rejectUnauthorized: false });

  constructor(port: number, user: string) {
    this.#port = port;
    this.#headers = {
      Authorization: `Bearer ${tokenOf(user)}`,
      'Content-Type': 'application/json',
      'Content-Length': BODY.length,
    };
  }

  /** Asks at this interval until the other thing is over. Whoever has to wait does not ask less often because of it. */
  async askDuring<T>(other: Promise<T>, everyMs: number, answers: Answers): Promise<T> {
    const asking = new Set<Promise<void>>();
    const timer = setInterval(() => {
      const from = performance.now();
      const one = this.#ask()
        .then((code) => {
          answers.times.push(performance.now() - from);
          if (code !== 201) answers.failed += 1;
        })
        .catch(() => {
          answers.failed += 1;
        })
        .finally(() => asking.delete(one));
      asking.add(one);
    }, everyMs);
    try {
      return await other;
    } finally {
      clearInterval(timer);
      await Promise.all(asking);
    }
  }

  askFor(seconds: number, everyMs: number, answers: Answers): Promise<void> {
    return this.askDuring(delay(seconds * 1000), everyMs, answers);
  }

  close(): void {
    this.#agent.destroy();
  }

  #ask(again = true): Promise<number> {
    const options = { agent: this.#agent, port: this.#port, host: '127.0.0.1', headers: this.#headers };
    return new Promise((resolve, reject) => {
      const asked = request({ ...options, method: 'POST', path: PATH }, (answer) => {
        answer.resume();
        answer.once('end', () => resolve(answer.statusCode ?? 0));
      });
      asked.once('error', (error: NodeJS.ErrnoException) => {
        // A kept connection may be closed by the server just as it is used again: whoever keeps connections asks once more.
        if (again && asked.reusedSocket && error.code === 'ECONNRESET') this.#ask(false).then(resolve, reject);
        else reject(error);
      });
      asked.end(BODY);
    });
  }
}
