import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from '../setup.mjs';
import { ARCHITECTURES } from './standalone.mjs';

export const SOURCES = join(ROOT, 'plugin');

/**
 * Builds the credential plugin in Go: one static program without dependencies.
 * @param {object} options
 * @param {string} options.go the program of Go
 * @param {NodeJS.ProcessEnv} options.env of the compiler, e.g. with GOARCH
 * @param {readonly string[]} [options.flags] further flags of the compiler
 * @param {string} options.version
 * @param {string} options.output
 */
export function buildGoPlugin({ go, env, flags = [], version, output }) {
  // The plugin sends one request by HTTP/1.1. HTTP/2 would be a tenth of its size.
  const args = ['build', ...flags, '-tags', 'nethttpomithttp2', '-ldflags', `-s -w -X main.version=${version}`];
  execFileSync(go, [...args, '-o', output, '.'], { cwd: SOURCES, env: { ...env, CGO_ENABLED: '0' }, stdio: 'pipe' });
}

/**
 * Builds the plugin for every architecture of Linux. The same sources and the same Go give the same bytes.
 * @param {{ go: string, version: string, output: string }} options `output`: a folder
 */
export function writeGoPlugins({ go, version, output }) {
  for (const architecture of Object.values(ARCHITECTURES)) {
    buildGoPlugin({
      go,
      version,
      env: { ...process.env, GOOS: 'linux', GOARCH: architecture },
      flags: ['-trimpath', '-buildvcs=false'],
      output: join(output, `clusterpass-credential-${version}-linux-${architecture}`),
    });
  }
}
