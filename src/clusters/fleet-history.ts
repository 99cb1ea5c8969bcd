import { type FleetHour, HISTORY_HOURS } from '../api/overview.ts';
import { firstWithin } from '../lib/promises.ts';
import { createRounds } from '../lib/rounds.ts';
import type { SweepTimer } from '../objects/sweep-objects.ts';
import type { Store } from '../storage/contract.ts';
import { updateKey } from '../storage/scan.ts';

/** The leader records the readiness of clusters, for all replicas. */
interface HistoryParts extends SweepTimer {
  readonly store: Pick<Store, 'get' | 'write'>;
  readonly readiness: () => Promise<Readonly<Record<string, number>>>;
  /** What this process has issued and refused since it started. Each process records its own. */
  readonly tokens: () => Promise<Readonly<Record<'issued' | 'refused', number>>>;
  readonly now: () => number;
}

const KEY = '/internal/fleet-history';
const RECORD_MS = 300_000;
/** A store that does not answer must not delay the end of the process. */
const STOP_MS = 1_000;

/**
 * The history of the fleet: one value of the store, six numbers for each hour of a week, some kilobytes. A write whose
 * answer got lost may count twice: it is a picture, not a record.
 */
export function startFleetHistory({ store, leadership, readiness, tokens, every, now, logger }: HistoryParts) {
  let told = { issued: 0, refused: 0 };
  const present = async (total: typeof told): Promise<FleetHour> => {
    const { True: ready = 0, False: notReady = 0, Unknown: unknown = 0 } = leadership.leads() ? await readiness() : {};
    const hour = Math.floor(now() / 3_600_000);
    return [hour, ready, notReady, unknown, total.issued - told.issued, total.refused - told.refused];
  };
  async function record(): Promise<void> {
    const total = await tokens();
    const row = await present(total);
    if (row.slice(1).every((count) => count === 0)) return;
    await updateKey(store, KEY, (before) => Buffer.from(JSON.stringify(withRow(decode(before), row))));
    told = total;
  }
  const rounds = createRounds(record, (err) => logger.warn({ err }, 'the history of the fleet is not recorded'));
  const stop = every(RECORD_MS, rounds.start);
  return {
    /** The recorded hours, and the present one as far as this process knows it. */
    hours: async () => withRow(decode((await store.get(KEY))?.value), await present(await tokens())),
    /** Records once more, so that an upgrade loses nothing. */
    stop: async (): Promise<void> => {
      stop();
      rounds.start();
      await firstWithin(STOP_MS, rounds.ended());
    },
  };
}

/** The hours of the last week, with these numbers added. A clock that was ahead leaves nothing behind. */
function withRow(rows: readonly FleetHour[], row: FleetHour): readonly FleetHour[] {
  const [hour] = row;
  const same = rows.find(([other]) => other === hour);
  const sum = row.map((count, at) => (at === 0 ? hour : count + (same?.[at] ?? 0))) as unknown as FleetHour;
  return [...rows.filter(([other]) => other < hour && other > hour - HISTORY_HOURS), sum];
}

/** A value that is not a history is an empty one. */
function decode(value: Uint8Array | undefined): readonly FleetHour[] {
  try {
    const rows: unknown = JSON.parse(Buffer.from(value ?? '[]').toString());
    const isRow = (row: unknown) => Array.isArray(row) && row.length === 6 && row.every(Number.isFinite);
    return Array.isArray(rows) && rows.every(isRow) ? rows : [];
  } catch {
    return [];
  }
}
