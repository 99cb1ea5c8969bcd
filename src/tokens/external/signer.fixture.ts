import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

/** A signer on a Unix socket that responds as the test wants. */

export interface SignerRequest {
  readonly id: number;
  readonly op: string;
  readonly payload?: string;
}

export type Respond = (request: SignerRequest) => object | string | undefined;

export const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

export interface TestKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly published: { readonly kid: string; readonly alg: string; readonly jwk: object };
}

export function newTestKey(kid: string): TestKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { kty, crv, x, y } = createPublicKey(privateKey).export({ format: 'jwk' });
  return { kid, privateKey, published: { kid, alg: 'ES256', jwk: { kty, crv, x, y } } };
}

export const signed = ({ privateKey }: TestKey, header: string, payload: string): string =>
  sign('sha256', Buffer.from(`${header}.${payload}`), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString(
    'base64url',
  );

/** Responds as it should. */
export const honest =
  (key: TestKey, header: object = { alg: 'ES256', kid: key.kid }): Respond =>
  ({ id, op, payload = '' }) =>
    op === 'keys'
      ? { id, keys: [key.published] }
      : { id, header: encoded(header), signature: signed(key, encoded(header), payload) };

export interface TestSigner {
  readonly path: string;
  /** From now on. */
  respond: Respond;
  readonly requests: SignerRequest[];
  /** How many are open. */
  connections(): number;
  /** Closes every connection. */
  disconnect(): void;
  close(): Promise<void>;
}

export async function startTestSigner(path: string, respond: Respond): Promise<TestSigner> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    createInterface({ input: socket }).on('line', (line) => {
      const request = JSON.parse(line) as SignerRequest;
      signer.requests.push(request);
      const response = signer.respond(request);
      if (response !== undefined)
        socket.write(typeof response === 'string' ? response : `${JSON.stringify(response)}\n`);
    });
  });
  const disconnect = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const signer: TestSigner = {
    path,
    respond,
    requests: [],
    connections: () => sockets.size,
    disconnect,
    async close() {
      disconnect();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return signer;
}
