/**
 * The models of this folder. `quick` are the bounds of `npm test` and of the faults, `full` those of `npm run models`,
 * each a search of its own. A fault is a rule of the program that is planted as it was, or could be: `was` says what was
 * wrong.
 *
 * @typedef {object} Fault
 * @property {string} fault
 * @property {'history' | 'model' | 'planted'} from of this project, found by the model, or only planted
 * @property {string} was
 * @property {string} [mended] by the commit with this subject
 * @property {readonly string[]} [bounds] instead of the quick ones
 *
 * @typedef {object} Model
 * @property {string} name
 * @property {readonly string[]} quick
 * @property {readonly (readonly string[])[]} full
 * @property {readonly Fault[]} faults
 */

/** @type {readonly Model[]} */
export const MODELS = [
  {
    name: 'freshness',
    quick: ['FAULTS=1', 'REVISIONS=2'],
    full: [
      ['FAULTS=1', 'REVISIONS=2', 'AVAILABLE'],
      ['FAULTS=2', 'REVISIONS=3'],
    ],
    faults: [
      {
        fault: 'HUNG_WATCH',
        from: 'history',
        was: 'A watch that hangs was taken for one without events.',
        mended: 'Decide nothing from a cache that may be behind etcd',
      },
      {
        fault: 'WORKERS',
        from: 'history',
        was: 'A write was acknowledged before the other workers had it.',
        mended: 'Acknowledge a write when every worker of the address acts on it',
      },
      {
        fault: 'REFUSED_READ',
        from: 'history',
        was: 'A refusal of etcd counted as silence.',
        mended: 'Treat a refused certificate of etcd or its client as a refusal',
      },
      {
        fault: 'PAUSE',
        from: 'history',
        was: 'A read that failed after a pause of the process counted as silence.',
        mended: 'Take no store for unreachable because of a silence before a pause',
      },
      {
        fault: 'SLEEP',
        from: 'history',
        was: 'The clock of a sleeping machine stands still, and an old proof looked new.',
        mended: 'Drop the proof of freshness after a pause or a sleep',
      },
      {
        fault: 'RESTORED',
        from: 'history',
        was: 'An etcd that was restored went back below the caches, which then counted as new.',
        mended: 'Notice an etcd that was restored from an older copy under a replica',
        bounds: ['FAULTS=1', 'REVISIONS=3'],
      },
      {
        fault: 'CLOCK',
        from: 'history',
        was: 'The sweep of revocations believed a clock that was ahead for a moment.',
        mended: 'Remove nothing by a clock that jumped',
      },
      {
        fault: 'UNNOTICED_PAUSE',
        from: 'model',
        was: 'A silence of before a pause, or a timer that fired after it, said that the store was away.',
        bounds: ['FAULTS=2', 'REVISIONS=2'],
      },
      { fault: 'REFILLED', from: 'model', was: 'Caches that were refilled lacked a write that was acknowledged here.' },
      { fault: 'FAILED_CATCH_UP', from: 'model', was: 'A worker that could not read etcd said that it had caught up.' },
    ],
  },
  {
    name: 'watch',
    quick: ['REVISIONS=6', 'CUTS=1'],
    full: [['REVISIONS=8', 'CUTS=3']],
    faults: [
      {
        fault: 'ENDED_RESUMES',
        from: 'history',
        was: 'A watch resumed between the end of a binding and its deletion.',
        mended: 'Tell a resumed watch what it lost when a binding ended by its time',
      },
      {
        fault: 'RECREATED',
        from: 'history',
        was: 'A cluster that was created again ended a binding without an event.',
      },
      { fault: 'STALE_RESUMES', from: 'planted', was: 'A watch that resumes from before a change of its rules.' },
      {
        fault: 'UNREAD_WRITTEN',
        from: 'history',
        was: 'Events from before a change of rules waited for a slow client, which got them after it.',
        mended: 'Drop what a slow watch has not taken when its permission changes',
      },
      {
        fault: 'HIDDEN_TWICE',
        from: 'model',
        was: 'A client that read slowly went on under new rules, and got DELETED for each event of what is hidden.',
      },
    ],
  },
  {
    name: 'leader',
    quick: ['WRITES=2', 'TICKS=3', 'IMPORTS=2', 'PAUSES=0'],
    full: [['WRITES=3', 'TICKS=5', 'IMPORTS=2', 'PAUSES=1']],
    faults: [
      {
        fault: 'NO_FENCE',
        from: 'history',
        was: 'A leader that was asleep wrote after its successor had begun.',
        mended: 'Move fleets between stores, and fence what the leader writes',
      },
      {
        fault: 'REPLACED_LEADS',
        from: 'history',
        was: 'A replica led in a store that had taken the place of its own.',
        mended: 'Decide nothing and lead nowhere once the store in etcd was replaced',
      },
      { fault: 'SLOW_RENEWAL', from: 'planted', was: 'A lease that counts from the answer to its renewal.' },
      { fault: 'BACKUP_REVISION', from: 'history', was: 'A restored store continued at the revision of its backup.' },
      {
        fault: 'IMPORT_READABLE',
        from: 'history',
        was: 'Revisions that an import had used could be read after it.',
        mended: 'Make the revisions of every import unreadable when it ends',
      },
    ],
  },
  {
    name: 'orders',
    quick: ['DEATHS=1'],
    full: [['DEATHS=4']],
    faults: [
      { fault: 'BLIND_CLAIM', from: 'planted', was: 'A claim without the version that was seen.' },
      {
        fault: 'CLAIMED_AGAIN',
        from: 'planted',
        was: 'A connector that starts does again what was claimed and not answered.',
      },
      { fault: 'LATE_RECORD', from: 'planted', was: 'The record is written after the token.' },
      { fault: 'EARLY_SWEEP', from: 'planted', was: 'Sweeping before the list of orders is complete.' },
      { fault: 'FORGOTTEN_FIRST', from: 'planted', was: 'A sweep that removes the record before the Secret.' },
      { fault: 'IMPATIENT_SWEEP', from: 'planted', was: 'A sweep that takes a Secret that is not there yet for gone.' },
      {
        fault: 'SLEPT',
        from: 'model',
        was: 'A connector that sleeps between record and Secret makes a token after another one has swept the order.',
      },
    ],
  },
];
