import { createHash } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { fakeContext } from '../cli.fixture.ts';
import { codeChallengeFor, readCodeVerifier } from './machine-key.ts';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'clusterpass-key-'));
});

const [A, B] = ['https://a.example', 'https://b.example'];

it('RFC 7636: the verifier of a server is behind its challenge, and no other server learns it', async () => {
  const context = fakeContext({ XDG_CONFIG_HOME: home });
  expect(await readCodeVerifier(context, A)).toBeUndefined();
  // Several processes ask for their first pass at once, and make one key.
  const challenges = await Promise.all(Array.from({ length: 5 }, () => codeChallengeFor(context, A)));
  expect(new Set(challenges).size).toBe(1);
  const verifier = (await readCodeVerifier(context, A)) ?? '';
  expect(createHash('sha256').update(verifier).digest('base64url')).toBe(challenges[0]);
  expect(await readCodeVerifier(context, B)).not.toBe(verifier);
  expect(await codeChallengeFor(context, B)).not.toBe(challenges[0]);
});

it('a key that was not made here is not used', async () => {
  const context = fakeContext({ XDG_CONFIG_HOME: home });
  await codeChallengeFor(context, A);
  await writeFile(join(home, 'clusterpass/machine.key'), 'short\n');
  await expect(readCodeVerifier(context, A)).rejects.toThrow('is not a key that clusterpass made');
});
