import type { Command } from '../command.ts';
import { audience, cluster, namespace, personGroup } from './flags.ts';

/** Alone in its file: kubectl starts the plugin often, and it must not wait for the tables of the other commands. */
export const CREDENTIAL: Command = {
  path: ['credential'],
  isPlugin: true,
  // CP-99
  usageExitCode: 2,
  summary: 'Give kubectl a token, as an exec credential plugin.',
  details:
    'Writes only an ExecCredential to stdout. Tokens are cached in `$XDG_CACHE_HOME/clusterpass` or ' +
    '`~/.cache/clusterpass` (mode 0600) for four fifths of their lifetime, which is the ' +
    '`expirationTimestamp` for kubectl. A cached token ' +
    'older than a minute is first checked at the server (or at a cluster that issues its own tokens), and ' +
    'replaced if it is refused; without an answer in two seconds it is used. `login`, `logout` and `pass ' +
    'revoke` remove what they end.\n\nFor controllers ([inventory.md](inventory.md)): the cluster can come ' +
    'from `spec.cluster.config.clusterName` in `KUBERNETES_EXEC_INFO`. With `--token-file` nothing is cached ' +
    'on disk. The exit code is 2 for wrong flags, variables or `KUBERNETES_EXEC_INFO`.',
  flags: {
    ...cluster('Cluster of the service account. Defaults to the cluster of the ClusterProfile, if there is one.'),
    ...namespace({ doc: 'Namespace of the service account.' }),
    '--service-account <name>': 'Service account.',
    '--as <namespace/name>': { doc: 'Short for `--namespace` and `--service-account`.', variable: 'CLUSTERPASS_AS' },
    '--as-me': 'Give a pass for yourself, in place of a service account.',
    ...personGroup,
    ...audience({ variable: 'CLUSTERPASS_AUDIENCE' }),
    '--duration <duration>': {
      doc: 'Requested lifetime, e.g. `10m`.',
      variable: 'CLUSTERPASS_DURATION',
    },
    '--pass <handle>':
      'Redeem a pass of `clusterpass pass request` or of an agent. It determines account, audience and duration.',
    '--no-cache': 'Request a new token and do not write it to disk. The cached one is removed.',
    '--login': 'Give the token of your login, for the API of Clusterpass itself. In place of a service account.',
  },
  examples: ['clusterpass credential --cluster prod-eu-1 --as ci/builder', 'clusterpass credential --login'],
};
