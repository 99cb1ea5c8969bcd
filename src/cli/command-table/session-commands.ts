import type { Command } from '../command.ts';
import { cluster, output } from './flags.ts';

export const SESSION_COMMANDS: readonly Command[] = [
  {
    path: ['login'],
    summary: 'Log in with an identity provider or a token, and store the login.',
    details:
      "You sign in at the identity provider of the flags, else at that of the server's console " +
      '(`--console-oidc-issuer`), which is printed; if your login at another server has the same provider, the ' +
      'flags are required. The sign-in is in a browser on this machine (authorization code flow with PKCE; the ' +
      'provider must allow the redirect URI `http://127.0.0.1/callback` with any port), or on any machine ' +
      '(`--device`). A browser is opened only if stderr is a terminal. A login that replaces one of another ' +
      'person, client or provider revokes its refresh token.\n\nWithout a provider, a ' +
      'token is required. It is tested, stored in `logins.json` (mode 0600) in `$XDG_CONFIG_HOME/clusterpass` ' +
      'or `~/.config/clusterpass`, and only sent to its own server ' +
      '([several servers](passes.md#several-servers)).',
    flags: {
      '--name <name>':
        "Your name for the server, for `--server` and names of clusters (`eu/prod-1`). Defaults to that of the login before, else the host. `''` removes it.",
      '--issuer-url <URL>':
        "Issuer URL of the identity provider, as in the server's configuration. Defaults to that of the login before, else to the one that the server names.",
      '--client-id <id>': 'Client ID of this program at the provider.',
      '--client-secret-file <file>': 'File with the client secret, if the client has one. Needs `--issuer-url`, too.',
      '--scopes <scopes>':
        'Comma-separated scopes besides `openid`. Defaults to those of `profile`, `email`, `groups` and `offline_access` that the provider supports.',
      '--issuer-certificate-authority <file>':
        'File with CA certificates (PEM) to trust for the provider instead of the system CAs.',
      '--device': 'Sign in with a browser on another machine (device flow).',
      '--callback-port <port>': {
        doc: 'Local port of the redirect URI, for providers that need a fixed one. 0: any free port.',
        default: '0',
      },
      '--no-browser': 'Print the address without opening a browser.',
    },
    notRun: 'it needs an identity provider',
    examples: [
      'clusterpass login --server https://clusterpass.example.com',
      'clusterpass login --server https://clusterpass.example.com --device',
      'clusterpass login --server https://clusterpass.example.com --issuer-url https://id.example.com --client-id clusterpass',
      'cat token | clusterpass login --server https://clusterpass.example.com --token-file - --certificate-authority ca.crt',
      'clusterpass login --server https://eu.example.com --name eu --issuer-url https://id.example.com --client-id clusterpass',
    ],
  },
  {
    path: ['servers'],
    summary: 'List the servers that you are logged in to.',
    connects: false,
    flags: { ...output('json', 'yaml') },
    examples: ['clusterpass servers', 'clusterpass servers -o json'],
  },
  {
    path: ['servers', 'use'],
    summary: 'Choose the current server.',
    details: 'Commands for one server use it without `--server` and `CLUSTERPASS_SERVER`. The next login changes it.',
    arguments: [{ name: '<NAME>', doc: 'Name or address of a server that you are logged in to.' }],
    connects: false,
    notRun: 'it needs a login of this name',
    examples: ['clusterpass servers use eu'],
  },
  {
    path: ['logout'],
    summary: 'Remove a login and its cached passes.',
    details:
      'Revokes the refresh token at the provider, ends your passes of this server, and deletes their ' +
      'kubeconfigs. The login is that of `--server`, `CLUSTERPASS_SERVER` or the current server. One that is ' +
      'left alone becomes the current one.',
    connects: false,
    flags: {
      '-s, --server <URL>': 'Name or address of the server whose login is removed.',
      '--all': 'Remove all logins.',
    },
    examples: ['clusterpass logout', 'clusterpass logout --all'],
  },
  {
    path: ['whoami'],
    summary: 'Show your user name, groups and extra attributes.',
    flags: { ...output('json', 'yaml'), ...cluster('Send the request to the API of this cluster.') },
    examples: ['clusterpass whoami', 'clusterpass whoami -o json'],
  },
];
