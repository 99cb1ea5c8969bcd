import { randomUUID } from 'node:crypto';
import { NAME_LABEL } from '../api/clusters-field.ts';
import { fleetKey } from '../api/kind.ts';
import type { EventType, Notification } from '../api/notification.ts';
import { backoff } from '../lib/backoff.ts';
import { cleanText } from '../lib/text.ts';
import { type SweepTimer, startSweep } from '../objects/sweep-objects.ts';
import type { Store } from '../storage/contract.ts';
import { updateKey } from '../storage/scan.ts';
import type { NotifyConfiguration, Receiver } from './configuration.ts';
import { collectFacts, type Fact, type FactParts } from './events.ts';

/** The leader notifies, for all replicas. */
interface NotifierParts extends FactParts, SweepTimer {
  readonly configuration: () => NotifyConfiguration;
  readonly store: Pick<Store, 'get' | 'write'>;
  /** Rejects with an error whose message has no secret. */
  readonly send: (receiver: Receiver, message: Notification) => Promise<void>;
}

/** The value in the store: the ids of the facts that were told, and the messages that are not sent. */
interface Stored {
  readonly known: readonly string[];
  readonly waiting: readonly Notification[];
}

const KEY = '/internal/notifications';
const CHECK_MS = 5_000;
const ENDS_MS = 3_600_000;
/** Clusters fail together: one message tells of all that failed within this time. */
const GROUP_MS = 45_000;
/** The value in the store stays below 1 MiB. */
const MAX_ITEMS = 20;
const MAX_WAITING = 300_000;
const MAX_KNOWN = 5_000;
const RETRY_MS = { first: 5_000, most: 600_000, jitter: 0.5 };
const GIVE_UP_MS = 86_400_000;

const decode = (value: Uint8Array | undefined): Stored | undefined =>
  value && (JSON.parse(Buffer.from(value).toString()) as Stored);

/** Tells receivers of events. The store has what was told and what waits, so the next leader goes on with it. */
export function startNotifier(parts: NotifierParts) {
  const { configuration, store, catalog, reader, leadership, send, now, logger } = parts;
  /** Receivers to which messages are being sent. */
  const sending = new Set<string>();
  const failingSince = new Map<string, number>();
  /** By the id of a message: its failures, and when it is sent again; never, once it was sent. */
  const tries = new Map<string, { readonly failures: number; readonly next: number }>();
  /** When the first event of a type was seen that is not told yet. */
  const seenAt = new Map<EventType, number>();
  let ends: readonly Fact[] = [];
  let endsAt = Number.NEGATIVE_INFINITY;

  async function round(): Promise<void> {
    if (!reader.ready) return;
    const known = new Set(decode((await store.get(KEY))?.value)?.known);
    const withEnds = now() - endsAt >= ENDS_MS;
    const found = await collectFacts(parts, known, withEnds);
    if (withEnds) [endsAt, ends] = [now(), found.filter(({ type }) => type === 'key.ending')];
    const facts = withEnds ? found : [...found, ...ends];
    let waiting: readonly Notification[] = [];
    await updateKey(store, KEY, (value) => {
      const next = tell(decode(value), facts);
      ({ waiting } = next);
      const bytes = Buffer.from(JSON.stringify(next));
      return value !== undefined && bytes.equals(value) ? undefined : bytes;
    });
    for (const id of tries.keys()) if (!waiting.some((message) => message.id === id)) tries.delete(id);
    for (const receiver of configuration().receivers) void deliver(receiver, waiting);
  }

  /** What is stored after the events of this round. */
  function tell(before: Stored | undefined, facts: readonly Fact[]): Stored {
    const was = new Set(before?.known);
    const known = new Set(facts.map(({ id }) => id).filter((id) => was.has(id)));
    const events = facts.filter(({ id, ends = false }) => was.has(id) === ends);
    const fresh = Map.groupBy(events, ({ type }) => type);
    for (const type of seenAt.keys()) if (!fresh.has(type)) seenAt.delete(type);
    const messages = [...(before?.waiting ?? [])];
    for (const [type, all] of fresh) {
      const since = seenAt.get(type) ?? now();
      seenAt.set(type, since);
      if (type.startsWith('cluster.') && now() - since < GROUP_MS) continue;
      seenAt.delete(type);
      const told = all.filter(({ ends }, at) => ends || at < MAX_KNOWN - known.size);
      for (const { id, ends } of told) ends ? known.delete(id) : known.add(id);
      // What was decided before the first start is no news.
      if (before !== undefined || !type.endsWith('.decided')) messages.push(...messagesOf(type, told));
    }
    return { known: [...known], waiting: bounded(messages) };
  }

  function messagesOf(type: EventType, facts: readonly Fact[]): Notification[] {
    const { receivers, routes } = configuration();
    const all = facts.map(({ item }) => item());
    return receivers.flatMap(({ name: receiver }) => {
      const ours = routes.filter((route) => route.events.includes(type) && route.receivers.includes(receiver));
      const items = all.filter(({ cluster = '' }) => {
        const found = reader.find(catalog.clusters, fleetKey(cluster));
        const labels = found && { ...found.labels, [NAME_LABEL]: cluster };
        return ours.some(({ clusters }) => clusters === undefined || (labels && clusters.matches(labels)));
      });
      if (items.length === 0) return [];
      const more = Math.max(0, items.length - MAX_ITEMS);
      return [{ id: `msg_${randomUUID()}`, receiver, type, at: now(), items: items.slice(0, MAX_ITEMS), more }];
    });
  }

  /** Without messages that are older than a day or have no receiver, and without the oldest ones of too many. */
  function bounded(messages: Notification[]): Notification[] {
    const isReceiver = (name: string) => configuration().receivers.some((one) => one.name === name);
    const unsent = messages.filter(({ id }) => tries.get(id)?.next !== Number.POSITIVE_INFINITY);
    const kept = unsent.filter(({ at, receiver }) => now() - at < GIVE_UP_MS && isReceiver(receiver));
    while (JSON.stringify(kept).length > MAX_WAITING) kept.shift();
    return kept;
  }

  async function deliver(receiver: Receiver, all: readonly Notification[]): Promise<void> {
    const { name } = receiver;
    if (sending.has(name)) return;
    sending.add(name);
    for (const message of all.filter((one) => one.receiver === name)) {
      const { failures, next } = tries.get(message.id) ?? { failures: 0, next: 0 };
      if (now() < next || !leadership.leads()) continue;
      try {
        await send(receiver, message);
        tries.set(message.id, { failures, next: Number.POSITIVE_INFINITY });
        failingSince.delete(name);
      } catch (error) {
        tries.set(message.id, { failures: failures + 1, next: now() + backoff(failures, RETRY_MS) });
        const problem = cleanText((error as Error).message);
        const text = 'a notification could not be sent: it is tried again';
        if (failingSince.has(name)) continue;
        logger.warn({ receiver: name, problem }, text);
        failingSince.set(name, now());
      }
    }
    sending.delete(name);
  }

  return {
    /** Of each receiver that fails. */
    failingSince: (): readonly number[] => [...failingSince.values()],
    stop: startSweep(parts, round, 'events could not be notified yet', CHECK_MS),
  };
}
