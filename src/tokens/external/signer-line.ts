import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { SignerAddress } from '../../api/signer-address.ts';
import type { Line } from './line-channel.ts';

export const openSignerLine = (address: SignerAddress): Promise<Line> =>
  address.type === 'unix' ? openSocket(address.path) : openProgram(address.command, address.args);

async function openSocket(path: string): Promise<Line> {
  const socket = connect({ path });
  await once(socket, 'connect');
  return {
    input: socket,
    output: socket,
    ended: once(socket, 'close').then(() => 'the signer closed the connection'),
    close: () => socket.destroy(),
  };
}

/** Without a shell: what was given is the program and its arguments, and nothing in it means more than that. */
async function openProgram(command: string, args: readonly string[]): Promise<Line> {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(`the signer ended with ${signal ?? code}`));
    child.once('error', (error) => resolve(`the signer can not be started: ${error.message}`));
  });
  await once(child, 'spawn');
  return {
    input: child.stdin,
    output: child.stdout,
    ended,
    close: () => {
      child.stdin.end();
      child.kill('SIGTERM');
    },
  };
}
