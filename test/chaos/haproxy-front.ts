import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { haproxy, whyMissing } from '../../scripts/programs.ts';
import { freePorts } from '../conformance/etcd-process.ts';

export interface Front {
  readonly url: string;
  close(): Promise<void>;
}

/** The real HAProxy in front of the replicas, which it asks for /readyz. Undefined where it is not installed. */
export async function startFront(ports: readonly number[]): Promise<Front | undefined> {
  if (whyMissing(haproxy) !== undefined) return undefined;
  const [port = 0] = await freePorts(1);
  const folder = await mkdtemp(join(tmpdir(), 'clusterpass-front-'));
  const file = join(folder, 'haproxy.cfg');
  const check = 'check inter 200ms fastinter 100ms downinter 200ms fall 2 rise 1';
  await writeFile(
    file,
    `${[
      'global',
      '  nbthread 1',
      'defaults',
      '  mode http',
      '  timeout connect 1s',
      '  timeout check 2s',
      '  timeout client 30s',
      '  timeout server 30s',
      '  retries 3',
      '  option redispatch 1',
      'listen front',
      `  bind 127.0.0.1:${port}`,
      '  balance random',
      '  option httpchk GET /readyz',
      '  http-reuse never',
      ...ports.map((one, i) => `  server r${i} 127.0.0.1:${one} ${check}`),
    ].join('\n')}\n`,
  );
  const child = spawn(haproxy.path, ['-db', '-f', file], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  while (!(await listens(port))) await delay(20);
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      child.kill('SIGKILL');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('close', () => socket.destroy());
    socket.unref();
    setTimeout(() => socket.destroy(), 100).unref();
  });
