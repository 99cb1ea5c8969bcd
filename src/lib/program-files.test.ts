import { expect, it } from 'vitest';
import { goPlatform } from './program-files.ts';

it.each([
  ['linux', 'x64', 'linux/amd64'],
  ['darwin', 'arm64', 'darwin/arm64'],
  ['win32', 'ia32', 'windows/386'],
] as const)('%s on %s is %s in Go', (platform, arch, text) => {
  expect(goPlatform({ platform, arch })).toBe(text);
});
