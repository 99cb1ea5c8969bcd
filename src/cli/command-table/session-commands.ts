import type { Command } from '../command.ts';
import { cluster, output } from './flags.ts';

/** Who you are to the server. */
export const SESSION_COMMANDS: readonly Command[] = [
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
    load: () => import('../commands/login.ts'),
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
    load: () => import('../commands/logout.ts'),
  },
  {
    path: ['whoami'],
    summary: 'Show who the server takes you for.',
    flags: [output('`json`, `yaml`, `jsonpath=TEMPLATE`'), cluster('As seen in this cluster.')],
    examples: ['clusterpass whoami', 'clusterpass whoami -o json'],
    load: () => import('../commands/whoami.ts'),
  },
];
