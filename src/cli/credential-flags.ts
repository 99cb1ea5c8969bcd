import type { FieldFlag } from './command.ts';

/** CP-99: the exit code of `credential` if its flags, its variables or the question of client-go are wrong. */
export const USAGE_EXIT_CODE = 2;

/** The flags of `credential`, by their spellings. A test compares them with the table of commands. */
export const VALUES: ReadonlyMap<string, string> = new Map([
  ['--cluster', 'cluster'],
  ['-n', 'namespace'],
  ['--namespace', 'namespace'],
  ['--service-account', 'serviceAccount'],
  ['--as', 'as'],
  ['--audience', 'audience'],
  ['--duration', 'duration'],
  ['--pass', 'pass'],
  ['-s', 'server'],
  ['--server', 'server'],
  ['--token', 'token'],
  ['--token-file', 'tokenFile'],
  ['--certificate-authority', 'certificateAuthority'],
  ['--product-name', 'productName'],
]);
export const LISTS: ReadonlySet<string> = new Set(['audience']);
export const SWITCHES: ReadonlyMap<string, readonly [name: string, value: boolean]> = new Map([
  ['--as-me', ['asMe', true]],
  ['--no-cache', ['cache', false]],
  ['--login', ['login', true]],
  ['--insecure-skip-tls-verify', ['insecureSkipTlsVerify', true]],
]);

/** The flags that set fields of a request, as in the table. */
export const FIELDS: readonly Required<FieldFlag>[] = [
  { flags: '--audience <audience>', variable: 'CLUSTERPASS_AUDIENCE', field: /spec\.audiences/ },
  { flags: '--duration <duration>', variable: 'CLUSTERPASS_DURATION', field: /spec\.expirationSeconds/ },
];

/** The options by name, as commander has them; undefined for anything but plain flags and values. */
export function parseCredentialFlags(args: readonly string[]): Record<string, unknown> | undefined {
  const options: Record<string, unknown> = {};
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? '';
    const toggle = SWITCHES.get(arg);
    if (toggle !== undefined) {
      options[toggle[0]] = toggle[1];
      continue;
    }
    const sign = arg.startsWith('--') ? arg.indexOf('=') : -1;
    const name = VALUES.get(sign < 0 ? arg : arg.slice(0, sign));
    const value = sign < 0 ? args[++at] : arg.slice(sign + 1);
    if (name === undefined || value === undefined) return undefined;
    options[name] = LISTS.has(name) ? [...((options[name] as string[] | undefined) ?? []), value] : value;
  }
  return options;
}
