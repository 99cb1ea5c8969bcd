import { isDns1123Label, isDns1123Subdomain } from '../api/names.ts';
import { CliError } from './command.ts';

export interface Account {
  readonly namespace: string;
  readonly name: string;
}

/** `namespace/name`. The names end up as arguments of a program, so nothing but a name may pass. */
export function parseAccount(text: string, flag: string): Account {
  const [namespace = '', name = '', ...more] = text.split('/');
  const problems = [...isDns1123Label(namespace), ...isDns1123Subdomain(name)];
  if (more.length > 0 || problems.length > 0) {
    throw new CliError(`${flag}: ${JSON.stringify(text)} is not a service account, written namespace/name`);
  }
  return { namespace, name };
}
