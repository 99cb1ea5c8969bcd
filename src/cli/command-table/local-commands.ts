import type { Command, Flags } from '../command.ts';
import { TLS_FLAGS } from './flags.ts';

const STORE_OPTIONS =
  'Takes the options of `serve` for the store ([options.md](options.md)): `--store`, those of etcd, `--data-dir`, `--config`.';

const file = (doc: string): Flags => ({ '-f, --file <file>': doc });

/** The commands that run a server, or work on its files or its store. Their code is in server/. */
export const LOCAL_COMMANDS: readonly Command[] = [
  {
    path: ['serve'],
    summary: 'Serve the API.',
    details: 'Its flags are the options of the server, see [options.md](options.md).',
    serverOptions: 'serve',
    connects: false,
    usageExitCode: 2,
    notRun: 'it runs until it is stopped',
    examples: ['clusterpass serve --data-dir /var/lib/clusterpass --manifests fleet/'],
  },
  {
    serverOptions: 'store',
    path: ['store', 'backup'],
    summary: 'Copy a SQLite database while the server runs.',
    details: `${STORE_OPTIONS} Run it on the machine of the server, as its user or as root. The data directory needs free space for one more copy of the database. An existing file is not overwritten. [backup.md](backup.md) has the steps of a restore. For etcd use \`etcdctl snapshot save\`.`,
    flags: { ...file('File to write, mode 0600: it contains secrets. Required.') },
    connects: false,
    examples: ['clusterpass store backup --data-dir /var/lib/clusterpass -f fleet.db'],
  },
  {
    serverOptions: 'store',
    path: ['store', 'export'],
    summary: 'Write all stored objects to a file.',
    details: `${STORE_OPTIONS} With etcd, servers may keep running: the file holds one revision. SQLite allows one process: stop the server first, or export a copy made by \`store backup\`. An existing file is not overwritten.`,
    flags: { ...file('File to write, mode 0600: it contains secrets. Defaults to stdout.') },
    connects: false,
    notRun: 'it needs a server that is stopped; the page about backups runs it on etcd',
    examples: ['clusterpass store export --data-dir /var/lib/clusterpass -f fleet.jsonl'],
  },
  {
    serverOptions: 'store',
    path: ['store', 'import'],
    summary: 'Fill an empty store from a file.',
    details: `${STORE_OPTIONS} To restart an interrupted import, run the same command again; no server starts on an incomplete import. Resource versions continue after all that the exported store can have given out.`,
    flags: {
      ...file('File to read. Defaults to stdin.'),
      '--without-signing-keys':
        'Leave out the signing keys: the next start makes new ones, and every pass becomes invalid. For an encryption key that is lost or stolen.',
    },
    connects: false,
    notRun: 'it needs etcd; the page about backups runs it',
    examples: ['clusterpass store import --store etcd://127.0.0.1:2379/clusterpass -f fleet.jsonl'],
  },
  {
    serverOptions: 'store',
    path: ['store', 'check'],
    summary: 'Read all stored objects and report inconsistencies.',
    details: `${STORE_OPTIONS} SQLite allows one process: stop the server first, or check a copy made by \`store backup\`. With etcd, servers may keep running. Prints the number of objects of each kind. Exits with 1 if it finds a problem.`,
    flags: {
      '--server <url>': 'Also compare the store with the caches of this running server. For etcd only.',
      '--token-file <file>': 'File with the token of an administrator of that server.',
      ...TLS_FLAGS,
    },
    connects: false,
    notRun: 'it needs etcd; the page about backups runs it',
    examples: [
      'clusterpass store check --data-dir /var/lib/clusterpass',
      'clusterpass store check --store etcd://127.0.0.1:2379/clusterpass --server https://clusterpass.example.com --token-file admin.token --certificate-authority ca.crt',
    ],
  },
  {
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
  },
];
