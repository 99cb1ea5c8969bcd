import { spawn } from 'node:child_process';

const FORWARDED = /** @type {const} */ (['SIGTERM', 'SIGINT', 'SIGHUP']);

/**
 * Runs a Node program in place of this process: same terminal, signals forwarded, same exit code. With `lifeline` there
 * is an IPC channel: when this process is killed (SIGKILL), the channel closes and the child knows.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, lifeline?: boolean }} [options]
 * @returns {Promise<{ code: number | null, signal: NodeJS.Signals | null }>}
 */
export function runChild(command, args, { cwd, env, lifeline = false } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      stdio: lifeline ? ['inherit', 'inherit', 'inherit', 'ipc'] : 'inherit',
      ...(cwd === undefined ? {} : { cwd }),
      ...(env === undefined ? {} : { env }),
    });
    // A terminal sends Ctrl-C to the whole foreground group, the child included. Forwarded, it would be a second
    // Ctrl-C.
    const onTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
    /** @param {NodeJS.Signals} signal */
    const forward = (signal) => {
      if (signal === 'SIGINT' && onTerminal) return;
      child.kill(signal);
    };
    for (const signal of FORWARDED) process.on(signal, forward);
    const done = () => {
      for (const signal of FORWARDED) process.off(signal, forward);
    };
    child.once('error', (error) => {
      done();
      reject(error);
    });
    child.once('exit', (code, signal) => {
      done();
      resolve({ code, signal });
    });
  });
}

/**
 * Ends this process as the child ended, so that its parent sees the same.
 * @param {{ code: number | null, signal: NodeJS.Signals | null }} result
 */
export function endLike({ code, signal }) {
  if (signal === null) process.exitCode = code ?? 1;
  else process.kill(process.pid, signal);
}
