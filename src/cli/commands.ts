import type { Command, Flag } from './command.ts';

/** The table of commands. The program, its completions and docs/cli.md are made from it. */

export const GROUPS: Readonly<Record<string, string>> = {
  get: 'Show objects.',
  describe: 'Show the details of an object.',
  create: 'Create something.',
  auth: 'Ask about permissions.',
  keys: 'See and change the keys that sign tokens.',
  token: 'See which tokens are out, and revoke them.',
  store: 'Work on a store without a server: export and import a fleet, check that all is well.',
};

const output = (formats: string): Flag => ({
  flags: '-o, --output <format>',
  doc: `The form of the output: ${formats}.`,
});
const namespace: Flag = { flags: '-n, --namespace <namespace>', doc: 'The namespace.' };
const account: Flag = {
  flags: '--as <namespace/name>',
  doc: 'The service account whose tokens are used, in every cluster.',
};
const dryRun: Flag = { flags: '--dry-run <server|none>', doc: '`server`: every check, no change.', default: 'none' };
const dryRunWhere: Flag = {
  flags: '--dry-run <none|client|server>',
  doc: '`client`: send no change, and say what would be done. `server`: every check, no change.',
  default: 'none',
};
const files: Flag = {
  flags: '-f, --filename <file>',
  doc: 'A file, a folder with `.yaml`, `.yml` and `.json` files, or `-` for stdin.',
  repeatable: true,
};
const cluster = (doc: string): Flag => ({ flags: '--cluster <cluster>', doc });

