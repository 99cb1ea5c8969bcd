import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The rule of docs/architecture.md, written a second time: a folder imports from folders below it. */
const BELOW: Readonly<Record<string, readonly string[]>> = {
  http: ['mcp', 'authn', 'authz', 'handlers', 'tokens', 'objects', 'storage'],
  authn: ['tokens'],
  authz: ['objects', 'storage'],
  handlers: ['clusters', 'tokens', 'objects', 'storage'],
  clusters: ['objects', 'storage'],
  tokens: ['objects', 'storage'],
  objects: ['storage'],
  storage: [],
};
const BASE = ['observability', 'api', 'lib'];
const ASIDE = ['server', 'config', 'cli', 'connector', 'sync', 'mcp', 'client', 'manifests', 'notify', 'transfer'];
const FOLDERS = [...Object.keys(BELOW), ...ASIDE, ...BASE];

function allowed(from: string, to: string): boolean {
  if (from === to) return true;
  if (BASE.includes(from)) return BASE.indexOf(to) > BASE.indexOf(from);
  if (from === 'client') return to === 'api';
  if (from === 'connector' && to === 'sync') return true;
  if (from === 'sync' || from === 'connector') return to === 'client' || to === 'api' || to === 'lib';
  if (BASE.includes(to)) return from !== 'storage' || to !== 'api';
  if (from === 'server') return !['cli', 'client', 'connector', 'sync', 'mcp'].includes(to);
  if (from === 'cli') return to === 'connector' || to === 'sync' || to === 'mcp' || to === 'client' || to === 'config';
  if (from === 'transfer') return to === 'storage';
  if (from === 'manifests' || from === 'notify') return to === 'objects' || to === 'storage';
  return BELOW[from]?.includes(to) === true;
}

/** Packages that rules name: they have to resolve in the tree. */
const PACKAGES = ['undici', '@grpc/grpc-js', 'nodemailer'];

interface Violation {
  readonly from: string;
  readonly to: string;
  readonly rule: { readonly name: string };
}

/** The files of all tests in one tree, because the tool takes seconds to start. Every imported file exists. */
const TREE = new Map<string, string>();

let violations: Violation[];

beforeAll(() => {
  const tree = realpathSync(mkdtempSync(join(tmpdir(), 'clusterpass-edges-')));
  violations = cruise(tree);
});

/** Writes the tree and cruises it with the project's own configuration. */
function cruise(tree: string): Violation[] {
  copyFileSync(join(root, '.dependency-cruiser.mjs'), join(tree, '.dependency-cruiser.mjs'));
  for (const name of PACKAGES) {
    mkdirSync(join(tree, 'node_modules', name), { recursive: true });
    writeFileSync(join(tree, 'node_modules', name, 'package.json'), `{"name":"${name}","main":"index.js"}`);
    writeFileSync(join(tree, 'node_modules', name, 'index.js'), '');
  }
  for (const [path, text] of TREE) {
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    writeFileSync(join(tree, path), text);
  }
  const program = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs');
  const args = ['--config', '.dependency-cruiser.mjs', '--output-type', 'json', 'src'];
  const { stdout } = spawnSync(process.execPath, [program, ...args], {
    cwd: tree,
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
  });
  return (JSON.parse(stdout) as { summary: { violations: Violation[] } }).summary.violations;
}

/** Adds files to the tree. Returns the violations in them. */
function inTree(files: ReadonlyMap<string, string>): () => Violation[] {
  for (const [path, text] of files) {
    if ((TREE.get(path) ?? text) !== text) throw new Error(`two tests write ${path}`);
    TREE.set(path, text);
  }
  return () => violations.filter(({ from }) => files.has(from));
}

const pairs = (violations: readonly Violation[]): string[] =>
  [...new Set(violations.map(({ from, to }) => `${from} -> ${to}`))].sort();

