import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROGRAM } from '../../program.ts';

/** Writes a program `clusterpass` into a folder for the PATH of a shell. */
export function installClusterpass(folder: string): void {
  writeFileSync(join(folder, 'clusterpass'), `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`);
  chmodSync(join(folder, 'clusterpass'), 0o755);
}
