import { type ChildProcess, spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { type ClusterAddress, clusterFields, kubeconfigOf } from '../api/kubeconfig.ts';
import { fileProblem } from '../lib/file-problem.ts';
import { sha256 } from '../lib/sha256.ts';
import type { Context, Output } from './command.ts';
import { writePrivate } from './files/files.ts';

/** How long a command that is stopped has to end by itself. */
const KILL_AFTER_MS = 2_000;
/** A longer timer would end at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** A signal to a process group reaches the command and its children. Windows has no process groups. */
const HAS_GROUPS = process.platform !== 'win32';
const running = new Set<ChildProcess>();
// A second interrupt ends this process at once.
process.once('exit', () => {
  for (const child of running) kill(child, 'SIGKILL');
});

export interface ExecTarget extends ClusterAddress {
  readonly cluster: string;
  /** The name of the cluster in the output: with that of its server, if there are several. */
  readonly label: string;
  /** The variables of the command, without those for this cluster. */
  readonly env: Context['env'];
  /** That of the account; undefined for a pass of the user itself. */
  readonly namespace: string | undefined;
  readonly token: string;
}

interface ExecSettings {
  readonly command: readonly string[];
  /** Undefined: no limit. */
  readonly timeoutMs: number | undefined;
  /** For kubeconfigs with tokens: mode 0700, removed at the end. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

/** Runs the command for one cluster, with a kubeconfig that holds the token. Returns why it failed. */
export async function runForCluster(
  context: Context,
  target: ExecTarget,
  settings: ExecSettings,
): Promise<string | undefined> {
  const { command, timeoutMs, folder, signal } = settings;
  const { cluster, label, env } = target;
  // The label of a cluster may be longer than the name of a file can be.
  const file = join(folder, sha256(label));
  await writePrivate(file, kubeconfigWith(target));
  // Checked after the last `await` before the listener: an interrupt in between would be lost.
  if (signal.aborted) {
    await rm(file, { force: true });
    return undefined;
  }
  const [program = '', ...args] = command;
  const child = spawn(program, args, {
    cwd: context.cwd,
    env: { ...env, KUBECONFIG: file, CLUSTERPASS_CLUSTER: cluster },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group: a signal for the command reaches its children, too. The terminal does not signal it, so an
    // interrupt of this program is passed on.
    detached: HAS_GROUPS,
  });
  running.add(child);
  const { promise: ended, resolve } = Promise.withResolvers<string | undefined>();
  child.once('error', (error) => resolve(`${program} could not be started: ${fileProblem(error)}`));
  child.once('close', (code, name) =>
    resolve(code === 0 ? undefined : code === null ? `ended by ${name}` : `exit code ${code}`),
  );
  let isLate = false;
  let killing: NodeJS.Timeout | undefined;
  const stop = (): void => {
    if (killing !== undefined) return;
    kill(child, 'SIGTERM');
    // Not waiting for the end of its output: a process that left its process group may hold the pipe.
    killing = setTimeout(() => resolve('killed'), KILL_AFTER_MS);
  };
  const onTimeout = (): void => {
    isLate = true;
    stop();
  };
  const limit = timeoutMs === undefined ? undefined : setTimeout(onTimeout, Math.min(timeoutMs, MAX_TIMER_MS));
  copyLines(child.stdout, context.out, label);
  copyLines(child.stderr, context.err, label);
  signal.addEventListener('abort', stop);
  const failure = await ended;
  clearTimeout(limit);
  signal.removeEventListener('abort', stop);
  if (killing !== undefined) {
    clearTimeout(killing);
    // The command, or children that have closed their output.
    kill(child, 'SIGKILL');
    child.stdout.destroy();
    child.stderr.destroy();
  }
  running.delete(child);
  await rm(file, { force: true });
  return isLate ? `no result within ${(timeoutMs ?? 0) / 1000} s` : failure;
}

function kill(child: ChildProcess, signal: NodeJS.Signals): void {
  // It was not started.
  if (child.pid === undefined) return;
  try {
    if (HAS_GROUPS) process.kill(-child.pid, signal);
    else child.kill(signal);
  } catch {
    // It has ended.
  }
}

const copyLines = (input: Readable, output: Output, label: string): void =>
  void createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY }).on('line', (line) =>
    output.write(`${label}: ${line}\n`),
  );

/** JSON, which is YAML. */
function kubeconfigWith({ cluster, server, caBundle, namespace, token }: ExecTarget): string {
  const entry = {
    name: cluster,
    userName: cluster,
    cluster: clusterFields(server, caBundle),
    user: { token },
    namespace,
  };
  return JSON.stringify(kubeconfigOf([entry]));
}
