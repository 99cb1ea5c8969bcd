import type { Command, Flag, FlagFacts, Flags } from '../command.ts';

const listOf = (flags: Flags): readonly Flag[] =>
  Object.entries(flags).map(([flags, facts]) => ({ flags, ...(typeof facts === 'string' ? { doc: facts } : facts) }));

/** How a command verifies its server. */
export const TLS_FLAGS: Flags = {
  '--certificate-authority <file>': {
    doc: 'File with CA certificates (PEM) to trust instead of the system CAs.',
    variable: 'CLUSTERPASS_CA',
  },
  '--insecure-skip-tls-verify':
    "Do not verify the server's certificate, and allow plain HTTP to other machines. An attacker on the network can read the token.",
};

/** The flags of every command that connects to a server. */
export const CONNECTION_FLAGS = listOf({
  '-s, --server <URL>': {
    doc: 'Address or name of the server. Defaults to the current server (`clusterpass servers`); for `get clusters`, `get accounts`, `describe cluster`, `use`, `kubeconfig` and `exec`, to all servers with a login.',
    variable: 'CLUSTERPASS_SERVER',
  },
  '--token <token>': {
    doc: 'Bearer token. Other users of this machine can see it: prefer `--token-file`.',
    variable: 'CLUSTERPASS_TOKEN',
  },
  '--token-file <file>': {
    doc: 'File with the bearer token, read again for every request. `-` reads stdin once.',
    variable: 'CLUSTERPASS_TOKEN_FILE',
  },
  ...TLS_FLAGS,
  '--product-name <name>': {
    doc: "Product name in the server's paths. Defaults to the name found at login, else `orchestrator`.",
    variable: 'CLUSTERPASS_PRODUCT_NAME',
  },
});

export const ownFlags = ({ flags = {} }: Pick<Command, 'flags'>): readonly Flag[] => listOf(flags);

export const flagsOf = ({ flags, connects = true }: Pick<Command, 'flags' | 'connects'>): readonly Flag[] => [
  ...ownFlags({ flags }),
  ...(connects ? CONNECTION_FLAGS : []),
];

/** The meaning of a flag, for help and docs/cli.md. */
export const docOf = ({ doc, conflicts = [] }: Flag): string =>
  conflicts.length === 0 ? doc : `${doc} Not with ${conflicts.map((name) => `\`${name}\``).join(', ')}.`;

// Flags that several commands have.

/** What a command adds to a flag. */
type More = Partial<FlagFacts>;

export const personGroup: Flags = {
  '--group <group>': 'With `--as-me`: the only group of yours that the pass has. A connector may require one.',
};

/** Whose passes are used. */
export const subjectFlags: Flags = {
  '--as <namespace/name>': 'Service account whose passes are used.',
  '--as-me': 'Use passes for yourself in place of those of a service account. The cluster must accept people.',
  ...personGroup,
};

export const output = (...formats: string[]): Flags => ({ [`-o, --output <${formats.join('|')}>`]: 'Output format.' });

export const namespace = (more: More): Flags => ({
  '-n, --namespace <namespace>': { doc: 'Namespace of the request.', ...more },
});

export const cluster = (doc: string, more: More = {}): Flags => ({ '--cluster <cluster>': { doc, ...more } });

export const audience = (more: More = {}): Flags => ({
  '--audience <audience>': {
    doc: "Audience of the pass. If unset, the pass is for the cluster's API server.",
    repeatable: true,
    ...more,
  },
});

export const dryRun: Flags = {
  '--dry-run <server|none>': {
    doc: '`server`: send the request, but do not persist the change.',
    default: 'none',
  },
};

export const noHeaders: Flags = { '--no-headers': "Don't print headers." };

/** How a command connects to a cluster that is not Clusterpass. */
export const kubeconfigFlags: Flags = {
  '--kubeconfig <file>':
    'Kubeconfig of the cluster or hub. Defaults to the cluster of the pod, else to the first file of `$KUBECONFIG`, ' +
    'else to `~/.kube/config`. Its user has a token or a client certificate: exec plugins are not supported.',
  '--context <context>': 'Context of the kubeconfig. Defaults to the current context.',
};
