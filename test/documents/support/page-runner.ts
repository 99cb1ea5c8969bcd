import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KUBECTL } from '../../../scripts/programs.ts';
import { type Block, execute, isRun } from './blocks.ts';
import { type ClientCommand, clientCommand, runClientCommand } from './client-commands.ts';
import { installClusterpass } from './clusterpass.ts';

const READY_WITHIN_MS = 60_000;

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

  private constructor(
    folder: string,
    replacements: readonly (readonly [string, string])[],
    env: Readonly<Record<string, string>>,
  ) {
    this.folder = folder;
    this.#replacements = replacements;
    this.#env = env;
  }

  /** `replacements`: texts in place of addresses and folders of the page. */
  static async create(
    replacements: (folder: string) => readonly (readonly [string, string])[] = () => [],
    env: Readonly<Record<string, string>> = {},
  ): Promise<PageRunner> {
    const folder = mkdtempSync(join(tmpdir(), 'clusterpass-page-'));
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    installClusterpass(bin);
    writeFileSync(join(bin, 'sudo'), '#!/bin/sh\nexec "$@"\n');
    chmodSync(join(bin, 'sudo'), 0o755);
    symlinkSync(KUBECTL, join(bin, 'kubectl'));
    return new PageRunner(folder, replacements(folder), env);
  }

  /** The text of the page with the addresses of this test. */
  localize(text: string): string {
    return this.#replacements.reduce((all, [from, to]) => all.replaceAll(from, to), text);
  }

  /** Writes a block that is a file. Runs commands; resolves with undefined for other blocks. */
  async run(block: Block): Promise<Ran | undefined> {
    if (block.file !== undefined) {
      writeFileSync(join(this.folder, block.file), this.localize(block.text), { mode: 0o600 });
      return undefined;
    }
    if (!isRun(block)) return undefined;
    return execute(block, (commands) => {
      const text = this.localize(commands);
      return /^clusterpass serve\b/m.test(text) ? this.#serve(text) : this.shell(text);
    });
  }

  /** Commands of the client run in this process if their line needs no shell. Most commands of the pages are such. */
  async shell(text: string): Promise<Ran> {
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    const isAlone = lines.every((line) => /^(?:clusterpass|kubectl|curl) .*[^\\]$/.test(line));
    if (!isAlone || lines.every((line) => clientCommand(line) === undefined)) return this.#bash(text);
    let output = '';
    for (const line of lines) {
      const command = clientCommand(line);
      const ran = command === undefined ? await this.#bash(line) : await this.#client(command);
      output += ran.output;
      if (ran.code !== 0) return { code: ran.code, output };
    }
    return { code: 0, output };
  }

  async #client(command: ClientCommand): Promise<Ran> {
    const { code, stdout, stderr } = await runClientCommand(command, { env: this.#environment(), cwd: this.folder });
    return { code, output: stdout + stderr };
  }

  async #bash(text: string): Promise<Ran> {
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
    // A command that was stopped may still be writing.
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }

  #spawn(text: string): ChildProcess {
    return spawn('bash', ['-euo', 'pipefail', '-c', text], {
      cwd: this.folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: this.#environment(),
    });
  }

  #environment(): Record<string, string | undefined> {
    return {
      PATH: `${join(this.folder, 'bin')}:${process.env.PATH}`,
      HOME: this.folder,
      ...this.#env,
    };
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
