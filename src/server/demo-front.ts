import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { AUTHENTICATED, type User } from '../api/caller.ts';
import { type ContextEntry, clusterFields, kubeconfigOf } from '../api/kubeconfig.ts';
import type { ServeOptions } from '../config/serve-options.ts';
import { tlsOptions } from '../http/listener/tls.ts';
import { fileProblem } from '../lib/file-problem.ts';
import { validityOf } from '../lib/key-pair-files.ts';
import { ensureSecretFile, readSecretFile, replaceSecretFile } from '../lib/secret-file.ts';
import { selfSigned } from '../lib/self-signed.ts';
import type { Logger } from '../observability/logger.ts';

const user = (name: string, ...groups: string[]): User => ({
  name,
  uid: `demo:${name}`,
  groups: [...groups, AUTHENTICATED],
  extra: {},
});

/** The callers of the demo fleet; demo/rbac.yaml grants their rights. */
export const DEMO_USERS: readonly User[] = [user('dana', 'platform-admins'), user('devi', 'team-shop'), user('carl')];

type FrontOptions = Pick<ServeOptions, 'dataDir' | 'demo' | 'demoTlsListen' | 'listen' | 'tls'>;

const DAY_MS = 86_400_000;
const VALID_DAYS = 365;
const HANDSHAKE_TIMEOUT_MS = 10_000;

/**
 * The demo over TLS: kubectl sends tokens over TLS only. Passes connections at `--demo-tls-listen` on to the listener
 * of the server, and writes the kubeconfig. If another program has the port, e.g. another demo, a free one is used,
 * with a warning. Undefined for a server without the demo or with a certificate.
 */
export async function openDemoFront(
  { dataDir, demo, demoTlsListen, listen, tls }: FrontOptions,
  baseUrl: string,
  logger: Logger,
) {
  if (!demo || demoTlsListen === undefined || tls !== undefined) return undefined;
  // A port that the system has chosen is in the base URL.
  const listener = { host: listen.host, port: listen.port === 0 ? Number(new URL(baseUrl).port) : listen.port };
  const pair = await certificateIn(dataDir, demoTlsListen.host);
  const sockets = new Set<Socket>();
  const server = createServer({ ...tlsOptions(HANDSHAKE_TIMEOUT_MS), ...pair }, (socket) => {
    const inner = connect(listener);
    for (const [one, other] of [
      [socket, inner],
      [inner, socket],
    ] as const) {
      sockets.add(one);
      one
        .on('error', () => other.destroy())
        .on('close', () => {
          sockets.delete(one);
          other.destroy();
        });
      one.pipe(other);
    }
  });
  for (const { host, port } of [demoTlsListen, { ...demoTlsListen, port: 0 }]) {
    server.listen({ host, port });
    const failed = await once(server, 'listening').then(() => undefined, fileProblem);
    if (failed === undefined) break;
    const address = `${host}:${port}`;
    logger.warn({ address, problem: failed }, 'the demo has no TLS here: choose another --demo-tls-listen');
  }
  if (!server.listening) return undefined;
  const { port } = server.address() as AddressInfo;
  const url = `https://${demoTlsListen.host}:${port}`;
  return {
    url,
    /** A context for each caller of the demo, with its token: no program is needed for one. */
    kubeconfig: await writeKubeconfig(dataDir, url, pair.cert),
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Made once, and again when it is about to expire: kubeconfigs and browsers keep their trust meanwhile. */
async function certificateIn(dataDir: string, host: string): Promise<{ readonly cert: string; readonly key: string }> {
  const [certFile, keyFile] = [join(dataDir, 'demo/tls.crt'), join(dataDir, 'demo/tls.key')];
  const [cert, key] = [await readSecretFile(certFile), await readSecretFile(keyFile)];
  const now = Date.now();
  if (cert !== undefined && key !== undefined && validityOf({ cert }).until > now + DAY_MS) {
    return { cert: String(cert), key: String(key) };
  }
  const made = selfSigned([host, 'localhost'], new Date(now - DAY_MS), new Date(now + VALID_DAYS * DAY_MS));
  await putSecretFile(keyFile, Buffer.from(made.key));
  await putSecretFile(certFile, Buffer.from(made.cert));
  return made;
}

async function putSecretFile(path: string, content: Buffer): Promise<void> {
  const found = await ensureSecretFile(path, () => content);
  if (!found.equals(content)) await replaceSecretFile(path, content);
}

async function writeKubeconfig(dataDir: string, url: string, cert: string): Promise<string> {
  const cluster = clusterFields(url, Buffer.from(cert).toString('base64'));
  const [first, ...others] = await Promise.all(
    DEMO_USERS.map(async ({ name }): Promise<ContextEntry> => {
      const token = (await readFile(join(dataDir, 'demo', `${name}.token`), 'utf8')).trim();
      return { name, userName: name, cluster, user: { token }, namespace: 'default' };
    }),
  );
  if (first === undefined) throw new Error('the demo has callers');
  const file = join(dataDir, 'kubeconfig');
  // JSON, which is YAML.
  await putSecretFile(file, Buffer.from(`${JSON.stringify(kubeconfigOf([first, ...others]), null, 2)}\n`));
  return file;
}
