import { type Agent, request } from 'node:https';
import { connect } from 'node:tls';

/** Those who talk to a proxy: one who asks properly, and one who sends whatever bytes there are. */

export interface ProxyAnswer {
  /** Of the client: by it the proxy's log tells clients apart. */
  readonly port: number;
  readonly code: number;
  /** Undefined when the proxy answered by itself. */
  readonly auditId: string | undefined;
  readonly text: string;
}

export interface ProxyRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Where the request comes from: all of 127.0.0.0/8 is this machine. */
  readonly from?: string;
  readonly agent?: Agent;
}

export function ask(
  port: number,
  { method = 'GET', path, headers = {}, body, from = '127.0.0.1', agent }: ProxyRequest,
): Promise<ProxyAnswer> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
    const sent = request(
      {
        ...{ host: '127.0.0.1', port, method, path, localAddress: from, agent: agent ?? false },
        headers: { ...length, ...headers },
      },
      (response) => {
        // At the end of the answer the socket may serve another request already.
        const { localPort = 0 } = response.socket;
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        response.once('error', reject);
        response.once('end', () => {
          const auditId = response.headers['audit-id'];
          resolve({
            port: localPort,
            code: response.statusCode ?? 0,
            auditId: typeof auditId === 'string' ? auditId : undefined,
            text,
          });
        });
      },
    );
    sent.once('error', reject);
    sent.end(body);
  });
}

/**
 * Sends bytes as they are over one connection, each part when the one before has been answered, and gives the answers
 * that came until the proxy closed it. The last part has to make it do so.
 */
export function sendBytes(
  port: number,
  parts: readonly string[],
): Promise<{ port: number; answers: readonly ProxyAnswer[] }> {
  return new Promise((resolve) => {
    const rest = [...parts];
    let received = '';
    let clientPort = 0;
    const send = (): void => {
      socket.write(Buffer.from(rest.shift() ?? '', 'latin1'));
    };
    const socket = connect({ host: '127.0.0.1', port, ALPNProtocols: ['http/1.1'] }, () => {
      clientPort = socket.localPort ?? 0;
      send();
    });
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text;
      // A part that is waited for is a plain request: its answer is JSON with an end.
      if (rest.length > 0 && received.endsWith('}\n')) send();
    });
    // A reset shows as answers that are missing.
    socket.on('error', () => {});
    socket.once('close', () => resolve({ port: clientPort, answers: answersIn(clientPort, received) }));
  });
}

/** No body that the server or a proxy sends has such a line in it. */
const STATUS_LINE = /(?=HTTP\/1\.[01] \d{3} )/;

const answersIn = (port: number, received: string): ProxyAnswer[] =>
  received
    .split(STATUS_LINE)
    .filter((text) => text !== '' && !text.startsWith('HTTP/1.1 100 '))
    .map((text) => ({
      port,
      code: Number(text.slice(9, 12)),
      auditId: /^audit-id: (\S+)/im.exec(text)?.[1],
      text,
    }));
