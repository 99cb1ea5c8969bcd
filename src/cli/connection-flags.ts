import type { Flag } from './command.ts';

/** The flags of every command that talks to a server. */
export const CONNECTION_FLAGS: readonly Flag[] = [
  {
    flags: '-s, --server <URL>',
    doc: 'The server; by default that of the last login.',
    variable: 'CLUSTERPASS_SERVER',
  },
  {
    flags: '--token <token>',
    doc: 'The bearer token. Other users of this machine may see it in the list of processes: prefer `--token-file`.',
    variable: 'CLUSTERPASS_TOKEN',
  },
  { flags: '--token-file <file>', doc: 'A file with the bearer token, read anew whenever it is needed; `-` is stdin.' },
  {
    flags: '--certificate-authority <file>',
    doc: "The authorities (PEM) to trust in place of the system's.",
    variable: 'CLUSTERPASS_CA',
  },
  {
    flags: '--insecure-skip-tls-verify',
    doc: 'Trusts whoever answers, and allows plain HTTP beyond this machine. Whoever is in between can read the token.',
  },
  {
    flags: '--product-name <word>',
    doc: "The word in the server's paths; by default the one learned at login, or `orchestrator`.",
    variable: 'CLUSTERPASS_PRODUCT_NAME',
  },
];
