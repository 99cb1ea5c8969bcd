import { codeOf } from '../lib/file-problem.ts';
import { followFiles } from '../lib/follow-files.ts';
import { every } from '../lib/rounds.ts';
import { UnsafeFile } from '../lib/secret-file.ts';
import { type NotifyConfiguration, readNotifyConfiguration } from '../notify/configuration.ts';
import { startNotifier } from '../notify/notifier.ts';
import { send } from '../notify/send.ts';
import type { Base, State } from './open-state.ts';

interface NotifierParts extends Base, State {
  readonly version: string;
  /** When the certificate of the server ends, in epoch milliseconds. */
  readonly certificateEnd: () => number | undefined;
  readonly keyEnds: () => readonly KeyEnd[];
}

/** A receiver that fails for longer is a problem. */
const FAILING_MS = 300_000;

type KeyEnd = readonly [name: string, end: number];

/** When signing keys end (epoch milliseconds), without those that stay until an operator rotates them. */
export const signingKeyEnds = ({ keyRing }: State['signing'], rotationMs: number): readonly KeyEnd[] =>
  keyRing.entries().flatMap(({ kid, state, created, signsFrom = created, expires }) => {
    const end = expires ?? (state === 'current' && rotationMs > 0 ? signsFrom + rotationMs : undefined);
    return end === undefined ? [] : [[`the signing key ${kid}`, end] as const];
  });

/** Tells receivers of events, as `--notify-config` says. A part of `compose`. */
export async function openNotifier(parts: NotifierParts) {
  const { options, version, catalog, issuers, store, objects, leadership, logger, work, certificateEnd } = parts;
  const { notifyConfig: file, productName } = options;
  if (file === undefined) return { problems: () => 0, stop: async () => {} };
  let problem = '';
  const followed = await followFiles({
    what: `--notify-config ${file}`,
    files: [file],
    read: () => read(file),
    use: () => {
      problem = '';
    },
    report: (text) => {
      problem = text;
      logger.warn({ problem }, 'the notify configuration cannot be used: the last good one stays in force');
    },
  });
  const keyEnds = (): readonly KeyEnd[] => {
    const end = certificateEnd();
    return end === undefined ? parts.keyEnds() : [...parts.keyEnds(), ['the certificate of the server', end]];
  };
  const notifier = startNotifier({
    catalog,
    reader: objects.reader,
    store,
    leadership,
    productName,
    logger,
    every,
    keyEnds,
    baseUrl: issuers.baseUrl,
    configuration: followed.current,
    send: (receiver, message) => send(receiver, message, `clusterpass/${version}`),
    now: Date.now,
    work: work.job('notifications'),
  });
  return {
    /** Whether the file cannot be used, and how many receivers have failed for long. */
    problems: () => {
      const failing = notifier.failingSince().filter((since) => Date.now() - since > FAILING_MS);
      return failing.length + (problem === '' ? 0 : 1);
    },
    stop: async () => {
      followed.close();
      await notifier.stop();
    },
  };
}

/** Undefined when the file does not exist. */
async function read(file: string): Promise<NotifyConfiguration | undefined> {
  try {
    return await readNotifyConfiguration(file);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw new UnsafeFile(`--notify-config ${file}: ${(error as Error).message}`, { cause: error });
  }
}
