import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from '../setup.mjs';

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