describe('import edges', () => {
  it('every folder of src/ has a rule, and main.ts is the only file beside them', () => {
    const entries = readdirSync(join(root, 'src'), { withFileTypes: true });
    expect(entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)).toEqual([...FOLDERS].sort());
    expect(entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name)).toEqual(['main.ts']);
  });

  describe('between two folders', () => {
    const files = new Map<string, string>();
    const forbidden: string[] = [];
    for (const to of FOLDERS) files.set(`src/${to}/target.ts`, 'export const x = 1;\n');
    for (const from of FOLDERS) {
      for (const to of FOLDERS) {
        for (const [file, target] of [
          [`src/${from}/to-${to}.ts`, `../${to}/target.ts`],
          [`src/${from}/deep/to-${to}.ts`, `../../${to}/target.ts`],
        ] as const) {
          files.set(file, `import { x } from '${target}';\nexport const y = x;\n`);
          if (!allowed(from, to)) forbidden.push(`${file} -> src/${to}/target.ts`);
        }
      }
    }
    const found = inTree(files);
    it('are allowed or found, from any depth', () => {
      expect(pairs(found())).toEqual(forbidden.sort());
    });
  });

  describe.each([
    ['a value', "import { x } from '../http/x.ts';\nexport const y = x;\n"],
    ['a type', "import type { X } from '../http/x.ts';\nexport type Y = X;\n"],
    ['an inline type', "import { type X } from '../http/x.ts';\nexport type Y = X;\n"],
    ['a re-export', "export * from '../http/x.ts';\n"],
    ['a dynamic import', "export const x = await import('../http/x.ts');\n"],
  ])('by %s', (form, text) => {
    const file = `src/objects/${form.replaceAll(' ', '-')}.ts`;
    const found = inTree(
      new Map([
        ['src/http/x.ts', 'export const x = 1;\nexport type X = 1;\n'],
        [file, text],
      ]),
    );
    it('are found', () => {
      expect(pairs(found())).toEqual([`${file} -> src/http/x.ts`]);
    });
  });

  describe('to engines, main.ts, tests, benchmarks and fixtures', () => {
    const targets = ['src/main.ts', 'src/storage/sqlite/x.ts', 'src/storage/etcd/x.ts', 'test/x.ts', 'bench/x.ts'];
    const files = new Map<string, string>();
    const forbidden: string[] = [];
    for (const target of [...targets, 'src/api/x.fixture.ts']) files.set(target, 'export const x = 1;\n');
    for (const folder of FOLDERS) {
      for (const target of [...targets, 'src/api/x.fixture.ts']) {
        const name = target.replaceAll(/\W+/g, '-');
        const text = `import { x } from '${relative(`src/${folder}`, target)}';\nexport const y = x;\n`;
        const fixed = text.includes("'.") ? text : text.replace("from '", "from './");
        files.set(`src/${folder}/to-${name}.ts`, fixed);
        files.set(`src/${folder}/to-${name}.test.ts`, fixed);
        const opens = folder === 'server' && target.startsWith('src/storage/');
        if (!opens) forbidden.push(`src/${folder}/to-${name}.ts -> ${target}`);
      }
    }
    files.set('src/storage/sqlite/other.ts', "export { x } from '../etcd/x.ts';\n");
    forbidden.push('src/storage/sqlite/other.ts -> src/storage/etcd/x.ts');
    const found = inTree(files);
    it('are closed to the program and open to tests', () => {
      expect(pairs(found())).toEqual(forbidden.sort());
    });
  });

  describe('to sockets, SQL and gRPC', () => {
    const sockets = ['http', 'cli', 'authn/jwt', 'clusters/upstream', 'tokens/external', 'storage/etcd'];
    const homes: Readonly<Record<string, readonly string[]>> = {
      'node:http': [...sockets, 'server/workers'],
      'node:https': [...sockets, 'server/workers'],
      'node:http2': [...sockets, 'server/workers'],
      'node:net': [...sockets, 'server/workers'],
      'node:tls': [...sockets, 'server/workers'],
      'node:dgram': [...sockets, 'server/workers'],
      'node:sqlite': ['storage/sqlite'],
      undici: [...sockets.filter((folder) => folder !== 'cli'), 'notify'],
      nodemailer: ['notify'],
      '@grpc/grpc-js': ['storage/etcd'],
    };
    const files = new Map<string, string>();
    const forbidden: string[] = [];
    for (const [module, folders] of Object.entries(homes)) {
      for (const folder of [...FOLDERS, 'storage/sqlite', ...sockets, 'server/workers']) {
        const file = `src/${folder}/uses-${module.replaceAll(/\W+/g, '-')}.ts`;
        files.set(file, `import * as x from '${module}';\nexport const y = x;\n`);
        if (!folders.some((home) => folder === home || folder.startsWith(`${home}/`))) forbidden.push(file);
      }
    }
    const found = inTree(files);
    it('are allowed only in their folders', () => {
      expect([...new Set(found().map(({ from }) => from))].sort()).toEqual([...new Set(forbidden)].sort());
    });
  });

  describe('between the handlers of two kinds', () => {
    const kinds = ['access-requests', 'issued-tokens', 'join', 'passes', 'signing-keys'];
    const files = new Map<string, string>();
    const forbidden: string[] = [];
    for (const to of [...kinds, 'approvals']) files.set(`src/handlers/${to}/target.ts`, 'export const x = 1;\n');
    for (const from of [...kinds, 'approvals']) {
      for (const to of [...kinds, 'approvals'].filter((other) => other !== from)) {
        const file = `src/handlers/${from}/to-${to}.ts`;
        files.set(file, `import { x } from '../${to}/target.ts';\nexport const y = x;\n`);
        if (to !== 'approvals') forbidden.push(`${file} -> src/handlers/${to}/target.ts`);
      }
    }
    const found = inTree(files);
    it('go through shared modules', () => {
      expect(pairs(found())).toEqual(forbidden.sort());
    });
  });

  describe('in a circle of types', () => {
    const found = inTree(
      new Map([
        ['src/api/a.ts', "import type { B } from './b.ts';\nexport type A = B | 1;\n"],
        ['src/api/b.ts', "import type { A } from './a.ts';\nexport type B = A | 2;\n"],
      ]),
    );
    it('are found', () => {
      expect(new Set(found().map(({ rule }) => rule.name))).toEqual(new Set(['no-circle']));
    });
  });
});
