import { readFileSync } from 'node:fs';
import { programFile } from '../lib/program-files.ts';

export const programVersion = (): string =>
  (JSON.parse(readFileSync(programFile('package.json'), 'utf8')) as { version: string }).version;
