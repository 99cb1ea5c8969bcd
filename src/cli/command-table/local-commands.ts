import type { Command } from '../command.ts';
import { STORE_COMMANDS } from './store-commands.ts';

const SERVE: Command = {
  path: ['serve'],
  summary: 'Serve the API.',
  details: 'Its flags are the options of the server, see [options.md](options.md).',
  serverOptions: 'serve',
  connects: false,
  usageExitCode: 2,
  notRun: 'it runs until it is stopped',
  examples: ['clusterpass serve --data-dir /var/lib/clusterpass --manifests fleet/'],
};

const ROTATE_ADMIN_TOKEN: Command = {
  path: ['admin-token', 'rotate'],
  summary: 'Replace the admin token of a data directory.',
  details:
    'Writes a new token to `admin.token` in the data directory (`--data-dir`, as a flag, environment ' +
    'variable or in a file (`--config`); see [options.md](options.md)). Run it on the machine of the server, ' +
    'as its user or as root. Within five seconds a running server accepts the new token, refuses the old one ' +
    'and ends its watches. To withdraw the token until the next start, remove the file.',
  serverOptions: 'admin-token',
  connects: false,
  examples: ['clusterpass admin-token rotate --data-dir /var/lib/clusterpass'],
};

/** The commands that run a server, or work on its files or its store. Their code is in server/. */
export const LOCAL_COMMANDS: readonly Command[] = [SERVE, ...STORE_COMMANDS, ROTATE_ADMIN_TOKEN];
