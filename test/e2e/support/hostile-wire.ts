/** Bytes that are sent to the listener, directly and through nginx and HAProxy: C-H, A20, A22. */

/** Paths and headers of the requests, because the corpus is sent to different servers. */
export interface Aim {
  /** A path to GET. */
  readonly get: string;
  /** A path to POST to. */
  readonly post: string;
  /** Header lines, `Host` among them, each with its CRLF. */
  readonly head: string;
}

/** Requests that must not reach a handler, with the status code. Each gets one response, then the connection closes. */
export function refusedRequests({ get, post, head }: Aim): readonly [name: string, code: number, bytes: string][] {
  const posts = (headers: string, body: string): string => `POST ${post} HTTP/1.1\r\n${head}${headers}\r\n\r\n${body}`;
  const target = (path: string): string => `GET ${path} HTTP/1.1\r\n${head}\r\n`;
  const JSON_BODY = 'Content-Type: application/json';
  return [
    ['Content-Length and Transfer-Encoding', 400, posts('Content-Length: 2\r\nTransfer-Encoding: chunked', '{}')],
    ['two Content-Length', 400, posts('Content-Length: 2\r\nContent-Length: 3', '{}')],
    ['a transfer coding that only ends like chunked', 400, posts('Transfer-Encoding: xchunked', '0\r\n\r\n')],
    ['a transfer coding on a GET', 400, `GET ${post} HTTP/1.1\r\n${head}Transfer-Encoding: identity\r\n\r\n`],
    ['chunked, identity', 400, posts('Transfer-Encoding: chunked, identity', '0\r\n\r\n')],
    [
      'a transfer coding in HTTP/1.0',
      400,
      `POST ${post} HTTP/1.0\r\n${head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    ],
    ['an obsolete line fold', 400, `GET ${get} HTTP/1.1\r\n${head}X: a\r\n b\r\n\r\n`],
    ['a space before the colon', 400, `GET ${get} HTTP/1.1\r\n${head}X : a\r\n\r\n`],
    ['a bare LF', 400, `GET ${get} HTTP/1.1\nHost: x\n\n`],
    ['a bare CR in a header', 400, `GET ${get} HTTP/1.1\r\n${head}X: a\rb\r\n\r\n`],
    ['a NUL in a header', 400, `GET ${get} HTTP/1.1\r\n${head}X: a\0b\r\n\r\n`],
    ['no Host', 400, `GET ${get} HTTP/1.1\r\nConnection: close\r\n\r\n`],
    ['two Hosts', 400, `GET ${get} HTTP/1.1\r\n${head}Host: y\r\n\r\n`],
    ['two Authorizations', 400, `GET ${get} HTTP/1.1\r\n${head}Authorization: Bearer nobody\r\n\r\n`],
    ['two Content-Types', 400, posts(`${JSON_BODY}\r\nContent-Type: application/yaml\r\nContent-Length: 2`, '{}')],
    ['the absolute form', 400, target('http://x/livez')],
    ['the asterisk form', 400, target('*')],
    ['a fragment', 400, target('/livez#x')],
    ['a backslash', 400, target('/apis\\x')],
    ['an encoded slash', 400, target('/apis/clusterregistry.k8s.io/v1alpha1/clusters/..%2fsecrets')],
    ['raw UTF-8 in the path', 400, target('/\xc3\xbc')],
    ['HTTP/0.9', 400, `GET /livez HTTP/0.9\r\n${head}\r\n`],
    ['the preface of HTTP/2', 400, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a TLS handshake', 400, '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['a bad chunk length', 400, posts(`${JSON_BODY}\r\nTransfer-Encoding: chunked`, 'zz\r\n{}\r\n0\r\n\r\n')],
    [
      '20 KB of chunk extensions',
      413,
      posts('Transfer-Encoding: chunked', `2;${'a'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`),
    ],
    ['a header of 20 KB', 431, `GET ${get} HTTP/1.1\r\n${head}X: ${'a'.repeat(20_000)}\r\n\r\n`],
    ['101 headers', 431, `GET ${get} HTTP/1.1\r\n${head}${'X: a\r\n'.repeat(98)}\r\n`],
    [
      'Authorization after 2,100 headers',
      431,
      `GET ${get} HTTP/1.1\r\nHost: x\r\n${'a:\r\n'.repeat(2100)}Authorization: Bearer admin\r\n\r\n`,
    ],
    ['an unmet expectation', 417, posts('Expect: junk', '')],
    ['TRACE', 405, `TRACE ${get} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`],
    ['OPTIONS', 405, `OPTIONS ${get} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`],
    ['an unknown method', 405, `BREW ${get} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`],
  ];
}

/**
 * Requests whose end depends on the parser, with another request between the two possible ends. The listener refuses
 * each, except those that are `lawful`: their body is a body, and only looks like a request.
 */
export function splitRequests({ get, post, head }: Aim, inner: string): readonly SplitRequest[] {
  const json = `${head}Content-Type: application/json\r\n`;
  const start = `POST ${post} HTTP/1.1\r\n${json}`;
  /** By chunks: an empty body, then the inner request. By the length: one body. */
  const ended = `0\r\n\r\n${inner}`;
  /** By chunks: the inner request in a chunk. By the length of the first line: after the body. */
  const size = `${inner.length.toString(16)}\r\n`;
  const chunk = `${size}${inner}\r\n0\r\n\r\n`;
  const all = `Content-Length: ${ended.length}\r\n`;
  const chunked = 'Transfer-Encoding: chunked\r\n';

  const lengths: readonly [string, string][] = [
    ['the same twice', `${all}${all}`],
    ['another one first', `Content-Length: 0\r\n${all}`],
    ['another one second', `${all}Content-Length: 0\r\n`],
    ['a list', `Content-Length: ${ended.length}, ${ended.length}\r\n`],
    ['a list of two', `Content-Length: 0, ${ended.length}\r\n`],
    ['a sign', `Content-Length: +${ended.length}\r\n`],
    ['less than nothing', 'Content-Length: -1\r\n'],
    ['in base sixteen', `Content-Length: 0x${ended.length.toString(16)}\r\n`],
    ['more than 64 bits', `Content-Length: ${2n ** 64n + BigInt(ended.length)}\r\n`],
    ['a vertical tab', `Content-Length: \x0b${ended.length}\r\n`],
    ['a space before the colon', `Content-Length : ${ended.length}\r\n`],
    ['folded', `Content-Length:\r\n ${ended.length}\r\n`],
    ['after a bare LF', `X: a\nContent-Length: ${ended.length}\r\n`],
    ['after a bare CR', `X: a\rContent-Length: ${ended.length}\r\n`],
    ['after a NUL', `X: a\0\r\n${all}`],
  ];
  const codings: readonly [string, string][] = [
    ['chunked', chunked],
    ['chunked in capitals', 'TRANSFER-ENCODING: CHUNKED\r\n'],
    ['chunked twice', `${chunked}${chunked}`],
    ['chunked and another', `${chunked}Transfer-Encoding: x\r\n`],
    ['another and chunked', 'Transfer-Encoding: x, chunked\r\n'],
    ['identity', 'Transfer-Encoding: identity\r\n'],
    ['nothing', 'Transfer-Encoding:\r\n'],
    ['quoted', 'Transfer-Encoding: "chunked"\r\n'],
    ['with a parameter', 'Transfer-Encoding: chunked;x=y\r\n'],
    ['a letter too many', 'Transfer-Encoding: xchunked\r\n'],
    ['a vertical tab', 'Transfer-Encoding: \x0bchunked\r\n'],
    ['a space before the colon', 'Transfer-Encoding : chunked\r\n'],
    ['a name on its own line', 'Transfer-Encoding\r\n : chunked\r\n'],
    ['folded', 'Transfer-Encoding:\r\n chunked\r\n'],
    ['after a bare LF', 'X: a\nTransfer-Encoding: chunked\r\n'],
    ['after a bare CR', 'X: a\rTransfer-Encoding: chunked\r\n'],
  ];
  const sizes: readonly [string, string][] = [
    ['in C', `0x${size}`],
    ['less than nothing', '-1\r\n'],
    ['nothing', '\r\n'],
    ['with a space before it', ` ${size}`],
    ['ended by a bare LF', size.replace('\r', '')],
    ['ended by a bare CR', size.replace('\n', '')],
    ['more than 64 bits', `1${inner.length.toString(16).padStart(16, '0')}\r\n`],
    ['with an extension that a bare LF ends', size.replace('\r\n', ';x\n')],
  ];
  const refused: readonly [string, string][] = [
    ...lengths.map(([name, lines]): [string, string] => [`length: ${name}`, `${start}${lines}\r\n${ended}`]),
    ...codings.map(([name, lines]): [string, string] => [
      `coding and length: ${name}`,
      `${start}${lines}${all}\r\n${ended}`,
    ]),
    ['length and coding', `${start}${all}${chunked}\r\n${ended}`],
    ['a short length and a coding', `${start}Content-Length: ${size.length}\r\n${chunked}\r\n${chunk}`],
    ...sizes.map(([name, line]): [string, string] => [
      `size of a chunk: ${name}`,
      `${start}${chunked}\r\n${line}${inner}\r\n0\r\n\r\n`,
    ]),
    ['a chunk that is longer than it says', `${start}${chunked}\r\n2\r\n{}${inner}\r\n0\r\n\r\n`],
    ['a chunk that ends with a bare LF', `${start}${chunked}\r\n2\r\n{}\n0\r\n\r\n${inner}`],
    ['chunks in HTTP/1.0', `POST ${post} HTTP/1.0\r\n${json}${chunked}\r\n${ended}`],
  ];
  const lawful: readonly [string, string][] = [
    ['a body', `${start}${all}\r\n${ended}`],
    ['a chunk', `${start}${chunked}\r\n${chunk}`],
    ['a chunk with an extension', `${start}${chunked}\r\n${chunk.replace('\r\n', ';x="y"\r\n')}`],
    ['a size with zeros before it', `${start}${chunked}\r\n000000000000${chunk}`],
    ['a length among the trailers', `${start}${chunked}\r\n${chunk.replace(/\r\n$/, 'Content-Length: 0\r\n\r\n')}`],
    ['a body of a GET', `GET ${get} HTTP/1.1\r\n${head}${all}\r\n${ended}`],
    ['a body of a HEAD', `HEAD ${get} HTTP/1.1\r\n${head}${all}\r\n${ended}`],
    ['a body of a DELETE', `DELETE ${get} HTTP/1.1\r\n${json}${all}\r\n${ended}`],
    ['a body that is sent before 100 (Continue)', `${start}Expect: 100-continue\r\n${all}\r\n${ended}`],
    ['a body without a caller', `POST ${post} HTTP/1.1\r\nHost: x\r\n${all}Connection: close\r\n\r\n${ended}`],
    ['a body in HTTP/1.0', `POST ${post} HTTP/1.0\r\n${json}${all}\r\n${ended}`],
    ['a length that is not to be handed on', `${start}${all}Connection: close, Content-Length\r\n\r\n${ended}`],
    ['a coding that is not to be handed on', `${start}${chunked}Connection: close, Transfer-Encoding\r\n\r\n${chunk}`],
    ['another protocol', `${start}${all}Connection: close, Upgrade\r\nUpgrade: h2c\r\n\r\n${ended}`],
    ['a coding with an underscore', `${start}Transfer_Encoding: chunked\r\n${all}\r\n${ended}`],
  ];
  return [
    ...refused.map(([name, bytes]) => ({ name, bytes, lawful: false })),
    ...lawful.map(([name, bytes]) => ({ name, bytes, lawful: true })),
  ];
}

export interface SplitRequest {
  readonly name: string;
  readonly bytes: string;
  readonly lawful: boolean;
}
