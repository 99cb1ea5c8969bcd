import { join } from 'node:path';
import { run } from '../run-command.ts';
import { ROOT } from '../setup.mjs';
import { ARCHITECTURES } from './standalone.ts';

export const SOURCES = join(ROOT, 'plugin');

interface Build {
  /** The program of Go. */
  readonly go: string;
  readonly version: string;
  readonly output: string;
}

/** Builds the credential plugin in Go: one static program without dependencies. `env` is of the compiler. */
export function buildGoPlugin(
  { go, version, output }: Build,
  env: NodeJS.ProcessEnv,
  flags: readonly string[] = [],
): void {
  // The plugin sends one request by HTTP/1.1. HTTP/2 would be a tenth of its size.
  const args = ['build', ...flags, '-tags', 'nethttpomithttp2', '-ldflags', `-s -w -X main.version=${version}`];
  run(go, [...args, '-o', output, '.'], { cwd: SOURCES, env: { ...env, CGO_ENABLED: '0' } });
}

/** Builds the plugin for every architecture of Linux. The same sources and the same Go give the same bytes. */
export function writeGoPlugins({ go, version, output: folder }: Build): void {
  for (const GOARCH of Object.values(ARCHITECTURES)) {
    const output = join(folder, `clusterpass-credential-${version}-linux-${GOARCH}`);
    buildGoPlugin({ go, version, output }, { GOOS: 'linux', GOARCH }, ['-trimpath', '-buildvcs=false']);
  }
}
