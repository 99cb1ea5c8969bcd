import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { BOUND_MS, CLIENT, IN_CLUSTER, may, ORDER, TERM } from '../../models/rules.mjs';

/**
 * Replays what processes wrote to their `--trace-file` against the rules of the models (docs/models.md). A file has the
 * steps of one replica and all its workers; the times are those of one machine.
 */

/** A line of a trace. Which facts there are depends on the step. */
export interface Step {
  readonly at: number;
  /** The process. */
  readonly by: string;
  readonly step: string;
  readonly revision?: number;
  /** Since it was asked. */
  readonly took?: number;
  readonly isUnreachable?: boolean;
  /** `applied`, by its storage key. */
  readonly key?: string;
  readonly gone?: boolean;
  /** `applied`: it changes permissions; `shown`: watches have followed the permissions up to this revision. */
  readonly rules?: boolean | number;
  readonly claimedBy?: string;
  readonly phase?: string;
  readonly answered?: boolean;
  /** `made`: what there is in a cluster for the order `key`. */
  readonly state?: string;
  /** `leads`: for so long by its own clock. */
  readonly epoch?: number;
  readonly for?: number;
  /** `written`: the guard. */
  readonly createRevision?: number;
  readonly ok?: boolean;
  readonly watch?: number;
  readonly after?: number;
  readonly resource?: string;
  readonly type?: string;
  readonly object?: string;
}

/** No read takes longer, and no age is asked for that is greater. */
const REMEMBERED_MS = 30_000;
const REMEMBERED_EVENTS = 100_000;
const EXAMPLES = 5;

/** The newest revision that was acknowledged by a time. */
class Acknowledged {
  #at: number[] = [];
  #newest: number[] = [];

  add(at: number, revision: number): void {
    this.#at.push(at);
    this.#newest.push(Math.max(revision, this.#newest.at(-1) ?? 0));
    const old = this.#at.findIndex((time) => time > at - 2 * REMEMBERED_MS);
    // Keeps one that is older than all.
    if (old < 1_000) return;
    this.#at = this.#at.slice(old - 1);
    this.#newest = this.#newest.slice(old - 1);
  }

  before(time: number): number {
    return this.#newest[this.#at.findLastIndex((at) => at <= time)] ?? 0;
  }
}

interface Watch {
  /** The version of each object that its client has; 0: none. Without an entry it is not known. */
  readonly has: Map<string, number>;
  readonly isKnown: boolean;
  readonly resource: string;
}

interface Process {
  revision: number;
  /** The newest change of permissions before the last event; 0: not known. */
  rulesBefore: number;
  rules: number;
  readonly applied: Map<string, number>;
  readonly orders: Map<string, { state: string; claimedBy: string }>;
  readonly watches: Map<number, Watch>;
}

const newProcess = (): Process => ({
  revision: 0,
  rulesBefore: 0,
  rules: 0,
  applied: new Map(),
  orders: new Map(),
  watches: new Map(),
});

export class TraceChecker {
  readonly #everywhere = new Acknowledged();
  readonly #here = new Map<string, Acknowledged>();
  readonly #processes = new Map<string, Process>();
  /** The event before each event, and its key, as the first process has applied them. */
  readonly #history = new Map<number, { readonly before: number; readonly key: string }>();
  readonly #terms = new Map<number, { by: string; until: number; state: string; written: number }>();
  readonly #made = new Map<string, string>();
  readonly #problems = new Map<string, { count: number; examples: string[] }>();
  readonly #counts: Record<string, number> = {};

  /** How many steps of each kind there were. */
  get steps(): Readonly<Record<string, number>> {
    return this.#counts;
  }

