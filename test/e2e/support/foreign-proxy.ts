import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { haproxy, nginx } from '../../../scripts/programs.ts';
import { freePorts } from '../../conformance/etcd-process.ts';
import { TLS } from './server.ts';

/** The real nginx and HAProxy, with the files of deploy/. Only addresses and paths are changed. */
export interface ForeignProxy {
  readonly url: string;
  readonly port: number;
  /** Its access log so far, in the format that its file in deploy/ sets. */
  log(): Promise<ProxyLine[]>;
  destroy(): Promise<void>;
}

/** One request as the proxy saw it. */
export interface ProxyLine {
  readonly clientAddress: string;
  readonly clientPort: number;
  /** Undefined when it sent the server no request, or got no response. */
  readonly auditId: string | undefined;
  readonly code: number;
  readonly method: string;
  readonly path: string;
}

export interface ProxyKind {
  readonly name: string;
  readonly program: typeof nginx;
  start(upstreamPort: number): Promise<ForeignProxy>;
}

type Changes = readonly (readonly [from: string | RegExp, to: string])[];

/** A file of deploy/ with these changes. Each of them must apply. */
async function adapted(path: string, changes: Changes): Promise<string> {
  let text = await readFile(fileURLToPath(new URL(`../../../deploy/${path}`, import.meta.url)), 'utf8');
  for (const [from, to] of changes) {
    const next = text.replaceAll(typeof from === 'string' ? from : new RegExp(from, 'gm'), to);
    if (next === text) throw new Error(`deploy/${path} has no ${from}`);
    text = next;
  }
  return text;
}

const startNginx = async (upstreamPort: number, changes: Changes): Promise<ForeignProxy> => {
  const [port = 0] = await freePorts(1);
  const folder = await mkdtemp(join(tmpdir(), 'clusterpass-nginx-'));
  const log = join(folder, 'access.log');
  const file = await adapted('nginx/clusterpass.conf', [
    ['listen 443 ssl', `listen 127.0.0.1:${port} ssl`],
    ['/etc/nginx/clusterpass/tls.crt', TLS.certFile],
    ['/etc/nginx/clusterpass/tls.key', TLS.keyFile],
    ['/etc/nginx/clusterpass/ca.crt', TLS.caFile],
    ['/var/log/nginx/clusterpass.log', log],
    ['proxy_ssl_name clusterpass.example.com', 'proxy_ssl_name localhost'],
    [/^ *server 10\.0\.0\.1[23]:8443;\n/, ''],
    ['10.0.0.11:8443', `127.0.0.1:${upstreamPort}`],
    ...changes,
  ]);
  await writeFile(join(folder, 'clusterpass.conf'), file);
  // Debian's nginx.conf sets these folders. One process, so that all clients share its connections.
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((n) => `${n}_temp_path ${folder}/${n};`);
  const main = join(folder, 'nginx.conf');
  await writeFile(
    main,
    [
      `daemon off; master_process off; pid ${folder}/pid; error_log stderr warn;`,
      `events { worker_connections 512; }`,
      `http { ${places.join(' ')} include ${folder}/clusterpass.conf; }`,
      '',
    ].join('\n'),
  );
  return run(NGINX, ['-e', 'stderr', '-p', folder, '-c', main], { port, folder, read: () => readFile(log, 'utf8') });
};

export const NGINX: ProxyKind = {
  name: 'nginx',
  program: nginx,
  start: (upstreamPort) => startNginx(upstreamPort, []),
};

/** States a shorter length for every body: the server reads the rest as another request. */
export const LYING_NGINX: ProxyKind = {
  name: 'an nginx that lies',
  program: nginx,
  start: (upstreamPort) =>
    startNginx(upstreamPort, [
      [/^upstream/, 'map $$request_method $$length { POST 5; default ""; }\nupstream'],
      ['proxy_http_version 1.1;', 'proxy_http_version 1.1; proxy_set_header Content-Length $$length;'],
    ]),
};

const startHaproxy = async (upstreamPort: number, changes: Changes): Promise<ForeignProxy> => {
  const [port = 0] = await freePorts(1);
  const folder = await mkdtemp(join(tmpdir(), 'clusterpass-haproxy-'));
  const certificate = join(folder, 'clusterpass.pem');
  await writeFile(certificate, `${await readFile(TLS.certFile, 'utf8')}${await readFile(TLS.keyFile, 'utf8')}`);
  const main = join(folder, 'haproxy.cfg');
  const file = await adapted('haproxy/haproxy.cfg', [
    // One thread, so that all clients share its connections.
    ['log /dev/log local0', 'log stdout format raw local0\n    nbthread 1'],
    // Not the name of the frontend: HAProxy 3.3 refuses two sections of one name.
    ['backend replicas', 'backend servers'],
    ['bind :443', `bind 127.0.0.1:${port}`],
    ['/etc/haproxy/clusterpass.pem', certificate],
    ['/etc/haproxy/clusterpass-ca.crt', TLS.caFile],
    ['clusterpass.example.com', 'localhost'],
    [/^ *server replica-[23] .*\n/, ''],
    ['10.0.0.11:8443', `127.0.0.1:${upstreamPort}`],
    ...changes,
  ]);
  await writeFile(main, file);
  return run(HAPROXY, ['-db', '-f', main], { port, folder });
};

export const HAPROXY: ProxyKind = {
  name: 'HAProxy',
  program: haproxy,
  start: (upstreamPort) => startHaproxy(upstreamPort, []),
};

/** Shares connections to the server as widely as HAProxy can. */
export const SHARING_HAPROXY: ProxyKind = {
  name: 'HAProxy with http-reuse always',
  program: haproxy,
  start: (upstreamPort) => startHaproxy(upstreamPort, [['http-reuse safe', 'http-reuse always']]),
};

async function run(
  { name, program }: ProxyKind,
  args: readonly string[],
  { port, folder, read }: { port: number; folder: string; read?: () => Promise<string> },
): Promise<ForeignProxy> {
  const child = spawn(program.path, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: process.env.PATH } });
  const said = { stdout: '', stderr: '' };
  for (const from of ['stdout', 'stderr'] as const) {
    child[from].setEncoding('utf8').on('data', (text: string) => {
      said[from] += text;
    });
  }
  const ended = once(child, 'close');
  await listening(child, port, () => `${name} did not start:\n${said.stdout}${said.stderr}`);
  return {
    url: `https://127.0.0.1:${port}`,
    port,
    log: async () => linesOf(read === undefined ? said.stdout : await read()),
    destroy: async () => {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function listening(child: ChildProcess, port: number, problem: () => string): Promise<void> {
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(problem());
    const socket = connect(port, '127.0.0.1');
    const is = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    socket.destroy();
    if (is) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Time, address and port, audit id, code, duration, method, path. Other lines are not about requests. */
const LINE = /^\S+ (\d+\.\d+\.\d+\.\d+):(\d+) (\S+) (\d+) [\d.+-]+ (\S+) (.*)$/gm;

const linesOf = (text: string): ProxyLine[] =>
  [...text.matchAll(LINE)].map(([, clientAddress = '', port, auditId, code, method = '', path = '']) => ({
    clientAddress,
    clientPort: Number(port),
    auditId: auditId === '-' ? undefined : auditId,
    code: Number(code),
    method,
    path,
  }));
