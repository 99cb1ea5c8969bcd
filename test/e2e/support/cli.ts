import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { PROGRAM } from '../../program.ts';
import { type CliResult, runCommand } from './run-command.ts';
import { type Server, tokenOf } from './server.ts';

export type { CliResult };

export interface CliOptions {
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** In a separate process, as users run it, with the start of Node; much slower. */
  readonly inProcess?: false;
  /** Called with what a command of this process writes to standard error. */
  readonly onError?: (text: string) => void;
  /** Called with what a command of this process says that it waits for. */
  readonly onWait?: (what: () => string) => void;
  /** The exit code of a command that fails, if it is not 1. */
  readonly exitCode?: number;
}

/** A user with an empty home directory and none of this machine's settings. */
export class Person {
  readonly home: string;
  readonly #env: Readonly<Record<string, string>>;

  private constructor(home: string, env: Readonly<Record<string, string>>) {
    this.home = home;
    this.#env = env;
  }

  get loginsFile(): string {
    return join(this.home, '.config/clusterpass/logins.json');
  }

  static async at(env: Readonly<Record<string, string>> = {}): Promise<Person> {
    return new Person(await mkdtemp(join(tmpdir(), 'clusterpass-home-')), env);
  }

  /** A user who needs no login: server and token are in the environment. */
  static as(server: Server, user?: string): Promise<Person> {
    return Person.at({
      CLUSTERPASS_SERVER: server.url,
      CLUSTERPASS_TOKEN: user === undefined ? server.adminToken : tokenOf(user),
    });
  }

  start(
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    stdout: 'pipe' | number = 'pipe',
  ): Running {
    const child = spawn(process.execPath, [PROGRAM, ...args], {
      cwd: this.home,
      stdio: ['pipe', stdout, 'pipe'],
      env: {
        PATH: process.env.PATH,
        HOME: this.home,
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
        ...this.#env,
        ...env,
      },
    });
    return new Running(child);
  }

  async run(
    args: readonly string[],
    { stdin = '', env, inProcess, onError, onWait }: CliOptions = {},
  ): Promise<CliResult> {
    if (inProcess !== false) {
      const all = { PATH: process.env.PATH, HOME: this.home, ...this.#env, ...env };
      return runCommand(args, { env: all, cwd: this.home, stdin, onError, onWait });
    }
    const running = this.start(args, env);
    running.child.stdin?.on('error', () => {});
    running.child.stdin?.end(stdin);
    return running.ended;
  }

  /** Its standard output. A command that fails fails the test, with its standard error. */
  async ok(args: readonly string[], options?: CliOptions): Promise<string> {
    const { code, stdout, stderr } = await this.run(args, options);
    expect(code, `clusterpass ${args.join(' ')}\n${stdout}${stderr}`).toBe(0);
    return stdout;
  }

  /** The standard error of a command that must fail. */
  async fails(args: readonly string[], options?: CliOptions): Promise<string> {
    const { code, stdout, stderr } = await this.run(args, options);
    expect(code, `clusterpass ${args.join(' ')}\n${stdout}${stderr}`).toBe(options?.exitCode ?? 1);
    expect(stdout).toBe('');
    return stderr;
  }
}

/** The user in the answer of `whoami -o json`. */
export const userIn = (json: string): string => JSON.parse(json).status.userInfo.username;

/** The names in a list of `-o name`. */
export const namesIn = (text: string): string[] => text.split('\n').flatMap((line) => line.split('/').slice(1));

/** A command that has not ended yet. */
export class Running {
  readonly child: ChildProcess;
  readonly ended: Promise<CliResult>;
  stdout = '';
  stderr = '';

  constructor(child: ChildProcess) {
    this.child = child;
    for (const name of ['stdout', 'stderr'] as const) {
      child[name]?.setEncoding('utf8').on('data', (text: string) => {
        this[name] += text;
        child.emit('output');
      });
    }
    this.ended = once(child, 'close').then(([code]) => ({
      code: code as number | null,
      stdout: this.stdout,
      stderr: this.stderr,
    }));
  }

  /** Resolves when the predicate is true of the output so far. */
  async until(test: (running: this) => boolean): Promise<void> {
    while (!test(this))
      await Promise.race([
        once(this.child, 'output'),
        this.ended.then(({ stderr }) => {
          throw new Error(`it ended: ${stderr}`);
        }),
      ]);
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<CliResult> {
    this.child.kill(signal);
    return this.ended;
  }
}