  /** The violations, each with examples. */
  get problems(): string[] {
    return [...this.#problems].map(([what, { count, examples }]) => `${what} (${count}): ${examples.join('; ')}`);
  }

  /** In the order of time. */
  take(replica: string, step: Step): void {
    this.#counts[step.step] = (this.#counts[step.step] ?? 0) + 1;
    const process = this.#processes.get(step.by) ?? newProcess();
    this.#processes.set(step.by, process);
    const find = (what: string): void => {
      const known = this.#problems.get(what) ?? { count: 0, examples: [] };
      known.count += 1;
      if (known.count <= EXAMPLES) known.examples.push(`${replica} ${JSON.stringify(step)}`);
      this.#problems.set(what, known);
    };
    const { at, revision = 0, took = 0 } = step;
    const own = this.#here.get(replica) ?? new Acknowledged();
    this.#here.set(replica, own);
    switch (step.step) {
      case 'acknowledged':
        own.add(at, revision);
        this.#everywhere.add(at, revision);
        break;
      case 'read':
        if (revision < this.#everywhere.before(at - took)) find('a read lacks a write that was acknowledged before it');
        break;
      case 'decides':
        // B12
        if (step.isUnreachable === true) break;
        if (revision < own.before(at - took)) find('a decision lacks a write that its replica has acknowledged');
        if (revision < this.#everywhere.before(at - took - BOUND_MS))
          find('a decision lacks a write that was acknowledged more than a second ago');
        break;
      case 'filled':
        Object.assign(process, newProcess(), { revision });
        break;
      case 'applied':
        this.#apply(process, step, find);
        break;
      case 'leads':
      case 'resigned':
        this.#lead(step, find);
        break;
      case 'written':
        this.#write(step, find);
        break;
      case 'made':
        this.#make(step, find);
        break;
      case 'shown':
        if (process.rulesBefore > Number(step.rules)) find('an event is shown by rules from before their last change');
        break;
      case 'watches':
        process.watches.set(step.watch ?? 0, {
          has: new Map(),
          isKnown: step.after === undefined,
          resource: step.resource ?? '',
        });
        break;
      case 'sent':
        if (step.object !== '/' || step.type === 'BOOKMARK') this.#send(process, step, find);
    }
  }

  #apply(process: Process, { revision = 0, key = '', gone, rules, ...step }: Step, find: (what: string) => void): void {
    if (revision <= process.revision) find('an event is applied twice, or out of order');
    const known = this.#history.get(revision);
    if (known === undefined) {
      this.#history.set(revision, { before: process.revision, key });
      const [oldest] = this.#history.keys();
      if (this.#history.size > REMEMBERED_EVENTS && oldest !== undefined) this.#history.delete(oldest);
    } else if (known.key !== key) find('two events have one revision');
    else if (this.#history.has(known.before) && known.before > process.revision) find('an event is not applied');
    process.revision = revision;
    process.rulesBefore = process.rules;
    if (rules === true) process.rules = revision;
    process.applied.set(key, revision);
    if (!key.includes('/tokenorders/')) return;
    const before = process.orders.get(key);
    const to = gone === true ? 'GONE' : stateOf(step);
    const claimedBy = step.claimedBy ?? '';
    if (before !== undefined) {
      if (!may(ORDER, before.state, to)) find(`an order goes from ${before.state} to ${to}`);
      if (gone !== true && before.claimedBy !== '' && before.claimedBy !== claimedBy) find('an order is claimed twice');
    }
    process.orders.set(key, { state: to, claimedBy });
  }

  #lead({ at, by, step, epoch = 0, ...facts }: Step, find: (what: string) => void): void {
    const term = this.#terms.get(epoch) ?? { by, until: 0, state: '', written: 0 };
    const to = step === 'leads' ? 'HELD' : 'ENDED';
    if (!may(TERM, term.state, to)) find(`a term goes from ${term.state} to ${to}`);
    if (term.by !== by) find('two processes have one term');
    if (term.state === '') {
      for (const [other, { until, state, written }] of this.#terms) {
        if (other > epoch) find('a term has an older epoch than the one before it');
        if (state === 'HELD' && until > at) find('two processes lead at a time');
        if (other < epoch && written > epoch) find('a write of a former leader has happened');
      }
    }
    const until = to === 'HELD' ? at + (facts.for ?? 0) : at;
    this.#terms.set(epoch, { ...term, state: to, until });
  }

  #write({ createRevision = 0, ok, revision = 0 }: Step, find: (what: string) => void): void {
    if (ok !== true) return;
    const term = this.#terms.get(createRevision);
    if (term !== undefined) term.written = Math.max(term.written, revision);
    const newer = [...this.#terms.keys()].some((epoch) => epoch > createRevision && epoch < revision);
    if (newer) find('a write of a former leader has happened');
  }

  #make({ key = '', state = '' }: Step, find: (what: string) => void): void {
    const before = this.#made.get(key) ?? '';
    this.#made.set(key, state);
    if (state !== before && !may(IN_CLUSTER, before, state))
      find(`a cluster goes from ${before || 'nothing'} to ${state || 'nothing'} for an order`);
  }

  #send(process: Process, step: Step, find: (what: string) => void): void {
    const { watch: id = 0, type = '', object = '', revision = 0 } = step;
    const watch = process.watches.get(id);
    // The caches were refilled: its connection is closed.
    if (watch === undefined) return;
    // What the client has is as new as this event. Every version of a cluster is a separate event.
    const all = watch.resource === 'clusters' ? watch.has : [];
    for (const [name, version] of all) {
      const applied = process.applied.get(`/registry/clusters${name}`) ?? 0;
      if (name !== object && version > 0 && applied > version && applied <= revision) find('an event is not sent');
    }
    if (type === 'BOOKMARK') return;
    const known = watch.has.get(object) ?? (watch.isKnown ? 0 : undefined);
    if (known !== undefined) {
      if (!may(CLIENT, known > 0 ? 'HAS' : '', type))
        find(`${type} is sent to a client that ${known > 0 ? 'has' : 'lacks'} it`);
      else if (type === 'MODIFIED' && revision <= known) find('an older version is sent');
    }
    watch.has.set(object, type === 'DELETED' ? 0 : revision);
  }
}

function stateOf({ claimedBy, phase, answered }: Pick<Step, 'claimedBy' | 'phase' | 'answered'>): string {
  if (phase === 'Issued') return 'ISSUED';
  if (answered === true) return 'ANSWERED';
  return claimedBy === undefined ? 'MADE' : 'CLAIMED';
}

/** Steps that processes of one replica write at once are at most so many lines out of order. */
const BUFFERED = 2_000;

/** The steps of a file in the order of time. A process that was killed may have left half a line. */
async function* stepsOf(file: string): AsyncGenerator<Step> {
  let waiting: Step[] = [];
  for await (const line of createInterface({ input: createReadStream(file) })) {
    if (!line.endsWith('}')) continue;
    waiting.push(JSON.parse(line) as Step);
    if (waiting.length < 2 * BUFFERED) continue;
    waiting.sort((a, b) => a.at - b.at);
    yield* waiting.slice(0, BUFFERED);
    waiting = waiting.slice(BUFFERED);
  }
  yield* waiting.sort((a, b) => a.at - b.at);
}

/** Checks the traces of replicas of one store. */
export async function checkTraces(files: readonly string[]): Promise<TraceChecker> {
  const checker = new TraceChecker();
  const sources = await Promise.all(
    files.map(async (file) => {
      const steps = stepsOf(file);
      return { file, steps, next: await steps.next() };
    }),
  );
  for (;;) {
    const open = sources.filter(({ next }) => next.done !== true);
    const [first, ...others] = open;
    if (first === undefined) return checker;
    const source = others.reduce((a, b) => ((b.next.value as Step).at < (a.next.value as Step).at ? b : a), first);
    checker.take(source.file, source.next.value as Step);
    source.next = await source.steps.next();
  }
}
