import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buildGoPlugin, SOURCES } from '../../scripts/artifacts/go-plugin.ts';
import { go, goEnvironment } from '../../scripts/programs.ts';

export { SOURCES };
export const { version: VERSION } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { version: string };

/**
 * Built once for each state of its sources. With the flags of the compiler that test/helm has: both share the packages
 * of Go's standard library, whose first compilation takes half a minute.
 */
export function buildPlugin(): string {
  const hash = createHash('sha256').update(VERSION);
  for (const name of readdirSync(SOURCES).sort()) hash.update(readFileSync(join(SOURCES, name)));
  const program = join(dirname(go.path), `clusterpass-credential-${hash.digest('hex').slice(0, 16)}`);
  if (existsSync(program)) return program;
  // Renamed when it is whole: several test processes may build it.
  const unfinished = `${program}.${process.pid}`;
  buildGoPlugin({ go: go.path, version: VERSION, output: unfinished }, goEnvironment());
  renameSync(unfinished, program);
  return program;
}
