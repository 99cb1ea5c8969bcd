import { fork } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));
const SERVICE = fileURLToPath(new URL('command-service.ts', import.meta.url));

let started: Promise<string> | undefined;

/** The socket of a process that runs commands. All files of a test process share it. */
async function commandSocket(): Promise<string> {
  const socket = join(mkdtempSync(join(tmpdir(), 'clusterpass-commands-')), 'socket');
  const child = fork(SERVICE, [socket], { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  await once(child, 'message');
  child.unref();
  child.channel?.unref();
  return socket;
}

/**
 * Writes a program `clusterpass` into a folder for the PATH of a shell. Commands of the client run in one process, because
 * starting Node for each of them took most of the time; the tests of the packages start each one. Commands that are not
 * of the client are started.
 */
export async function installClusterpass(folder: string): Promise<void> {
  started ??= commandSocket();
  const script = `#!/bin/sh
case "$1" in
  serve | store | admin-token) exec '${process.execPath}' '${PROGRAM}' "$@" ;;
esac
answer=$(mktemp -d)
code=$({
  printf '%s\\0' "$answer" "$PWD" "$#" "$@"
  env -0
  printf '\\0'
  case " $* " in *' - '*) cat ;; esac
} | curl -sS --unix-socket '${await started}' --data-binary @- http://localhost/)
cat "$answer/stdout"
cat "$answer/stderr" >&2
rm -r "$answer"
exit "$code"
`;
  writeFileSync(join(folder, 'clusterpass'), script);
  chmodSync(join(folder, 'clusterpass'), 0o755);
}
