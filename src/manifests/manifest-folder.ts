import { backoff } from '../lib/backoff.ts';
import { stampOf } from '../lib/follow-files.ts';
import type { Logger } from '../observability/logger.ts';
import { type ApplyParts, type ApplyReport, applyManifests } from './apply-manifests.ts';
import { type PruneReport, pruneManifests } from './prune-manifests.ts';
import { findManifestFiles, type ManifestProblem, type Manifests, messageOf, readManifests } from './read-manifests.ts';

export interface ManifestFolderOptions {
  readonly parts: ApplyParts;
  /** Distinguishes several folders in the origin annotation. */
  readonly source: string;
  readonly path: string;
  /** See ReadOptions. */
  readonly edit?: (text: string) => string;
  /** Delete objects that are no longer in the folder, up to this percentage. Default: delete nothing. */
  readonly prune?: { readonly maxPercent: number } | undefined;
  readonly logger: Logger;
  readonly pollMs: number;
  /** The leader applies a folder that has not changed after so many polls. Default: never. */
  readonly reapplyPolls?: number;
}

const SKIPPED_POLLS = { first: 1, most: 60 };

/** When a state of the folder is tried again, in polls. Another state is tried at once. */
class Retry {
  #state: string | undefined;
  #failures = 0;
  #polls = 0;

  skips(state: string): boolean {
    return state === this.#state && --this.#polls > 0;
  }

  /** A state with which nothing is left to do is tried now and then, too: the store may change. */
  ended(state: string, isDone: boolean): void {
    this.#failures = state === this.#state && !isDone ? this.#failures + 1 : 0;
    this.#state = state;
    this.#polls = isDone ? SKIPPED_POLLS.most : backoff(this.#failures, SKIPPED_POLLS);
  }
}

/**
 * Applies a folder of manifests to the store whenever it changes. The folder is polled: notifications are lost on
 * network file systems and when a mounted ConfigMap is swapped, and a second of delay does not matter.
 */
export class ManifestFolder {
  readonly #options: ManifestFolderOptions;
  /** The state of the folder that was read last, and its content. */
  #read: { readonly state: string; readonly content: Manifests } | undefined;
  /** The state of the folder that has been applied without errors. */
  #applied: string | undefined;
  #pollsSince = 0;
  /** How many manifests were left out or could not be written, when the folder was applied last. */
  #problems = 0;
  #applying = new Retry();
  #pruning = new Retry();
  /** The last report of each part: a lasting error is not logged at every poll. */
  readonly #reported = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  readonly #stop = new AbortController();

  constructor(options: ManifestFolderOptions) {
    this.#options = options;
  }

  /** Applies the folder, then again whenever it changes. */
  async start(): Promise<void> {
    await this.#check();
    this.#schedule();
  }

  get problems(): number {
    return this.#problems;
  }

  /** Waits for the writes in flight, not for the rest of the folder: the next start applies that. */
  async stop(): Promise<void> {
    this.#stop.abort();
    clearTimeout(this.#timer);
    await this.#running;
  }

  #schedule(): void {
    if (this.#stop.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#check().finally(() => this.#schedule());
    }, this.#options.pollMs);
    this.#timer.unref();
  }

  async #check(): Promise<void> {
    const { path, logger } = this.#options;
    try {
      const state = await stampOf(await findManifestFiles(path));
      // Pruning waits for two polls with the same state: files may be on their way into the folder.
      const settled = this.#read?.state === state ? this.#read.content : undefined;
      const isAgain = state === this.#applied;
      if (isAgain ? this.#isDue() : !this.#applying.skips(state)) await this.#apply(state, isAgain);
      if (settled !== undefined) await this.#prune(state, settled);
      this.#reported.delete('error');
    } catch (error) {
      this.#problems ||= 1;
      this.#once('error', messageOf(error), () => logger.error({ path, err: error }, 'manifests could not be applied'));
    }
  }

  /** Others change and delete objects of the folder meanwhile. */
  #isDue(): boolean {
    const { parts, reapplyPolls } = this.#options;
    return reapplyPolls !== undefined && ++this.#pollsSince >= reapplyPolls && parts.leadership.leads();
  }

  async #apply(state: string, isAgain: boolean): Promise<void> {
    const { parts, source, path, edit } = this.#options;
    const content = await readManifests(path, { catalog: parts.catalog, work: parts.work, edit });
    // The folder may return to a state that was applied before: from here on the store differs from it.
    this.#applied = undefined;
    this.#pollsSince = 0;
    if (state !== this.#read?.state) this.#pruning = new Retry();
    this.#read = { state, content };
    const report = await applyManifests(parts, source, content, this.#stop.signal);
    if (this.#stop.signal.aborted) return;
    this.#problems = report.unread.length + report.unwritten.length;
    if (isAgain) this.#reportCreated(report);
    this.#reportApplied(report, state);
    if (report.unwritten.length === 0) this.#applied = state;
    else this.#applying.ended(state, false);
  }

  async #prune(state: string, content: Manifests): Promise<void> {
    const { parts, source, prune } = this.#options;
    if (prune === undefined || !parts.leadership.leads() || this.#pruning.skips(state)) return;
    const report = await pruneManifests(parts, source, content, prune.maxPercent, this.#stop.signal);
    this.#reportPruned(report, state);
    this.#pruning.ended(state, report.kept.length === 0 && report.refusal === undefined);
  }

  #reportCreated({ created }: ApplyReport): void {
    const { logger, path } = this.#options;
    for (const object of created) {
      logger.warn({ path, ...object }, 'an object of a manifest was deleted: it is created again');
    }
  }

  #reportApplied({ applied, unread, unwritten, warnings, conflicts }: ApplyReport, state: string): void {
    const { logger, path } = this.#options;
    const problems = [...unread, ...unwritten];
    const say = (level: 'warn' | 'error', of: readonly ManifestProblem[], field: string, text: string): void => {
      for (const { message, ...position } of of) logger[level]({ path, ...position, [field]: message }, text);
    };
    say('warn', conflicts, 'conflict', 'a manifest took over fields of another manager');
    this.#once('applied', JSON.stringify([state, problems]), () => {
      say('error', unread, 'problem', 'a manifest was left out');
      say('error', unwritten, 'problem', 'a manifest could not be written: it is tried again');
      say('warn', warnings, 'warning', 'a manifest was applied in part');
      const what = problems.length === 0 ? 'manifests applied' : 'manifests applied in part';
      logger.info({ path, applied, problems: problems.length }, what);
    });
  }

  /** Deletions are always logged, the rest once for a state of the folder. */
  #reportPruned({ removed, kept, refusal }: PruneReport, state: string): void {
    const { logger, path } = this.#options;
    for (const one of removed) logger.warn({ path, ...one }, 'removed: it is no longer in the manifests');
    this.#once('pruned', JSON.stringify([state, kept, refusal]), () => {
      for (const one of kept) logger.warn({ path, ...one }, 'not removed, although it is no longer in the manifests');
      if (refusal !== undefined) logger.warn({ path, reason: refusal }, 'nothing is removed');
    });
  }

  #once(part: string, content: string, report: () => void): void {
    if (content === this.#reported.get(part)) return;
    this.#reported.set(part, content);
    report();
  }
}
