import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { whyMissing } from '../../scripts/programs.ts';

describe('why a program for the tests is missing', () => {
  const folder = mkdtempSync(join(tmpdir(), 'clusterpass-program-'));
  const wanted = {
    name: 'judge',
    path: join(folder, 'judge'),
    problem: join(folder, 'problem.txt'),
  };

  it('says how to fetch it, then why that failed, and nothing when it can run', () => {
    expect(whyMissing(wanted)).toBe('judge is not installed: npm test installs it');
    expect(whyMissing({ ...wanted, path: undefined })).toBe(whyMissing(wanted));
    writeFileSync(wanted.problem, 'there is no archive\n');
    expect(whyMissing(wanted)).toBe('there is no archive');
    writeFileSync(wanted.path, '#!/bin/sh\n', { mode: 0o644 });
    expect(whyMissing(wanted)).toBe('there is no archive');
    rmSync(wanted.path);
    writeFileSync(wanted.path, '#!/bin/sh\n', { mode: 0o755 });
    expect(whyMissing(wanted)).toBeUndefined();
  });
});
