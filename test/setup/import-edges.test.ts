import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The rule once more, written the way the architecture says it and not the way Biome is told. */
const STEPS = [['http'], ['authn'], ['authz'], ['handlers'], ['clusters', 'tokens'], ['objects'], ['storage']];
const ASIDE = ['config', 'cli', 'client', 'manifests', 'transfer', 'api', 'observability'];
const ROOMS = [...STEPS.flat(), ...ASIDE];

function allowed(from: string, to: string): boolean {
  if (from === to) return true;
  if (from === 'api') return false;
  if (to === 'api') return true;
  if (from === 'observability' || from === 'client') return false;
  if (to === 'client') return from === 'cli';
  if (to === 'observability') return true;
  if (to === 'config') return from === 'cli';
  if (from === 'transfer') return to === 'storage';
  if (from === 'manifests') return to === 'objects' || to === 'storage';
  const step = (room: string): number => STEPS.findIndex((rooms) => rooms.includes(room));
  return step(from) >= 0 && step(to) > step(from);
}

/** Every file that is wrong gets a line; `title` is the rule. */
function lint(files: ReadonlyMap<string, string>): Map<string, string> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'clusterpass-edges-')));
  folders.push(folder);
  for (const name of ['biome.json', 'biome.rooms.json']) copyFileSync(join(root, name), join(folder, name));
  for (const [path, text] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const biome = join(root, 'node_modules/@biomejs/biome/bin/biome');
  const args = ['lint', '--vcs-enabled=false', '--reporter=github', '--max-diagnostics=none', '.'];
  const { stdout } = spawnSync(process.execPath, [biome, ...args], { cwd: folder, encoding: 'utf8' });
  const found = [...stdout.matchAll(/::error title=lint\/\w+\/(\w+),file=([^,]+),.*?::(.*)/g)];
  return new Map(found.map(([, rule, file, message]) => [relative(folder, file ?? ''), `${rule}: ${message}`]));
}

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Checks each file against what is expected of it: undefined for "fine". */
function expectLint(cases: ReadonlyMap<string, { text: string; rule: string | undefined }>): void {
  const found = lint(new Map([...cases].map(([path, { text }]) => [path, text])));
  const actual = Object.fromEntries([...cases.keys()].map((path) => [path, found.get(path)?.split(':')[0]]));
  expect(actual).toEqual(Object.fromEntries([...cases].map(([path, { rule }]) => [path, rule])));
}

const restricted = (isAllowed: boolean): string | undefined => (isAllowed ? undefined : 'noRestrictedImports');

