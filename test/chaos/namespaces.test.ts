import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePorts } from '../conformance/etcd-process.ts';
import { openNetwork, whyNoNetwork } from './namespaces.ts';

/** A server that prints each request, and answers with its time of day. */
const SERVER = `require('node:http').createServer((_, response) => {
  console.log('asked');
  response.end(String(Date.now()));
}).listen(PORT, () => console.log('listens'))`;

/** This process, in the network. */
const HERE = -1;

const reason = whyNoNetwork();
// Root of a machine may have them, that of a container may not.
const skipped = reason === undefined ? '' : ` (skipped: ${reason})`;
describe.skipIf(reason !== undefined)(`machines in network namespaces${skipped}`, () => {
  it('lose packets of one direction, and have separate clocks', async () => {
    const network = await openNetwork(1);
    let pid: number | undefined;
    onTestFinished(async () => {
      await network.close();
      expect(globSync(`/dev/shm/*faketime*_${pid}`)).toEqual([]);
    });
    const [host] = network.hosts;
    if (host === undefined) throw new Error('there is one');
    const [port = 0] = await freePorts(1);
    const [command = '', ...args] = [...host.runner, process.execPath, '-e', SERVER.replace('PORT', `${port}`)];
    const server = spawn(command, args, {
      env: { ...process.env, ...host.env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(async () => {
      server.kill('SIGKILL');
      await once(server, 'exit');
    });
    pid = server.pid;
    let printed = '';
    server.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
    await expect.poll(() => printed).toContain('listens');
    const socket = connect(port, host.address);
    onTestFinished(() => void socket.destroy());
    let answers = 0;
    socket.on('data', () => {
      answers += 1;
    });
    const ask = (): boolean => socket.write('GET / HTTP/1.1\r\nHost: machine\r\n\r\n');
    const asked = (): number => printed.match(/asked/g)?.length ?? 0;
    ask();
    await expect.poll(() => [asked(), answers]).toEqual([1, 1]);
    network.set(0, HERE, { loss: 100 });
    ask();
    await expect.poll(asked).toBe(2);
    expect(answers).toBe(1);
    network.set(0, HERE, {});
    await expect.poll(() => answers, { timeout: 30_000 }).toBe(2);
    network.set(HERE, 0, { duplicate: 50, delay: 5, jitter: 20 });
    host.setClock(3_600);
    const offset = async (): Promise<number> =>
      Number(await (await fetch(`http://${host.address}:${port}`)).text()) - Date.now();
    await expect.poll(offset, { timeout: 30_000 }).toBeGreaterThan(3_000_000);
  });
});
