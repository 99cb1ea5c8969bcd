import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
let dist: string;

beforeAll(() => {
  dist = mkdtempSync(join(tmpdir(), 'clusterpass-dist-'));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  // `npm test` checks the types before the tests.
  execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--noCheck', '--outDir', dist], { cwd: root });
});
afterAll(() => rmSync(dist, { recursive: true, force: true }));

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, { types: string; default: string }>;
};

describe('the published client', () => {
  it.each(['./client', './client/node'])('%s is what the package exports', async (name) => {
    const { types, default: file } = manifest.exports[name] ?? { types: '', default: '' };
    const built = (path: string): string => path.replace('./dist', dist);
    expect(readFileSync(built(types), 'utf8')).toContain('export');
    const module = (await import(pathToFileURL(built(file)).href)) as Record<string, unknown>;
    expect(Object.keys(module).sort()).toEqual(
      name === './client'
        ? [
            'ConnectionError',
            'StatusError',
            'clusterPrefix',
            'createClient',
            'endpointsOf',
            'isStatus',
            'reviewAccess',
            'reviewRules',
            'reviewSelf',
          ]
        : ['createNodeFetch'],
    );
  });

  it('runs in browsers: nothing of Node and nothing of the server is in it', () => {
    const files = readdirSync(join(dist, 'client')).filter((name) => name.endsWith('.js') && name !== 'node.js');
    expect(files.length).toBeGreaterThan(5);
    for (const name of files) {
      const imports = readFileSync(join(dist, 'client', name), 'utf8').match(/from '[^']+'/g) ?? [];
      for (const from of imports) expect(from, name).toMatch(/^from '\.\/(?!node\.js)/);
    }
  });
});
