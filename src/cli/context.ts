import { fileProblem } from '../lib/file-problem.ts';
import { CliError, type Context, type Output } from './command.ts';
import { NO_PROGRESS } from './progress.ts';

/** The exit code of shells for SIGINT. */
const INTERRUPTED = 130;
const QUIT = 131;

export function processContext(version: string): Context {
  let stopped: AbortController | undefined;
  // A command that can be stopped cleans up: `clusterpass exec` has files with tokens.
  const end = (code: number): void => {
    if (stopped === undefined) process.exit(code);
    if (stopped.signal.aborted) return;
    stopped.abort(new CliError('the output was closed, and the command was stopped'));
    // A command that was stopped may return 0.
    process.once('exit', () => {
      process.exitCode ||= code;
    });
  };
  return {
    env: process.env,
    cwd: process.cwd(),
    version,
    now: Date.now,
    out: outputOf(process.stdout, end),
    err: outputOf(process.stderr, end),
    readStdin: async () => {
      // Loads the streams of browsers: few commands read stdin, and the credential plugin has to start fast.
      const { text } = await import('node:stream/consumers');
      return text(process.stdin);
    },
    stdin: () => process.stdin,
    terminal: () =>
      process.stdin.isTTY && process.stderr.isTTY ? { input: process.stdin, output: process.stderr } : undefined,
    progress: NO_PROGRESS,
    stopped: () => {
      if (stopped !== undefined) return stopped.signal;
      const controller = new AbortController();
      stopped = controller;
      for (const name of ['SIGTERM', 'SIGHUP'] as const) process.on(name, () => controller.abort());
      // For a user who does not want to wait for the end of the command.
      process.on('SIGQUIT', () => process.exit(QUIT));
      process.on('SIGINT', () => (controller.signal.aborted ? process.exit(INTERRUPTED) : controller.abort()));
      return controller.signal;
    },
  };
}

function outputOf(stream: NodeJS.WriteStream, end: (code: number) => void): Output {
  // `clusterpass get clusters | head -1`: the reader closes the pipe early, which is not an error.
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return end(0);
    if (stream !== process.stderr) {
      process.stderr.write(`clusterpass: the output cannot be written: ${fileProblem(error)}\n`);
    }
    end(1);
  });
  return {
    isTerminal: stream.isTTY === true,
    write: (text) => void stream.write(text),
  };
}
