import type { Command, Flag } from '../command.ts';

/** How a command verifies its server. */
export const TLS_FLAGS: readonly Flag[] = [
  {
    flags: '--certificate-authority <file>',
    doc: 'File with CA certificates (PEM) to trust instead of the system CAs.',
    variable: 'CLUSTERPASS_CA',
  },
  {
    flags: '--insecure-skip-tls-verify',
    doc: "Do not verify the server's certificate, and allow plain HTTP to other machines. An attacker on the network can read the token.",
  },
];

/** The flags of every command that connects to a server. */
export const CONNECTION_FLAGS: readonly Flag[] = [
  {
    flags: '-s, --server <URL>',
    doc: 'Address or name of the server. Defaults to the current server (`clusterpass servers`); for `get clusters`, `get accounts`, `describe cluster`, `use`, `kubeconfig` and `exec`, to all servers with a login.',
    variable: 'CLUSTERPASS_SERVER',
  },
  {
    flags: '--token <token>',
    doc: 'Bearer token. Other users of this machine can see it: prefer `--token-file`.',
    variable: 'CLUSTERPASS_TOKEN',
  },
  {
    flags: '--token-file <file>',
    doc: 'File with the bearer token, read again for every request. `-` reads stdin once.',
    variable: 'CLUSTERPASS_TOKEN_FILE',
  },
  ...TLS_FLAGS,
  {
    flags: '--product-name <name>',
    doc: "Product name in the server's paths. Defaults to the name found at login, else `orchestrator`.",
    variable: 'CLUSTERPASS_PRODUCT_NAME',
  },
];

/** All flags of a command: its own, then the connection flags. */
export const flagsOf = ({ flags = [], connects = true }: Pick<Command, 'flags' | 'connects'>): readonly Flag[] => [
  ...flags,
  ...(connects ? CONNECTION_FLAGS : []),
];

/** The meaning of a flag, for help and docs/cli.md. */
export const docOf = ({ doc, conflicts = [] }: Flag): string =>
  conflicts.length === 0 ? doc : `${doc} Not with ${conflicts.map((name) => `\`${name}\``).join(', ')}.`;

// Flags that several commands have.

export const personGroup: Flag = {
  flags: '--group <group>',
  doc: 'With `--as-me`: the only group of yours that the pass has. A connector may require one.',
  field: /metadata\.annotations\[clusterpass\.dev\/group\]/,
};

export const output = (...formats: string[]): Flag => ({
  flags: `-o, --output <${formats.join('|')}>`,
  doc: 'Output format.',
});

export const namespace: Flag = { flags: '-n, --namespace <namespace>', doc: 'Namespace of the request.' };

export const cluster = (doc: string): Flag => ({ flags: '--cluster <cluster>', doc });

export const audience: Flag = {
  flags: '--audience <audience>',
  doc: "Audience of the pass. If unset, the pass is for the cluster's API server.",
  repeatable: true,
  field: /spec\.audiences/,
};

export const dryRun: Flag = {
  flags: '--dry-run <server|none>',
  doc: '`server`: send the request, but do not persist the change.',
  default: 'none',
};

export const dryRunWithClient: Flag = {
  flags: '--dry-run <none|client|server>',
  doc: '`client`: print the change without sending it. `server`: send the request, but do not persist the change.',
  default: 'none',
};

export const noHeaders: Flag = { flags: '--no-headers', doc: "Don't print headers." };

/** How a command connects to a cluster that is not Clusterpass. */
export const kubeconfigFlags: readonly Flag[] = [
  {
    flags: '--kubeconfig <file>',
    doc:
      'Kubeconfig of the cluster or hub. Defaults to the cluster of the pod, else to the first file of `$KUBECONFIG`, ' +
      'else to `~/.kube/config`. Its user has a token or a client certificate: exec plugins are not supported.',
  },
  { flags: '--context <context>', doc: 'Context of the kubeconfig. Defaults to the current context.' },
];

/** Of a command that reconciles once, or until it is stopped. */
export const loopFlags = (dryRunFlag: Flag): readonly Flag[] => [
  { flags: '--once', doc: 'Reconcile once and end. The exit code is 1 if anything is not synchronized then.' },
  dryRunFlag,
  {
    flags: '--metrics-listen <address>',
    doc: 'Serve `/metrics`, `/livez` and `/readyz` at this address, e.g. `0.0.0.0:9090`.',
    conflicts: ['--once'],
  },
];
