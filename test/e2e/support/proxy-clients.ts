import { type Agent, request } from 'node:https';
import { connect } from 'node:tls';

/** Clients of a proxy: one sends valid requests, the other one any bytes. */

export interface ProxyAnswer {
  /** Of the client: identifies the connection in the proxy's log. */
  readonly port: number;
  readonly code: number;
  /** Undefined for a response of the proxy itself. */
  readonly auditId: string | undefined;
  readonly text: string;
}

export interface ProxyRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** The address of the client: all of 127.0.0.0/8 is this machine. */
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
        // When the response has ended, the socket may already have another request.
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
 * Sends bytes as they are over one connection, each part after the response to the one before. Returns the responses
 * until the proxy closes the connection, which the last part must make it do.
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
      // All parts but the last are valid requests: their responses are JSON with a known end.
      if (rest.length > 0 && received.endsWith('}\n')) send();
    });
    // After a reset, responses are missing.
    socket.on('error', () => {});
    socket.once('close', () => resolve({ port: clientPort, answers: answersIn(clientPort, received) }));
  });
}

/** The body of no response contains such a line. */
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
