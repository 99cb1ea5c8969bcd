/**
 * The requests of floods: A20, and those of A18, A19 and A21 that a client can repeat. `npm run bench -- floods` sends
 * them for minutes.
 */
import { clientHello } from './client-hello.ts';
import { refusedRequests } from './hostile-wire.ts';

export interface Flood {
  readonly name: string;
  /** The bytes of an attempt. Each attempt sends the next of them. */
  readonly sent: readonly (string | Uint8Array)[];
  /** `raw`: the bytes are the handshake. `new`: TLS, a connection for each. `kept`: TLS, connections are used again. */
  readonly over: 'raw' | 'new' | 'kept';
  /** Closes the connection right after sending, without waiting for a response. */
  readonly leaves?: true;
}

const TOKEN = '/orchestrator/prod-eu-1/api/v1/namespaces/ci/serviceaccounts/builder/token';
const WATCH = '/apis/clusterregistry.k8s.io/v1alpha1/clusters?watch=true';

/** A frame of HTTP/2 (RFC 9113 section 4.1). */
function frame(type: number, flags: number, stream: number, payload: Uint8Array = new Uint8Array()): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const WINDOW_UPDATE = 8;
const CONTINUATION = 9;
const HUNDRED = Array.from({ length: 100 }, (_, index) => index * 2 + 1);
/** The start of an HTTP/2 client, whatever ALPN chose. */
const preface = (...frames: readonly Buffer[]): Buffer =>
  Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(SETTINGS, 0, 0), ...frames]);
const increment = Buffer.from([0x7f, 0xff, 0xff, 0xff]);
/** `:method: GET` by its index (RFC 7541 appendix A), and then bytes that are no field. */
const fields = Buffer.from([0x82]);
const malformed = Buffer.alloc(64, 0xff);

const post = (token: string, body: string, path = TOKEN): string =>
  [
    `POST ${path} HTTP/1.1`,
    'Host: flood',
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');

/** D6: a line of the security log for each. */
const PASSES = JSON.stringify({
  items: Array.from({ length: 100 }, () => ({ cluster: 'prod-eu-1', namespace: 'ci', serviceAccount: 'builder' })),
});
/** D7: each is stored until the longest token has expired. */
const REVOCATIONS = Array.from(
  { length: 1_000 },
  (_, index) =>
    `/apis/clusterpass.dev/v1alpha1/issuedtokens/2b1f7f0e-52a4-4f0a-9c37-${String(index).padStart(12, '0')}`,
);

export function createFloods(token: string): readonly Flood[] {
  const auth = `Host: flood\r\nAuthorization: Bearer ${token}\r\n`;
  const text = (value: string): Buffer => Buffer.from(value, 'latin1');
  return [
    {
      name: 'A20 names in handshakes',
      over: 'raw',
      sent: ['localhost\0.evil', '\0', '', 'a'.repeat(16_000), '\xff\xfe\r\n'].map((name) =>
        clientHello({ name: text(name) }),
      ),
    },
    {
      name: 'A20 protocols in handshakes',
      over: 'raw',
      sent: [
        ['h2'],
        ['\0'],
        ['x'.repeat(255), 'h2c'],
        ['http/1.1', ...Array.from({ length: 200 }, (_, i) => `p${i}`)],
      ].map((names) => clientHello({ name: text('localhost'), protocols: names.map(text) })),
    },
    {
      name: 'A20 headers named __proto__',
      over: 'kept',
      sent: [`GET /livez HTTP/1.1\r\nHost: x\r\n__proto__: x\r\n__PROTO__: y\r\nconstructor: z\r\n\r\n`],
    },
    {
      name: 'A20 HTTP/2: malformed HEADERS',
      over: 'new',
      sent: [preface(frame(HEADERS, 4, 1, malformed)), preface(frame(HEADERS, 4, 0, fields))],
    },
    {
      name: 'A20 HTTP/2: WINDOW_UPDATE',
      over: 'new',
      sent: [preface(...HUNDRED.map((stream) => frame(WINDOW_UPDATE, 0, stream, increment)))],
    },
    {
      name: 'A20 HTTP/2: rapid reset',
      over: 'new',
      sent: [
        preface(
          ...HUNDRED.flatMap((stream) => [
            frame(HEADERS, 4, stream, fields),
            frame(RST_STREAM, 0, stream, Buffer.alloc(4)),
          ]),
        ),
      ],
    },
    {
      name: 'A20 HTTP/2: CONTINUATION',
      over: 'new',
      sent: [preface(frame(HEADERS, 0, 1, fields), ...HUNDRED.map(() => frame(CONTINUATION, 0, 1, malformed)))],
    },
    {
      name: 'A20 addresses in requests',
      over: 'new',
      sent: [
        `GET http://xn--\xfc\xff.example:99999/livez HTTP/1.1\r\nHost: x\r\n\r\n`,
        `GET http://xn--iñvalid-.example/ HTTP/1.1\r\nHost: [::1\r\n\r\n`,
        `GET //\\@evil.example/%ff%00 HTTP/1.1\r\nHost: x\r\n\r\n`,
      ].map(text),
    },
    {
      name: 'A20 what the wire may not carry',
      over: 'new',
      sent: refusedRequests({ get: '/', post: TOKEN, head: `${auth}Connection: close\r\n` }).map(([, , bytes]) =>
        text(bytes),
      ),
    },
    {
      name: 'A20 unknown tokens',
      over: 'kept',
      sent: Array.from({ length: 100 }, (_, i) => post(`eyJhbGciOiJFUzI1NiJ9.e30.${'A'.repeat(80)}${i}`, '{}')),
    },
    {
      name: 'A19 bodies',
      over: 'kept',
      sent: [
        '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"spec":{"audiences":["x"]}}',
        `{"spec":{"audiences":["x"]},"a":${'['.repeat(10_000)}}`,
        `{${Array.from({ length: 5_000 }, (_, i) => `"k${i}":1`).join(',')}}`,
        `{${'"a":1,'.repeat(3_000)}"a":2}`,
      ].map((body) => post(token, body)),
    },
    {
      name: 'A21 requests that are left half',
      over: 'new',
      leaves: true,
      sent: [
        'GET /livez HTTP/1.1\r\nX: ',
        `POST ${TOKEN} HTTP/1.1\r\n${auth}Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n{`,
      ],
    },
    {
      name: 'A21 bodies that stop',
      over: 'new',
      sent: [`POST ${TOKEN} HTTP/1.1\r\n${auth}Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n{`],
    },
    {
      name: 'A21 bodies after the answer',
      over: 'new',
      sent: [
        `GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000000\r\n\r\n${'x'.repeat(1024 * 1024)}`,
        `POST ${TOKEN} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000000\r\n\r\n${'x'.repeat(1024 * 1024)}`,
      ],
    },
    {
      name: 'A21 connections and nothing else',
      over: 'raw',
      leaves: true,
      sent: [new Uint8Array()],
    },
    {
      name: 'A18 watches that come and go',
      over: 'new',
      sent: [`GET ${WATCH} HTTP/1.1\r\n${auth}\r\n`],
    },
    { name: 'D6 lists of passes', over: 'kept', sent: [post(token, PASSES, '/auth/v1/passes')] },
    {
      name: 'D7 revocations',
      over: 'kept',
      sent: REVOCATIONS.map((path) => `DELETE ${path} HTTP/1.1\r\n${auth}Content-Length: 0\r\n\r\n`),
    },
  ];
}
