import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { KUBECTL } from '../../scripts/setup-kubectl.mjs';
import { PROGRAM } from '../program.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The first line of a block of commands that need what the tests do not have, such as a real cluster. */
export const NOT_RUN = '# not run by the tests\n';

const READY_WITHIN_MS = 60_000;

/** A fenced block. */
export interface Block {
  readonly language: string;
  readonly text: string;
  /** The text of the heading above it. */
  readonly section: string;
}

export const readPage = (name: string): string => readFileSync(join(ROOT, 'docs', name), 'utf8');

export function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  let section = '';
  for (const [, heading, language = '', text = ''] of page.matchAll(/^(?:#+ ([^\n]*)|```(\w*)\n(.*?)^```)$/gms)) {
    if (heading !== undefined) section = heading;
    else blocks.push({ language, text, section });
  }
  return blocks;
}

/** Blocks of commands that the tests run. */
export const runnable = ({ language, text }: Block): boolean => language === 'sh' && !text.startsWith(NOT_RUN);

export interface Ran {
  readonly code: number | null;
  readonly output: string;
}

/**
 * Runs the blocks of a page, each in a new shell, in an empty folder that is also the home directory. `clusterpass` and
 * `kubectl` are on the PATH. `clusterpass serve` goes on running beside the later blocks.
 */
export class PageRunner {
  readonly folder: string;
  readonly #servers: ChildProcess[] = [];
  readonly #replacements: readonly (readonly [string, string])[];
  readonly #env: Readonly<Record<string, string>>;

  /** `replacements`: what stands for addresses and folders of the page. */
  constructor(
    replacements: (folder: string) => readonly (readonly [string, string])[],
    env: Readonly<Record<string, string>> = {},
  ) {
    this.folder = mkdtempSync(join(tmpdir(), 'clusterpass-page-'));
    this.#replacements = replacements(this.folder);
    this.#env = env;
    const bin = join(this.folder, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'clusterpass'), `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`);
    writeFileSync(join(bin, 'sudo'), '#!/bin/sh\nexec "$@"\n');
    for (const name of ['clusterpass', 'sudo']) chmodSync(join(bin, name), 0o755);
    symlinkSync(KUBECTL, join(bin, 'kubectl'));
  }

  /** The text of the page with the addresses of this test. */
  localize(text: string): string {
    return this.#replacements.reduce((all, [from, to]) => all.replaceAll(from, to), text);
  }

  /** A block of YAML whose first line is `# name.yaml`, or of CSV, is that file. Resolves with undefined for others. */
  async run(block: Block): Promise<Ran | undefined> {
    const file = /^# (\S+\.(?:yaml|csv))\n/.exec(block.text)?.[1];
    if (block.language !== 'sh' && file !== undefined) {
      writeFileSync(join(this.folder, file), this.localize(block.text), { mode: 0o600 });
      return undefined;
    }
    if (!runnable(block)) return undefined;
    const text = this.localize(block.text);
    return /^clusterpass serve\b/m.test(text) ? this.#serve(text) : this.shell(text);
  }

  async shell(text: string): Promise<Ran> {
    const child = this.#spawn(text);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (part: string) => {
        output += part;
      });
    }
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, output };
  }

  /** Resolves when the server is ready or has ended; with code null if it takes too long. */
  async #serve(text: string): Promise<Ran> {
    // The last command: a signal to the shell is one to the server.
    const child = this.#spawn(text.replace(/^clusterpass serve\b/m, 'exec clusterpass serve'));
    this.#servers.push(child);
    let output = '';
    return new Promise((resolve) => {
      for (const stream of [child.stdout, child.stderr]) {
        stream?.setEncoding('utf8').on('data', (part: string) => {
          output += part;
          if (/Clusterpass serves \S+/.test(output)) resolve({ code: 0, output });
        });
      }
      child.once('exit', (code) => resolve({ code, output }));
      // For example, it waits for etcd.
      setTimeout(() => resolve({ code: null, output }), READY_WITHIN_MS).unref();
    });
  }

  /** Stops the servers. */
  async stop(): Promise<void> {
    for (const child of this.#servers.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
  }

  async destroy(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #spawn(text: string): ChildProcess {
    return spawn('bash', ['-euo', 'pipefail', '-c', text], {
      cwd: this.folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: `${join(this.folder, 'bin')}:${process.env.PATH}`,
        HOME: this.folder,
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
        ...this.#env,
      },
    });
  }
}

/** Lines of `expected` that are not in `output`. `…` stands for anything. */
export function missingLines(expected: string, output: string): string[] {
  const lines = expected.split('\n').filter((line) => line.trim() !== '');
  return lines.filter((line) => {
    const parts = line
      .trim()
      .split('…')
      .map((part) => RegExp.escape(part.trim()).replaceAll(/(\\x20|\s)+/g, '\\s+'));
    return !new RegExp(parts.join('.*')).test(output);
  });
}