export const COMMANDS: readonly Command[] = [
  {
    path: ['login'],
    summary: 'Sign in at an identity provider, or give a token, and remember it.',
    details:
      'With `--issuer-url` and `--client-id` you sign in at an identity provider: in a browser on this machine (the ' +
      'authorization code flow with PKCE; the provider has to allow `http://127.0.0.1/callback` with any port), or in ' +
      'a browser anywhere (`--device`). The address is printed; a browser is opened only from a terminal. The ID token ' +
      'is what the server is shown. It is refreshed when it is about to end, by one process for all that run at the ' +
      'same time, so one login serves every command, cluster and kubectl. The next login at the same server needs no ' +
      'flags.\n\nOtherwise a token has to be given. In both cases it is tried, then kept in `logins.json` (mode 0600) ' +
      'in `$XDG_CONFIG_HOME/clusterpass` or `~/.config/clusterpass`. There is one login for each server, and a token is ' +
      'sent to no other server than its own.',
    flags: [
      {
        flags: '--issuer-url <URL>',
        doc: "The identity provider, as in the server's configuration.",
        variable: 'CLUSTERPASS_ISSUER_URL',
      },
      {
        flags: '--client-id <id>',
        doc: 'What this program is called at the provider.',
        variable: 'CLUSTERPASS_CLIENT_ID',
      },
      { flags: '--client-secret-file <file>', doc: 'A file with the secret of the client, if it has one.' },
      {
        flags: '--scopes <scopes>',
        doc: 'What to ask for besides `openid`, separated by commas; without it, those of `profile`, `email`, `groups` and `offline_access` that the provider has.',
      },
      {
        flags: '--prompt <prompt>',
        doc: "What the provider is to ask, as in OpenID Connect; by default `consent` if `offline_access` is asked for, since some give no refresh token otherwise. `''` leaves it to the provider.",
      },
      {
        flags: '--issuer-certificate-authority <file>',
        doc: "The authorities (PEM) to trust for the provider, in place of the system's.",
      },
      { flags: '--device', doc: 'Sign in with a browser on another machine (the device flow).' },
      {
        flags: '--callback-port <port>',
        doc: 'The port of this machine that the browser comes back to, for providers that need to know it; by default any free one.',
      },
      { flags: '--no-browser', doc: 'Only print the address.' },
    ],
    examples: [
      'clusterpass login --server https://desk.example.com --issuer-url https://id.example.com --client-id clusterpass',
      'clusterpass login --server https://desk.example.com --issuer-url https://id.example.com --client-id clusterpass --device',
      'clusterpass login --server https://desk.example.com --token-file ./token',
      'cat token | clusterpass login --server https://desk.example.com --token-file - --certificate-authority ca.crt',
    ],
    load: () => import('./login.ts'),
  },
  {
    path: ['logout'],
    summary: 'Forget a login and the tokens that were fetched with it.',
    details:
      'A login at an identity provider is ended there, too, if the provider can do that. Kubeconfigs stay as they are. Without `--server` it is the last login; `--all` forgets every one. Other logins stay, and none of them takes its place: choose one by `--server`.',
    connects: false,
    flags: [
      { flags: '-s, --server <URL>', doc: 'The server to forget.' },
      { flags: '--all', doc: 'Every login.' },
    ],
    examples: ['clusterpass logout', 'clusterpass logout --all'],
    load: () => import('./logout.ts'),
  },
  {
    path: ['whoami'],
    summary: 'Show who the server takes you for.',
    flags: [output('`json`, `yaml`, `jsonpath=TEMPLATE`'), cluster('As seen in this cluster.')],
    examples: ['clusterpass whoami', 'clusterpass whoami -o json'],
    load: () => import('./whoami.ts'),
  },
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
    load: () => import('./get-clusters.ts'),
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
    load: () => import('./describe-cluster.ts'),
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
    load: () => import('./create-token.ts'),
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
    load: () => import('./token-list.ts'),
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
    load: () => import('./token-revoke.ts'),
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
    load: () => import('./kubeconfig.ts'),
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
    load: () => import('./credential.ts'),
  },
  {
    path: ['apply'],
    summary: 'Create objects, or change them to what files say.',
    details:
      'An object that does not exist is created; of one that does, the fields in the file are set (a merge patch). A ' +
      'field that was taken out of the file stays in the object: set it to `null`, or use `kubectl apply`, which ' +
      'remembers. Objects that live inside a cluster name it in the annotation `clusterpass.dev/cluster`, or take ' +
      '`--cluster`.',
    flags: [
      files,
      cluster('For objects that live inside a cluster and name none.'),
      namespace,
      dryRunWhere,
      output('`json`, `yaml`, `name`, `jsonpath=TEMPLATE`'),
    ],
    examples: [
      'clusterpass apply -f cluster.yaml',
      'clusterpass apply -f fleet/ --dry-run=server',
      'clusterpass apply -f cluster.yaml -o name',
    ],
    load: () => import('./apply.ts'),
  },
  {
    path: ['delete'],
    summary: 'Delete objects, by name, by label or by file.',
    arguments: [
      { name: '[TYPE]', doc: 'E.g. `cluster`, `serviceaccount`; or `TYPE/NAME`.' },
      { name: '[NAME...]', doc: 'The objects.' },
    ],
    flags: [
      files,
      cluster('For objects that live inside a cluster.'),
      namespace,
      { flags: '-l, --selector <selector>', doc: 'Those of TYPE whose labels match.' },
      { flags: '--all', doc: 'All of TYPE.' },
      { flags: '-A, --all-namespaces', doc: 'With `-l` or `--all`: in every namespace.' },
      { flags: '--ignore-not-found', doc: 'What does not exist counts as deleted.' },
      dryRunWhere,
      output('`name`'),
    ],
    examples: [
      'clusterpass delete cluster dev-eu-1',
      'clusterpass delete serviceaccount builder -n ci --cluster prod-eu-1',
      'clusterpass delete -f cluster.yaml',
      'clusterpass delete clusters -l env=dev --dry-run=client',
    ],
    load: () => import('./delete.ts'),
  },
  {
    path: ['auth', 'can-i'],
    summary: 'Ask whether something is allowed.',
    details: 'Says `yes` or `no` and ends with 0 or 1. `--list` shows everything that is allowed in a namespace.',
    arguments: [
      { name: '[VERB]', doc: '`get`, `list`, `create`...' },
      { name: '[TYPE]', doc: 'A resource, `TYPE/NAME`, or a path that starts with `/`.' },
      { name: '[NAME]', doc: 'One object.' },
    ],
    flags: [
      { flags: '--subresource <name>', doc: 'E.g. `token`.' },
      { ...namespace, default: 'default' },
      { flags: '-A, --all-namespaces', doc: 'In every namespace.' },
      cluster('In this cluster; without it, at the fleet.'),
      { flags: '--list', doc: 'Everything that is allowed.' },
      { flags: '-q, --quiet', doc: 'Only the exit code.' },
      { flags: '--no-headers', doc: 'Leave out the line of headers.' },
    ],
    examples: [
      'clusterpass auth can-i get clusters prod-eu-1',
      'clusterpass auth can-i create serviceaccounts/builder --subresource token -n ci --cluster prod-eu-1',
      'clusterpass auth can-i --list -n ci --cluster prod-eu-1',
    ],
    load: () => import('./can-i.ts'),
  },
  {
    path: ['register'],
    summary: 'Add a cluster from a kubeconfig.',
    details:
      'Reads address and CA of a context, asks the cluster for its version and its identity (the UID of the namespace ' +
      '`kube-system`, kept in the annotation `clusterpass.dev/cluster-id`), and creates the cluster. Without ' +
      'permission to read the identity, the cluster is created without it. The credentials in the kubeconfig are ' +
      'used for these two questions only, if at all, and are not sent to Clusterpass.',
    arguments: [{ name: '<NAME>', doc: 'What it is to be called.' }],
    flags: [
      { flags: '--kubeconfig <file>', doc: 'The file; by default the first of `$KUBECONFIG`.' },
      { flags: '--context <context>', doc: 'The context in it; by default the current one.' },
      { flags: '--label <key=value>', doc: 'A label for it.', repeatable: true },
      {
        flags: '--client-cidr <network>',
        doc: 'Clients in this network use the address; without one, all clients do.',
        repeatable: true,
      },
      { flags: '--offline', doc: 'Do not connect to it.' },
      dryRun,
    ],
    examples: ['clusterpass register dev-eu-3 --kubeconfig ./dev.yaml --context admin@dev --label env=dev'],
    load: () => import('./register.ts'),
  },
  {
    path: ['trust'],
    summary: 'Write what makes the API server of a cluster accept tokens that are issued here.',
    details:
      'An `AuthenticationConfiguration` for `--authentication-config` of kube-apiserver. A token then stands for the service ' +
      'account that it names, with its groups and its UID. The authority in it is the one of `--certificate-authority` or ' +
      'of the login; without one, the root of what the issuer shows, if this machine trusts it and it is not a public one.',
    arguments: [{ name: '<CLUSTER>', doc: 'The cluster.' }],
    examples: ['clusterpass trust prod-eu-1 > authentication.yaml'],
    load: () => import('./trust.ts'),
  },
  {
    path: ['confirm'],
    summary: "Confirm where a cluster's credential is sent.",
    details:
      'A cluster whose `spec.authInfo.controller` names a credential is asked for its tokens with that credential, once ' +
      'somebody who may `confirm` clusters has confirmed its addresses and its CA. A change of any of them needs a new ' +
      'confirmation. The command shows what is confirmed: look at it, above all after a change that you did not make.',
    arguments: [{ name: '<CLUSTER>', doc: 'The cluster.' }],
    flags: [
      {
        flags: '--print',
        doc: 'Print the value for the annotation `clusterpass.dev/confirmed-endpoint`, and change nothing.',
      },
      dryRun,
    ],
    examples: ['clusterpass confirm prod-eu-1', 'clusterpass confirm prod-eu-1 --print'],
    load: () => import('./confirm.ts'),
  },
  {
    path: ['keys', 'list'],
    summary: 'Show the keys that sign tokens, or did, or will.',
    details: 'Only what is public: the private half of a key never leaves the server.',
    flags: [output('`json`, `yaml`, `name`, `jsonpath=TEMPLATE`')],
    examples: ['clusterpass keys list'],
    load: () => import('./keys-list.ts'),
  },
  {
    path: ['keys', 'rotate'],
    summary: 'Let the next key sign.',
    details:
      'It signs as soon as every verifier can know it: 70 minutes after it was first published, which is often long ago. ' +
      'Tokens of the key before stay valid.',
    flags: [
      {
        flags: '--force',
        doc: 'At once, even if verifiers may not know the key yet and refuse its tokens for up to an hour.',
      },
      dryRun,
    ],
    examples: ['clusterpass keys rotate', 'clusterpass keys rotate --dry-run server'],
    load: () => import('./keys-rotate.ts'),
  },
  {
    path: ['keys', 'revoke'],
    summary: 'Revoke a key, and with it every token that it signed.',
    details:
      'Its tokens are refused here at once, and it is no longer published. If it was the key that signs, the next one takes ' +
      'its place.',
    arguments: [{ name: '<KEY>', doc: 'The id of the key.' }],
    flags: [dryRun],
    examples: ['clusterpass keys revoke RkEm2pTSmmwLLLhIExcVnKNnyQGyZWRr9wHQyvDF0hc'],
    load: () => import('./keys-revoke.ts'),
  },
  {
    path: ['completion'],
    summary: 'Write a completion script for a shell.',
    arguments: [{ name: '<bash|zsh|fish>', doc: 'The shell.' }],
    connects: false,
    examples: ['source <(clusterpass completion bash)', 'clusterpass completion fish | source'],
    load: () => import('./completion.ts'),
  },
  {
    path: ['version'],
    summary: 'Show the versions of this program and of the server.',
    flags: [{ flags: '--client', doc: 'Of this program only.' }, output('`json`, `yaml`')],
    examples: ['clusterpass version', 'clusterpass version --client -o json'],
    load: () => import('./version.ts'),
  },
];
