import { spawn } from 'node:child_process';
import type { Context } from './command.ts';

/** What opens an address, on each system. No shell is between: an address is nothing but an argument. */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};
const OTHERWISE = ['xdg-open'] as const;

/** The address has been printed, too: whether this works is not waited for. */
export function openBrowser(address: URL, env: Context['env'], platform = process.platform): void {
  if (address.protocol !== 'https:' && address.protocol !== 'http:') return;
  const [command, ...args] = OPENERS[platform] ?? OTHERWISE;
  const child = spawn(command, [...args, address.href], { env: { ...env }, stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}
