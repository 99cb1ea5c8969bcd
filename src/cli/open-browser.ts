import { spawn } from 'node:child_process';
import type { Context } from './command.ts';

/** The program that opens a URL. It is started without a shell, so the URL is only an argument. */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};
const DEFAULT_OPENER = ['xdg-open'] as const;

/** Ignores failures: the address is printed as well. */
export function openBrowser(address: URL, env: Context['env']): void {
  if (address.protocol !== 'https:' && address.protocol !== 'http:') return;
  const [command, ...args] = OPENERS[process.platform] ?? DEFAULT_OPENER;
  const child = spawn(command, [...args, address.href], { env: { ...env }, stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}
