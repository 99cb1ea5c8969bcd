import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { blocksOf, execute, isRun } from '../documents/support/blocks.ts';
import { everyCommandWasRun } from '../documents/support/every-command.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(`${project}/${path}`, 'utf8');
const manifest = JSON.parse(read('package.json'));

interface Locked {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
}
const { '': _, ...locked } = JSON.parse(read('package-lock.json')).packages as Record<string, Locked>;
const EXACT = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/;

describe('A25: the installed packages', () => {
  test('have one exact version each', () => {
    const { dependencies, devDependencies, overrides } = manifest;
    for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies, ...overrides })) {
      expect(version, name).toMatch(EXACT);
    }
  });

  test('are locked by version and content', () => {
    expect(Object.keys(locked).length).toBeGreaterThan(50);
    for (const [path, { version, integrity, resolved, link }] of Object.entries(locked)) {
      expect(version, path).toMatch(EXACT);
      expect(integrity, path).toMatch(/^sha512-[A-Za-z0-9+/]{86}==$/);
      // From the registry: not from a folder, a repository or another address.
      expect([resolved, link], path).toEqual([undefined, undefined]);
    }
  });

  test('run no script, except a known one', () => {
    const withScripts = Object.entries(locked)
      .filter(([, { hasInstallScript }]) => hasInstallScript === true)
      .map(([path]) => path.replace(/^node_modules\//, ''));
    // `node` links the binary of the platform. The other two check versions and are not run.
    expect(withScripts.sort()).toEqual(['@swc/core', 'node', 'protobufjs']);
    expect(manifest.allowScripts).toEqual({ '@swc/core': false, node: true, protobufjs: false });
  });
});

describe('A25: what builds and tests a release', () => {
  const workflows = readdirSync(`${project}/.github/workflows`).map((file) => read(`.github/workflows/${file}`));
  const dockerfiles = ['deploy/Dockerfile', 'plugin/Dockerfile'].map(read);
  const found = (texts: readonly string[], pattern: RegExp): string[] =>
    texts.flatMap((text) => [...text.matchAll(pattern)].map(([, value = '']) => value));
  const images = [
    ...found(workflows, /^ +container: (.*)$/gm),
    ...found(dockerfiles, /^ARG \w+_IMAGE=(.*)$/gm),
    ...found(dockerfiles, /^FROM (\S+)/gm).filter((image) => image !== 'scratch' && !image.startsWith('$')),
  ];

  test('are images of one version and content, named without a registry', () => {
    expect(images.length).toBeGreaterThan(5);
    for (const image of images)
      expect(image).toMatch(/^(?:node|golang):\d+\.\d+\.\d+-trixie(?:-slim)?@sha256:[0-9a-f]{64}$/);
  });

  test('is the Node of the lock file, and one Go', () => {
    const node = manifest.devDependencies.node;
    const versions = [...found(images, /^node:([\d.]+)/g), ...found(workflows, /^ +node-version: (.*)$/gm)];
    expect(new Set(versions)).toEqual(new Set([node]));
    const go = [...found(images, /^golang:([\d.]+)/g), ...found(workflows, /^ +go-version: (.*)$/gm)];
    expect([go.length, new Set(go).size]).toEqual([2, 1]);
  });
});

test('every package at run time has its reason in docs/security.md, and no other', () => {
  const packages = Object.keys(manifest.dependencies);
  const table = read('docs/security.md').split('| at run time |')[1]?.split('\n\n')[0] ?? '';
  expect([...table.matchAll(/^\| `([^`]+)`/gm)].map(([, name]) => name)).toEqual(packages);
});

test('the bill of materials has every package at run time', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'clusterpass-sbom-'));
  const file = join(folder, 'sbom.json');
  const [block] = blocksOf('docs/security.md').filter((one) => isRun(one) && one.text.includes('sbom'));
  const script = block && execute(block, (text) => text.replace('sbom.json', `'${file}'`));
  await promisify(execFile)('sh', ['-euc', script ?? 'exit 1'], { cwd: project });
  const text = readFileSync(file, 'utf8');
  rmSync(folder, { recursive: true });
  const { bomFormat, components } = JSON.parse(text) as {
    bomFormat: string;
    components: { name: string; version: string; hashes: unknown[] }[];
  };
  expect(bomFormat).toBe('CycloneDX');
  for (const [name, version] of Object.entries(manifest.dependencies)) {
    const found = components.find(
      (component) => component.name === name.replace(/^@[^/]+\//, '') || component.name === name,
    );
    expect(found, name).toMatchObject({ version });
    expect(found?.hashes).toHaveLength(1);
  }
}, 60_000);

everyCommandWasRun('docs/security.md');
