import type { Command, Flags } from '../command.ts';
import { audience, cluster, dryRun, namespace, noHeaders, output, personGroup, subjectFlags } from './flags.ts';

/** Which tracked passes `token list` and `token revoke` are about. */
const tokenSelection: Flags = {
  ...cluster('Only passes for this cluster.'),
  '--account <namespace/name>': 'Only passes of this service account.',
  '--requester <user>': 'Only passes that this user requested.',
};

/** Flags of contexts in a kubeconfig. */
const contextFlags: Flags = {
  ...subjectFlags,
  '--context-name <template>':
    'Template of context names, with `{cluster}`, `{namespace}`, `{account}` and `{server}`. Without it, new contexts are named `{cluster}`, or `{server}/{cluster}` with several logins, and others keep their names.',
  '--accept-changes': 'Update contexts whose cluster has another address or CA. kubectl sends tokens there.',
};

/** Commands to find clusters and to get passes for them. */
export const USER_COMMANDS: readonly Command[] = [
  {
    path: ['get', 'clusters'],
    aliases: ['cluster'],
    summary: 'List the clusters that you may see.',
    details:
      'With [several servers](passes.md#several-servers) there is a column `SERVER`, and in JSON and YAML the ' +
      'annotation `clusterpass.dev/server`.',
    arguments: [
      {
        name: '[NAME...]',
        doc: 'Names of clusters. `SERVER/NAME` is the cluster of one server.',
        isCluster: true,
      },
    ],
    flags: {
      ...output('wide', 'json', 'yaml', 'name'),
      '-l, --selector <selector>': 'Label selector, e.g. `env in (dev,staging)`.',
      '--field-selector <selector>': 'Field selector, e.g. `status.type=EKS`.',
      '-w, --watch': 'After listing the clusters, watch for changes.',
      ...noHeaders,
    },
    examples: ['clusterpass get clusters', 'clusterpass get clusters -l env=prod -o wide'],
  },
  {
    path: ['get', 'accounts'],
    aliases: ['account'],
    summary: 'List the service accounts of which you get passes now, and where.',
    details:
      'By cluster; `me` stands for passes as yourself (`--as-me`). Without a selection: all clusters that you see.',
    flags: {
      ...cluster('Name of a cluster, or `SERVER/NAME`, in place of a selector.', { repeatable: true }),
      '-l, --selector <selector>': 'Label selector of clusters.',
      ...noHeaders,
      ...output('json', 'yaml'),
    },
    examples: ['clusterpass get accounts --cluster prod-eu-1', 'clusterpass get accounts -l env=prod'],
  },
  {
    path: ['use'],
    summary: 'Let kubectl use a cluster: write its context, and make it the current one.',
    details:
      'As `clusterpass kubeconfig` for one cluster. Without a name, a list to pick from on a terminal, ready clusters ' +
      'first. Without `--as` and `--as-me`: as the only account of which you get passes there, or as the one that you ' +
      'pick.',
    arguments: [{ name: '[CLUSTER]', doc: 'Name of a cluster, or `SERVER/NAME`.', isCluster: true }],
    flags: { ...contextFlags },
    examples: ['clusterpass use prod-eu-1 --as ci/builder'],
  },
  {
    path: ['open'],
    summary: 'Open a page of the console in the browser.',
    details: 'Prints its address too. No browser is opened where standard error is no terminal.',
    arguments: [
      { name: '[CLUSTER]', doc: 'Name of a cluster; `request` or `pass` before the name of one.', isCluster: true },
      { name: '[NAME]', doc: 'Name of an access request, or the handle of a pass.' },
    ],
    flags: { '--no-browser': 'Print the address without opening a browser.' },
    examples: ['clusterpass open prod-eu-1', 'clusterpass open request carl-x7k2p'],
  },
  {
    path: ['describe', 'cluster'],
    aliases: ['clusters'],
    summary: 'Show details of a cluster.',
    details:
      'Among them the RBAC rule that shows you the cluster, and the first 20 service accounts of which you get passes.',
    arguments: [
      { name: '<NAME...>', doc: 'Names of clusters. `SERVER/NAME` is the cluster of one server.', isCluster: true },
    ],
    examples: ['clusterpass describe cluster prod-eu-1'],
  },
  {
    path: ['create', 'token'],
    summary: 'Request a pass for a service account, or for yourself.',
    details:
      'Writes only the pass to stdout. The server may grant another lifetime than requested. The name is that of kubectl: ' +
      'the API calls a pass a token.',
    arguments: [{ name: '[NAME]', doc: 'Service account. Required without `--as-me`.' }],
    flags: {
      ...cluster('Cluster of the service account.'),
      '--as-me': {
        doc: 'Request a pass for yourself, for a cluster that accepts people (`clusterpass trust --people`).',
        conflicts: [
          ...['--namespace', '--audience', '--for-cluster'],
          ...['--bound-object-kind', '--bound-object-name', '--bound-object-uid'],
        ],
      },
      ...personGroup,
      ...namespace({ default: 'default' }),
      ...audience(),
      '--duration <duration>': 'Requested lifetime, e.g. `10m`. If unset or 0, the server determines the lifetime.',
      '--min-duration <duration>': 'Fail if the server would issue a shorter lifetime than this.',
      '--for-cluster': "Warn if the cluster's API server does not accept the audiences.",
      '--tracked':
        'Store a record of the pass until it expires, for `token list`, or fail. Without the flag, it is stored where possible.',
      '--no-tracked': 'Store no record.',
      '--bound-object-kind <Pod|Secret>': 'Bind the pass to an object of this kind.',
      '--bound-object-name <name>': 'Bind the pass to this object. The pass expires when the object is deleted.',
      '--bound-object-uid <uid>': 'UID of the object. If unset, the UID of the existing object is used.',
      ...dryRun,
      ...output('json', 'yaml'),
    },
    examples: [
      'clusterpass create token builder -n ci --cluster prod-eu-1',
      'clusterpass create token builder -n ci --cluster prod-eu-1 --audience vault --duration 10m',
      'clusterpass create token builder -n ci --cluster prod-eu-1 --duration 12h --min-duration 8h',
    ],
  },
  {
    path: ['token', 'list'],
    summary: 'List unexpired tracked passes.',
    details:
      'Tracked are passes of `clusterpass create token` and of the console, unless that is declined; with ' +
      '`--track-all-tokens` of the server all. Without permission to list `issuedtokens` you see your own.',
    flags: {
      ...tokenSelection,
      '--field-selector <selector>': 'Field selector, e.g. `spec.requestedBy.username=jane`.',
      ...noHeaders,
      ...output('json', 'yaml', 'name'),
    },
    examples: [
      'clusterpass token list',
      'clusterpass token list --cluster prod-eu-1 --account ci/builder',
      'clusterpass token list --requester carl',
    ],
  },
  {
    path: ['token', 'revoke'],
    summary: 'Revoke passes before they expire.',
    details:
      'Takes IDs of tokens (the claim `jti`, also as `JTI=...` of an audit log), a token on stdin, of which only the ID ' +
      'is sent, or flags that select tracked passes. You may revoke those that you requested; others need `delete` on ' +
      '`issuedtokens`. Clusterpass and verifiers that ask it refuse the token from then on, those with the key set when ' +
      'it expires: the command says when. A cluster with a connector refuses it after ten seconds.',
    arguments: [{ name: '[JTI|-...]', doc: 'Token IDs; `-` reads a token or an ID from stdin.' }],
    flags: {
      ...tokenSelection,
      '--all': 'Revoke all tracked passes that you see.',
      '--dry-run <none|client>': {
        doc: '`client`: print which passes would be revoked, and revoke none.',
        default: 'none',
      },
    },
    examples: [
      'clusterpass token revoke 2b1f7f0e-52a4-4f0a-9c37-3e1f0a2b4c5d',
      'clusterpass token revoke - < leaked-token',
      'clusterpass token revoke --requester carl --dry-run client',
      'clusterpass token revoke --cluster prod-eu-1 --account ci/builder',
    ],
  },
  {
    path: ['kubeconfig'],
    summary: 'Write a kubeconfig with contexts for Clusterpass, or for every cluster that you may see.',
    details:
      'Without `--as` and `--as-me`: a context `clusterpass` for the API of the fleet, and ' +
      '`clusterpass/CLUSTER` for that of each cluster at Clusterpass, with your own login; with several logins ' +
      '`clusterpass@SERVER` and `clusterpass@SERVER/CLUSTER`.\n\nContexts ' +
      'are added to the first file of `$KUBECONFIG` (or `~/.kube/config`), mode 0600. Entries of other ' +
      'programs are never changed; a name that is in use is an error. A context that you renamed keeps its ' +
      'name and your settings. No secret is written: kubectl runs `clusterpass credential` with your login or ' +
      'the variables of its environment. The address is the first endpoint whose `clientCIDR` contains the ' +
      'local address of the connection to the server. A context whose address or CA has changed is left as it ' +
      'is, with exit code 1, until `--accept-changes`, or `clusterpass confirm` by an operator. Accounts are ' +
      'tested in up to 500 clusters with a dry run; failures are warnings ' +
      '([several servers](passes.md#several-servers)).',
    flags: {
      ...contextFlags,
      '--server-context':
        'Contexts of Clusterpass itself, with your login, also with `--as` or `--prune`. Needs https.',
      '--output <file>': 'File to write. `-` writes a new kubeconfig to stdout.',
      '-l, --selector <selector>': 'Label selector of clusters. Contexts of other clusters are not pruned.',
      ...cluster('Name of a cluster, or `SERVER/NAME`, in place of a selector.', { repeatable: true }),
      '--prune': 'Remove contexts of clusters that you no longer see. Without `--as`, nothing else is done.',
      '--exec-command <command>': 'Program that kubectl runs for a token. Defaults to this one.',
    },
    examples: [
      "clusterpass kubeconfig --as ci/builder --context-name '{cluster}-{account}' --prune",
      'clusterpass kubeconfig --as ci/builder --prune --output ~/.kube/fleet',
      'clusterpass kubeconfig --as-me',
      'clusterpass kubeconfig',
      'clusterpass kubeconfig --prune',
    ],
  },
  {
    path: ['kubectl'],
    summary: 'Run kubectl at Clusterpass, with your login.',
    details:
      'Runs the `kubectl` on your PATH with a temporary kubeconfig (mode 0600) without a secret: kubectl gets ' +
      'its token from `clusterpass credential`. Each login is a context, `clusterpass@SERVER`. Flags of ' +
      '`clusterpass` come first; from the first other word or flag on, all is for kubectl, whose exit code is that of ' +
      'the command. Files with objects of several clusters (`-f`) are handled cluster by cluster. Needs an https server ' +
      '([kubectl.md](kubectl.md)).',
    arguments: [{ name: '<ARGS...>', doc: 'Arguments of kubectl.' }],
    passesArguments: true,
    flags: { ...cluster('At the API of this cluster: its namespaces, service accounts, Pods and Secrets.') },
    examples: [
      'clusterpass kubectl get clusters',
      'clusterpass kubectl apply --server-side -f cluster.yaml',
      'clusterpass kubectl --cluster prod-eu-1 get serviceaccounts -n ci',
    ],
  },
  {
    path: ['exec'],
    summary: 'Run a command for every cluster that a selector matches.',
    details:
      'Runs the command once for each cluster, in parallel, as soon as its pass is there. `KUBECONFIG` is a ' +
      'file with address, CA and pass of the cluster (mode 0600, removed at the end), `CLUSTERPASS_CLUSTER` ' +
      'its name, `CLUSTERPASS_SERVER` the address of Clusterpass. Each line of output starts with the name of ' +
      'its cluster. Errors of clusters are printed at the end, with exit code 1. Commands have no input; an ' +
      'interrupt, and the timeout, end them with their children. Lines of ' +
      '[several servers](passes.md#several-servers) start with `SERVER/NAME`.',
    arguments: [{ name: '<COMMAND...>', doc: 'The command and its arguments, after `--`.' }],
    runsCommand: true,
    flags: {
      ...subjectFlags,
      '-l, --selector <selector>': 'Label selector of clusters.',
      ...cluster('Name of a cluster, or `SERVER/NAME`.', { repeatable: true }),
      '--all': 'All clusters that you may see.',
      '--parallel <number>': { doc: 'How many commands run at the same time.', default: '16' },
      '--timeout <duration>': {
        doc: 'How long the command and its children may take for one cluster. 0: no limit.',
        default: '60s',
      },
      '--duration <duration>': 'Requested lifetime of the passes, e.g. `10m`.',
    },
    notRun: 'the clusters of the examples do not exist',
    examples: [
      'clusterpass exec -l env=prod --as ci/builder -- kubectl get nodes',
      'clusterpass exec -l env=dev --as-me -- kubectl get nodes',
      'clusterpass exec --cluster prod-eu-1 --cluster prod-us-1 --as ci/builder -- kubectl get nodes',
    ],
  },
];
