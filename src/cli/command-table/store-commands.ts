import type { Command, Flag } from '../command.ts';

/** A command that works on a store itself. It is no client, so what it does lies outside of this folder. */
export interface StoreCommand extends Omit<Command, 'load'> {
  readonly task: 'export' | 'import' | 'check';
}

const WHICH =
  'The store is named as for `serve`: by `--store` (with `--etcd-cafile` and its companions) or `--data-dir`, in the ' +
  'environment or in a file (`--config`); see [options.md](options.md).';

const file = (doc: string): Flag => ({ flags: '-f, --file <file>', doc });

/** The rest of the table of commands: the program, its completions and docs/cli.md are made from it, too. */
export const STORE_COMMANDS: readonly StoreCommand[] = [
  {
    task: 'export',
    path: ['store', 'export'],
    summary: 'Write everything that is stored to a file.',
    details: `${WHICH} On etcd servers may go on meanwhile: the file is true at one revision. SQLite is for one process, so stop the server first. A file that is there already is not written over.`,
    flags: [file('Where to; by default stdout. It is made for you alone (mode 0600): it holds all that is stored.')],
    connects: false,
    examples: ['clusterpass store export --data-dir /var/lib/clusterpass -f fleet.jsonl'],
  },
  {
    task: 'import',
    path: ['store', 'import'],
    summary: 'Fill an empty store from a file.',
    details: `${WHICH} One that was cut off is begun anew by the same command, and no server starts on half of one. Versions go on from where they were.`,
    flags: [file('Where from; by default stdin.')],
    connects: false,
    examples: ['clusterpass store import --store etcd://127.0.0.1:2379/clusterpass -f fleet.jsonl'],
  },
  {
    task: 'check',
    path: ['store', 'check'],
    summary: 'Read everything that is stored, and say what does not fit together.',
    details: `${WHICH} Counts the objects of each kind. The exit code is 1 when something is wrong.`,
    flags: [
      { flags: '--server <url>', doc: 'Also compare it with what this running server has in its caches.' },
      { flags: '--token-file <file>', doc: 'The token of an administrator of that server.' },
    ],
    connects: false,
    examples: [
      'clusterpass store check --data-dir /var/lib/clusterpass',
      'clusterpass store check --store etcd://127.0.0.1:2379/clusterpass --server https://pass.example.com --token-file admin.token',
    ],
  },
];
