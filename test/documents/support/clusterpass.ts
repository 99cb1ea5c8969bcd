import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROGRAM } from '../../program.ts';

/**
 * Writes a program `clusterpass` into a folder for the PATH of a shell. It finds the compiled code of other starts also
 * in an empty environment.
 */
export function installClusterpass(folder: string): void {
  const cache = `NODE_COMPILE_CACHE='${process.env.NODE_COMPILE_CACHE ?? ''}'`;
  writeFileSync(join(folder, 'clusterpass'), `#!/bin/sh\n${cache} exec '${process.execPath}' '${PROGRAM}' "$@"\n`);
  chmodSync(join(folder, 'clusterpass'), 0o755);
}
