import { once } from 'node:events';
import { createServer, type Server as HttpServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The faults of a broken server, one at a time. The checker must find each. */
export type Lie =
  | 'lost write'
  | 'event twice'
  | 'missed event'
  | 'stale read'
  | 'late revocation'
  | 'granted after the end'
  | 'shown after the end';

/** Between the clients and a replica: forwards most requests, and gives some a false response. */
export class LyingProxy {
  readonly url: string;
  readonly #server: HttpServer;
  readonly #target: URL;
  /** The first answer to each read of an object. */
  readonly #old = new Map<string, { code: number; body: Buffer }>();
  lie: Lie | undefined;
  #count = 0;

  private constructor(server: HttpServer, target: string) {
    this.#server = server;
    this.#target = new URL(target);
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async to(target: string): Promise<LyingProxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = new LyingProxy(server, target);
    server.on('request', (req, res) => proxy.#serve(req, res));
    return proxy;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #isDue(): boolean {
    this.#count += 1;
    return this.#count % 3 === 0;
  }

  #serve(req: IncomingMessage, res: ServerResponse): void {
    const path = req.url ?? '';
    const key = `${req.method} ${path} ${req.headers.authorization} ${req.headers['impersonate-user']}`;
    const old = this.#old.get(key);
    const isRead = req.method === 'GET' && !path.includes('watch=');
    // Watches, health checks and the first requests of a client are forwarded.
    const now = this.#isDue();
    const isOfEnded =
      (this.lie === 'late revocation' && path.startsWith('/auth/v1/clusters')) ||
      (this.lie === 'granted after the end' && path.endsWith('/clusters/alpha'));
    if (isOfEnded && isRead && old?.code === 200) {
      return void res.writeHead(200, { 'Content-Type': 'application/json' }).end(old.body);
    }
    if (this.lie === 'stale read' && now && isRead && old !== undefined && path.includes('/clusters/w-')) {
      return void res.writeHead(old.code, { 'Content-Type': 'application/json' }).end(old.body);
    }
    this.#pass(req, res, { key, isRead, drops: this.lie === 'lost write' && now && req.method === 'PATCH' });
  }

  #pass(
    req: IncomingMessage,
    res: ServerResponse,
    { key, isRead, drops }: { key: string; isRead: boolean; drops: boolean },
  ): void {
    const { hostname, port } = this.#target;
    // A dry run has the response of a write, and writes nothing.
    const path = drops ? `${req.url}${req.url?.includes('?') ? '&' : '?'}dryRun=All` : req.url;
    const onward = request({ hostname, port, path, method: req.method, headers: req.headers, agent: false });
    onward.on('error', () => res.destroy());
    res.on('close', () => onward.destroy());
    onward.on('response', (answer) => {
      res.writeHead(answer.statusCode ?? 502, { 'Content-Type': answer.headers['content-type'] ?? '' });
      if (req.url?.includes('watch=')) return this.#passEvents(answer, res);
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => {
        const body = Buffer.concat(chunks);
        if (isRead && !this.#old.has(key)) this.#old.set(key, { code: answer.statusCode ?? 0, body });
        res.end(drops ? withNewVersion(body) : body);
      });
    });
    req.pipe(onward);
  }

  #passEvents(answer: IncomingMessage, res: ServerResponse): void {
    res.flushHeaders();
    let rest = '';
    answer.setEncoding('utf8').on('data', (text: string) => {
      const lines = `${rest}${text}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const now = this.#isDue() && !line.includes('"BOOKMARK"');
        const times = now && this.lie === 'event twice' ? 2 : now && this.lie === 'missed event' ? 0 : 1;
        const sent = this.lie === 'shown after the end' ? withLaterVersion(line) : line;
        for (let i = 0; i < times; i++) res.write(`${sent}\n`);
      }
    });
    answer.on('end', () => res.end());
  }
}

/** An object that is still shown, after all that has happened. */
const withLaterVersion = (line: string): string =>
  line.includes('"DELETED"')
    ? line.replace('"DELETED"', '"MODIFIED"').replace(/"resourceVersion":"\d+/, '$&000')
    : line;

/** A write that did not happen, with a version as if it had. */
function withNewVersion(body: Buffer): Buffer {
  const object = JSON.parse(body.toString());
  if (object.metadata?.resourceVersion === undefined) return body;
  object.metadata.resourceVersion = String(Number(object.metadata.resourceVersion) + 1);
  return Buffer.from(JSON.stringify(object));
}