describe('import edges', () => {
  it('every folder of src/ is a room with a rule', () => {
    const present = readdirSync(join(root, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(ROOMS).toEqual(expect.arrayContaining(present.map((entry) => entry.name)));
  });

  it('every edge between two rooms is allowed or caught, from any depth', () => {
    const cases = new Map<string, { text: string; rule: string | undefined }>();
    for (const from of ROOMS) {
      for (const to of ROOMS) {
        const rule = restricted(allowed(from, to));
        cases.set(`src/${from}/to-${to}.ts`, { text: `import '../${to}/x.ts';\n`, rule });
        cases.set(`src/${from}/deep/to-${to}.ts`, { text: `import '../../${to}/deep/x.ts';\n`, rule });
      }
    }
    expect(cases.size).toBe(2 * ROOMS.length ** 2);
    expectLint(cases);
  });

  it.each([
    ["import { x } from '../http/x.ts';\nx();\n"],
    ["import type { X } from '../http/x.ts';\nexport type Y = X;\n"],
    ["export * from '../http/x.ts';\n"],
    ["export const x = await import('../http/x.ts');\n"],
    ["import '../../src/http/x.ts';\n"],
  ])('is caught in whatever form: %j', (text) => {
    expectLint(new Map([['src/objects/bad.ts', { text, rule: 'noRestrictedImports' }]]));
  });

  it('says why', () => {
    const found = lint(new Map([['src/storage/bad.ts', "import '../http/x.ts';\n"]]));
    expect(found.get('src/storage/bad.ts')).toMatch(/A request walks down .* compose\.ts picks one/);
  });

  it('nobody but main.ts, compose.ts and tests reaches for the wiring, an engine or the tests', () => {
    const cases = new Map<string, { text: string; rule: string | undefined }>();
    const engines = ['storage/sqlite/engine.ts', 'storage/etcd/engine.ts'];
    for (const to of ['compose.ts', 'main.ts', 'open-store.ts', ...engines, '../test/x.ts', '../bench/x.ts']) {
      const name = to.replaceAll(/\W+/g, '-');
      for (const room of ROOMS) {
        cases.set(`src/${room}/to-${name}.ts`, { text: `import '../${to}';\n`, rule: 'noRestrictedImports' });
        cases.set(`src/${room}/to-${name}.test.ts`, { text: `import '../${to}';\n`, rule: undefined });
      }
    }
    cases.set('src/storage/picks.ts', { text: "import './sqlite/engine.ts';\n", rule: 'noRestrictedImports' });
    cases.set('src/storage/sqlite/other.ts', { text: "import '../etcd/engine.ts';\n", rule: 'noRestrictedImports' });
    cases.set('src/storage/etcd/engine.ts', { text: "import '../contract.ts';\n", rule: undefined });
    cases.set('src/storage/sqlite/engine.ts', { text: "import '../contract.ts';\n", rule: undefined });
    cases.set('src/storage/sqlite/up.ts', { text: "import '../../objects/x.ts';\n", rule: 'noRestrictedImports' });
    cases.set('src/compose.ts', { text: "import './storage/sqlite/engine.ts';\n", rule: undefined });
    cases.set('src/main.ts', { text: "import './compose.ts';\nimport './http/x.ts';\n", rule: undefined });
    expectLint(cases);
  });

  it('sockets stay in http/, cli/, clusters/upstream/, tokens/external/ and storage/etcd/, SQL in storage/sqlite/, gRPC in storage/etcd/', () => {
    const cases = new Map<string, { text: string; rule: string | undefined }>();
    const outside = ['http', 'cli', 'clusters/upstream', 'tokens/external', 'storage/etcd'];
    for (const room of [...ROOMS, 'storage/sqlite', 'storage/etcd', 'clusters/upstream', 'tokens/external']) {
      for (const module of ['http', 'https', 'http2', 'net', 'tls', 'dgram', 'sqlite']) {
        const home = module === 'sqlite' ? ['storage/sqlite'] : outside;
        const text = `import { x } from 'node:${module}';\nx();\n`;
        cases.set(`src/${room}/uses-${module}.ts`, { text, rule: restricted(home.includes(room)) });
        cases.set(`src/${room}/uses-${module}.test.ts`, { text, rule: undefined });
      }
      const fetches = restricted(['client', ...outside].includes(room));
      cases.set(`src/${room}/fetches.ts`, { text: "import { x } from 'undici';\nx();\n", rule: fetches });
      const speaks = restricted(room === 'storage/etcd');
      cases.set(`src/${room}/speaks.ts`, { text: "import { x } from '@grpc/grpc-js';\nx();\n", rule: speaks });
      const text = "import { isIP } from 'node:net';\nisIP('');\n";
      cases.set(`src/${room}/looks-at-addresses.ts`, { text, rule: undefined });
    }
    expectLint(cases);
  });
});

describe('other rules of the house', () => {
  it('no default exports and no console in src/, except the console in cli/ and main.ts', () => {
    const log = "console.log('x');\n";
    expectLint(
      new Map([
        ['src/objects/default.ts', { text: 'export default 1;\n', rule: 'noDefaultExport' }],
        ['vitest.config.ts', { text: 'export default 1;\n', rule: undefined }],
        ['src/objects/log.ts', { text: log, rule: 'noConsole' }],
        ['src/compose.ts', { text: log, rule: 'noConsole' }],
        ['src/cli/log.ts', { text: log, rule: undefined }],
        ['src/main.ts', { text: log, rule: undefined }],
      ]),
    );
  });
});

it('biome.rooms.json is what scripts/rooms.mjs says', () => {
  execFileSync(process.execPath, [join(root, 'scripts/generate.mjs'), '--check'], { cwd: root });
});
