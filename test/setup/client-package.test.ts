import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { missingDeclarations, packagesOf } from '../packages/declarations.ts';

const CLIENTS = ['./client', './client/node'];
const root = fileURLToPath(new URL('../..', import.meta.url));
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, { types: string; default: string }>;
};

const CONSUMER = `
import { type Client, createClient, type IssuedToken, type RedeemOptions, type TokenRequest } from 'clusterpass/client';

const client: Client = createClient({ server: location.origin, token: '' });
export const redeem = (options: RedeemOptions): Promise<IssuedToken> => client.redeemPass(options);
// What the server answers for a token that is not bound to an object.
export const answered: TokenRequest['spec'] = { boundObjectRef: null };
`;

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

  it('has the types that a strict project needs', () => {
    writeFileSync(join(work, 'consumer.ts'), CONSUMER);
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      module: 'esnext',
      moduleResolution: 'bundler',
      target: 'es2023',
      lib: ['es2023', 'dom'],
      types: [],
      // Otherwise most of the time goes to the declarations of TypeBox.
      skipLibCheck: true,
      paths: { 'clusterpass/client': [join(dist, 'client/index.d.ts')] },
    };
    writeFileSync(join(work, 'consumer.json'), JSON.stringify({ compilerOptions, files: ['consumer.ts'] }));
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const { stdout } = spawnSync(process.execPath, [tsc, '-p', join(work, 'consumer.json')], { encoding: 'utf8' });
    expect(stdout).toBe('');
  });

  it('runs in browsers: nothing of Node and nothing of the server is in it', () => {
    const names = readdirSync(join(dist, 'client')).filter((name) => name.endsWith('.js') && !name.startsWith('node'));
    expect(names.length).toBeGreaterThan(5);
    // A project without the types of Node cannot resolve `node:net`.
    expect([...packagesOf(join(dist, 'client/index.d.ts'))]).toEqual(['typebox']);
    const files = new Set(names.map((name) => join(dist, 'client', name)));
    // Modules that are added meanwhile are visited, too.
    for (const file of files) {
      for (const [, from = ''] of readFileSync(file, 'utf8').matchAll(/from '([^']+)'/g)) {
        expect(from, file).toMatch(/^\.(?:\/(?!node)|\.\/lib\/)/);
        files.add(join(dirname(file), from));
      }
    }
  });
});
