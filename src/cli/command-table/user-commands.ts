import type { Command } from '../command.ts';
import { account, cluster, dryRun, namespace, output } from './flags.ts';

/** To find a cluster, and to get into it. */
export const USE_COMMANDS: readonly Command[] = [
  {
    path: ['get', 'clusters'],
    aliases: ['cluster'],
    summary: 'List the clusters that you may see.',
    arguments: [{ name: '[NAME...]', doc: 'Only these; also as in `get cluster/NAME`.' }],
    flags: [
      output('`wide`, `json`, `yaml`, `name`, `jsonpath=TEMPLATE`, `custom-columns=HEADER:PATH,...`'),
      { flags: '-l, --selector <selector>', doc: 'Only those whose labels match, e.g. `env in (dev,staging)`.' },
      { flags: '--field-selector <selector>', doc: 'Only those whose fields match, e.g. `status.type=EKS`.' },
      { flags: '-w, --watch', doc: 'Go on and show every change.' },
      { flags: '--watch-only', doc: 'Show changes only.' },
      { flags: '--chunk-size <number>', doc: 'How many are asked for at a time; 0 is all at once.', default: '500' },
      { flags: '--no-headers', doc: 'Leave out the line of headers.' },
      { flags: '--show-labels', doc: 'Add a column with all labels.' },
      {
        flags: '-L, --label-columns <labels>',
        doc: 'Add a column for each of these labels, e.g. `env,region`.',
        repeatable: true,
      },
      { flags: '--sort-by <path>', doc: 'In the order of a field, e.g. `.status.version`.' },
      { flags: '-A, --all-namespaces', doc: 'Makes no difference: clusters are in no namespace.' },
    ],
    examples: [
      'clusterpass get clusters',
      'clusterpass get clusters -l env=prod -o wide',
      'clusterpass get clusters prod-eu-1 dev-eu-1 -L env,region --sort-by .status.version',
      `clusterpass get clusters -o jsonpath='{range .items[*]}{.metadata.name}{"\\n"}{end}'`,
    ],
    load: () => import('../commands/get-clusters.ts'),
  },
  {
    path: ['describe', 'cluster'],
    aliases: ['clusters'],
    summary: 'Show what there is to know about a cluster.',
    details:
      'Labels, addresses, conditions with their ages, issuer, default audience and longest lifetime of tokens, and ' +
      'which rule lets you see it.',
    arguments: [{ name: '<NAME...>', doc: 'The clusters.' }],
    examples: ['clusterpass describe cluster prod-eu-1'],
    load: () => import('../commands/describe-cluster.ts'),
  },
  {
    path: ['create', 'token'],
    summary: 'Issue a token for a service account.',
    details: 'The token alone is written to stdout. It can be granted for another time than was asked for.',
    arguments: [{ name: '<NAME>', doc: 'The service account.' }],
    flags: [
      cluster('The cluster it lives in.'),
      { ...namespace, default: 'default' },
      { flags: '--audience <audience>', doc: "Who is to accept it; without one, the cluster's API.", repeatable: true },
      {
        flags: '--duration <duration>',
        doc: 'How long it should be good, e.g. `10m`; without one, the server decides.',
      },
      { flags: '--min-duration <duration>', doc: 'Fail rather than take a token that is good for less than this.' },
      { flags: '--for-cluster', doc: "Warn if the audiences are such that the cluster's own API will not accept it." },
      { flags: '--tracked', doc: 'Keep a record of it until it ends, for `token list`.' },
      { flags: '--bound-object-kind <kind>', doc: 'Ends with this object: `Pod` or `Secret`.' },
      { flags: '--bound-object-name <name>', doc: 'The name of that object.' },
      { flags: '--bound-object-uid <uid>', doc: 'Its UID, if it must be this very one.' },
      dryRun,
      output('`json`, `yaml`'),
    ],
    examples: [
      'clusterpass create token builder -n ci --cluster prod-eu-1',
      'clusterpass create token builder -n ci --cluster prod-eu-1 --audience vault --duration 10m',
      'clusterpass create token builder -n ci --cluster prod-eu-1 --duration 12h --min-duration 8h',
    ],
    load: () => import('../commands/create-token.ts'),
  },
  {
    path: ['token', 'list'],
    summary: 'Show the tokens that are out.',
    details:
      'Those that were asked for with `--tracked`: all of them for those who may list `issuedtokens`, else your own. ' +
      'Tokens that have ended or were revoked are not shown.',
    flags: [
      cluster('Only those of this cluster.'),
      {
        flags: '--field-selector <selector>',
        doc: 'Only those whose fields match, e.g. `spec.requestedBy.username=jane`.',
      },
      { flags: '--no-headers', doc: 'Leave out the line of headers.' },
      output('`json`, `yaml`, `name`, `jsonpath=TEMPLATE`, `custom-columns=HEADER:PATH,...`'),
    ],
    examples: ['clusterpass token list', 'clusterpass token list --cluster prod-eu-1'],
    load: () => import('../commands/token-list.ts'),
  },
  {
    path: ['token', 'revoke'],
    summary: 'Revoke tokens before they end.',
    details:
      'By the id of the token (its claim `jti`), or by the token itself on stdin, which is not printed and not sent: ' +
      'only its id is. It need not be tracked. Your own tracked tokens you can always revoke; others take the ' +
      'permission to `delete` `issuedtokens`.',
    arguments: [{ name: '<JTI|-...>', doc: 'The ids; `-` reads a token or an id from stdin.' }],
    examples: [
      'clusterpass token revoke 2b1f7f0e-52a4-4f0a-9c37-3e1f0a2b4c5d',
      'clusterpass token revoke - < leaked-token',
    ],
    load: () => import('../commands/token-revoke.ts'),
  },
  {
    path: ['kubeconfig'],
    summary: 'Write a kubeconfig with a context for every cluster that you may see.',
    details:
      'Contexts are added to the first file of `$KUBECONFIG` (or `~/.kube/config`), mode 0600. Entries that were not ' +
      'written by this command are left alone, and a name that is taken is reported. What it wrote it knows again by ' +
      'an extension in the entry: a context that you renamed keeps its name, and your namespace, proxy and other ' +
      'settings in it stay. No secret is written: kubectl runs `clusterpass credential` when it needs a token. The ' +
      'address is that of the first endpoint whose network holds the address from which this machine talks to the server. Whether tokens ' +
      'of the account would be granted is tried in the first cluster; if not, that is a warning.',
    flags: [
      account,
      { flags: '--output <file>', doc: 'Another file; `-` writes a new kubeconfig to stdout.' },
      {
        flags: '--context-name <template>',
        doc: 'How contexts are named; `{cluster}`, `{namespace}`, `{account}` and `{server}` are filled in.',
        default: '{cluster}',
      },
      { flags: '-l, --selector <selector>', doc: 'Only clusters whose labels match. Others are not pruned.' },
      { flags: '--prune', doc: 'Remove contexts written for clusters that you no longer see.' },
      { flags: '-w, --watch', doc: 'Stay, and keep the file up to date.' },
      {
        flags: '--exec-command <command>',
        doc: 'The program that kubectl runs for a token; by default `clusterpass` where that is this one, else its path.',
      },
    ],
    examples: [
      'clusterpass kubeconfig --as ci/builder',
      "clusterpass kubeconfig --as ci/builder --context-name '{cluster}-{account}' --prune",
      'clusterpass kubeconfig --as ci/builder --watch --prune --output ~/.kube/fleet',
    ],
    load: () => import('../commands/kubeconfig.ts'),
  },
  {
    path: ['credential'],
    summary: 'Give kubectl a token (an exec credential plugin).',
    details:
      'Writes an ExecCredential of the version that `KUBERNETES_EXEC_INFO` asks for, and nothing else, to stdout. ' +
      'Tokens are kept in `$XDG_CACHE_HOME/clusterpass` or `~/.cache/clusterpass` (mode 0600) until shortly before ' +
      'they end; the time that kubectl is told is that moment. Many that start at once share one request.',
    flags: [
      cluster('The cluster.'),
      { ...namespace, doc: 'The namespace of the service account.' },
      { flags: '--service-account <name>', doc: 'The service account.' },
      { flags: '--as <namespace/name>', doc: 'Both in one.' },
      { flags: '--audience <audience>', doc: "Who is to accept it; without one, the cluster's API.", repeatable: true },
      { flags: '--duration <duration>', doc: 'How long it should be good, e.g. `10m`.' },
      { flags: '--no-cache', doc: 'Ask for a new token in any case.' },
    ],
    examples: ['clusterpass credential --cluster prod-eu-1 --as ci/builder'],
    load: () => import('../commands/credential.ts'),
  },
];
