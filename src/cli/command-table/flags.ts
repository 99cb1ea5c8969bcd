import type { Flag } from '../command.ts';

/** Flags that several commands have. */

export const output = (formats: string): Flag => ({
  flags: '-o, --output <format>',
  doc: `The form of the output: ${formats}.`,
});
export const namespace: Flag = { flags: '-n, --namespace <namespace>', doc: 'The namespace.' };
export const account: Flag = {
  flags: '--as <namespace/name>',
  doc: 'The service account whose tokens are used, in every cluster.',
};
export const dryRun: Flag = {
  flags: '--dry-run <server|none>',
  doc: '`server`: every check, no change.',
  default: 'none',
};
export const dryRunWhere: Flag = {
  flags: '--dry-run <none|client|server>',
  doc: '`client`: send no change, and say what would be done. `server`: every check, no change.',
  default: 'none',
};
export const files: Flag = {
  flags: '-f, --filename <file>',
  doc: 'A file, a folder with `.yaml`, `.yml` and `.json` files, or `-` for stdin.',
  repeatable: true,
};
export const cluster = (doc: string): Flag => ({ flags: '--cluster <cluster>', doc });
