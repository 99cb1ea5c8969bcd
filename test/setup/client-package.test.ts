import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missingDeclarations } from '../packages/declarations.ts';

const CLIENTS = ['./client', './client/node'];
const root = fileURLToPath(new URL('../..', import.meta.url));
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, { types: string; default: string }>;
};

let work: string;
let dist: string;

beforeAll(() => {
  work = mkdtempSync(join(tmpdir(), 'clusterpass-client-'));
  dist = join(work, 'dist');
  // The options of the build, for the exported modules and their imports only: the server has ten times as many files.
  const config = {
    extends: join(root, 'tsconfig.client.json'),
    compilerOptions: {
      emitDeclarationOnly: false,
      rootDir: join(root, 'src'),
      outDir: dist,
      typeRoots: [join(root, 'node_modules/@types')],
    },
  };
  writeFileSync(join(work, 'tsconfig.json'), JSON.stringify(config));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  // `npm test` checks the types before the tests.
  execFileSync(process.execPath, [tsc, '-p', work, '--noCheck', '--singleThreaded'], { cwd: root });
  symlinkSync(join(root, 'node_modules'), join(work, 'node_modules'));
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

describe('the published client', () => {
  it('has declarations of every module that the package exports, and of their imports', () => {
    const { files } = JSON.parse(readFileSync(join(root, 'tsconfig.client.json'), 'utf8')) as { files: string[] };
    const exported = Object.values(manifest.exports).filter((entry) => typeof entry === 'object');
    expect(files.map((file) => `./${file.replace('src', 'dist').replace(/ts$/, 'js')}`)).toEqual(
      exported.map((entry) => entry.default),
    );
    expect(missingDeclarations(dist)).toEqual([]);
  });

  it.each(CLIENTS)('%s is what the package exports', async (name) => {
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
            'endpointsInForce',
            'isStatus',
            'reviewAccess',
            'reviewRules',
            'reviewSelf',
          ]
        : ['createNodeFetch'],
    );
  });

  it('runs in browsers: nothing of Node and nothing of the server is in it', () => {
    const files = readdirSync(join(dist, 'client')).filter((name) => name.endsWith('.js') && !name.startsWith('node'));
    expect(files.length).toBeGreaterThan(5);
    for (const name of files) {
      const imports = readFileSync(join(dist, 'client', name), 'utf8').match(/from '[^']+'/g) ?? [];
      for (const from of imports) expect(from, name).toMatch(/^from '\.\/(?!node)/);
    }
  });
});
