import { expect, it } from 'vitest';
import { StatusError, statusFrom } from '../client/errors.ts';
import { NotServedError } from '../sync/api-version.ts';
import { CliError } from './command.ts';
import { describeError } from './describe-error.ts';

const described = (message: string): string | undefined =>
  describeError(new StatusError({ ...statusFrom(403, ''), reason: 'Forbidden', message }));

it('keeps the lines of an error of the server, and nothing else that moves the cursor', () => {
  expect(described('not currently held:\n{Verbs:["create"]}\r\u001b[2K')).toBe(
    'Error from server (Forbidden): not currently held:\n  {Verbs:["create"]}??[2K',
  );
});

it.each([
  ['CliError', CliError],
  ['NotServedError', NotServedError],
])('A46: prints no escape sequence that a %s quotes', (_, Kind) => {
  expect(describeError(new Kind('the annotation is \u001b]0;x\u0007\u009b2K\nnext'))).toBe(
    'error: the annotation is ?]0;x??2K\n  next',
  );
});
