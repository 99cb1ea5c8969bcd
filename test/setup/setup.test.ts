import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { isInstalled } from '../../scripts/setup.mjs';

const project = fileURLToPath(new URL('../..', import.meta.url));

type Packages = Record<string, { version: string; integrity?: string; optional?: boolean; resolved?: string }>;

describe('isInstalled', () => {
  let root = '';
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'clusterpass-setup-'));
    mkdirSync(join(root, 'node_modules/a'), { recursive: true });
  });

  const a = { version: '1.0.0', integrity: 'sha512-a' };
  const wanted = (packages: Packages): void =>
    writeFileSync(join(root, 'package-lock.json'), JSON.stringify({ packages: { '': { version: '0' }, ...packages } }));
  const present = (packages: Packages): void =>
    writeFileSync(join(root, 'node_modules/.package-lock.json'), JSON.stringify({ packages }));

  it('is true when the installed packages are the locked ones', () => {
    wanted({ 'node_modules/a': a, 'node_modules/for-another-platform': { ...a, optional: true } });
    present({ 'node_modules/a': a });
    expect(isInstalled(root)).toBe(true);
  });

  it.each<[string, Packages, Packages]>([
    ['another version is there', { 'node_modules/a': a }, { 'node_modules/a': { ...a, version: '2.0.0' } }],
    ['another content is there', { 'node_modules/a': a }, { 'node_modules/a': { ...a, integrity: 'sha512-b' } }],
    ['something is missing', { 'node_modules/a': a, 'node_modules/b': a }, { 'node_modules/a': a }],
    ['there is another package', { 'node_modules/a': a }, { 'node_modules/a': a, 'node_modules/b': a }],
    ['a folder is missing', { 'node_modules/b': a }, { 'node_modules/b': a }],
  ])('is false when %s', (_, lock, note) => {
    wanted(lock);
    present(note);
    expect(isInstalled(root)).toBe(false);
  });

  it('is false while npm has not finished, or when a file is incomplete', () => {
    wanted({ 'node_modules/a': a });
    expect(isInstalled(root)).toBe(false);
    writeFileSync(join(root, 'node_modules/.package-lock.json'), '{"packages": {');
    expect(isInstalled(root)).toBe(false);
  });
});

describe('the lockfile', () => {
  const { packages }: { packages: Record<string, Packages[string] & { optionalDependencies?: object }> } = JSON.parse(
    readFileSync(join(project, 'package-lock.json'), 'utf8'),
  );

  it('has a hash and no address for every package', () => {
    for (const [path, { integrity, resolved }] of Object.entries(packages)) {
      if (path === '') continue;
      expect(integrity, path).toMatch(/^sha512-/);
      expect(resolved, path).toBeUndefined();
    }
  });

  it('has the binaries of every platform, not only of the one it was written on', () => {
    const optional = Object.values(packages).flatMap((entry) => Object.keys(entry.optionalDependencies ?? {}));
    expect(optional.filter((name) => packages[`node_modules/${name}`] === undefined)).toEqual([]);
  });
});
