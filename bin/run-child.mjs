import { spawn } from 'node:child_process';

const FORWARDED = /** @type {const} */ (['SIGTERM', 'SIGINT', 'SIGHUP']);

/**
 * Runs a Node program in this process's place: same terminal, signals passed on, same exit code. An IPC channel
 * is the life line: if this process dies without a word (SIGKILL), the channel closes and the child can tell.
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
    // A terminal sends Ctrl-C to the whole foreground group, the child included. Sending it once more would look
    // like a second, impatient Ctrl-C.
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
 * Ends this process the way the child ended, so that whoever waits for it sees the same.
 * @param {{ code: number | null, signal: NodeJS.Signals | null }} result
 */
export function endLike({ code, signal }) {
  if (signal === null) process.exitCode = code ?? 1;
  else process.kill(process.pid, signal);
}
