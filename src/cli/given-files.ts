import { readFile } from 'node:fs/promises';
import { CliError } from './command.ts';
import { fileProblem } from './files/files.ts';

/** Files that were named on the command line: that one is not there is the user's to mend. */

export async function readGiven(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new CliError(`cannot read ${path}: ${fileProblem(error)}`);
  }
}

export async function readPem(path: string): Promise<string> {
  const text = await readGiven(path);
  if (!text.includes('-----BEGIN CERTIFICATE-----')) throw new CliError(`${path} has no certificate in it`);
  return text;
}
