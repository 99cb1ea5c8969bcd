import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KUBECTL, kubectl as program } from '../../../scripts/programs.ts';
import { describeWith } from '../../describe-with.ts';
import { type Server, TLS } from './server.ts';

/** The real kubectl against a real server: which program, with which identity, at which address. */
export interface KubectlOptions {
  readonly stdin?: string;
  /** Below the server's root, e.g. `/orchestrator/alpha`. */
  readonly clusterPath?: string;
  /** Defaults to the administrator. */
  readonly token?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Ends a command that does not end by itself (SIGTERM) when this is true of its output so far. */
  readonly until?: (stdout: string) => boolean;
  /** Called at each output, with the whole output so far. */
  readonly onSaid?: (stderr: string) => void;
}

export interface KubectlResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Without garbage collection a run of a second takes a fifth less CPU time. */
const ENV = { PATH: process.env.PATH, GOGC: 'off' };

/** Runs it with an empty home, without the settings and caches of the machine or of other runs. */
export async function kubectl(
  server: Pick<Server, 'url' | 'adminToken'>,
  args: readonly string[],
  { stdin, clusterPath = '', token = server.adminToken, env = {}, until, onSaid }: KubectlOptions = {},
): Promise<KubectlResult> {
  const home = await mkdtemp(join(tmpdir(), 'clusterpass-kubectl-'));
  try {
    const flags = [
      `--server=${server.url}${clusterPath}`,
      `--token=${token}`,
      `--certificate-authority=${TLS.caFile}`,
      '--request-timeout=30s',
    ];
    // --request-timeout would end a stream.
    const child = spawn(KUBECTL, until === undefined ? [...args, ...flags] : [...args, ...flags.slice(0, -1)], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...ENV, HOME: home, KUBECONFIG: join(home, 'none'), TZ: 'UTC', ...env },
    });
    const output = { stdout: '', stderr: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output.stdout += text;
      if (until?.(output.stdout) === true) child.kill('SIGTERM');
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output.stderr += text;
      onSaid?.(output.stderr);
    });
    child.stdin.on('error', () => {});
    child.stdin.end(stdin ?? '');
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, ...output };
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** Its standard output. A command that fails fails the test, with its standard error. */
export async function kubectlOk(
  server: Pick<Server, 'url' | 'adminToken'>,
  args: readonly string[],
  options?: KubectlOptions,
): Promise<string> {
  const { code, stdout, stderr } = await kubectl(server, args, options);
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')} ended with ${code}:\n${stdout}${stderr}`);
  return stdout;
}

export const describeWithKubectl = (name: string, tests: () => void): void => describeWith(program, name, tests);

/** kubectl without arguments for a server: the command needs none, or its kubeconfig names one. */
export async function kubectlBinary(args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  const child = spawn(KUBECTL, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...ENV, ...env } });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')} ended with ${code}:\n${output.stdout}${output.stderr}`);
  return output.stdout;
}
