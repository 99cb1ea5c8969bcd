import { stat } from 'node:fs/promises';
import type { Catalog } from '../api/catalog.ts';
import type { Logger } from '../observability/logger.ts';
import { type ApplyParts, type ApplyReport, applyManifests } from './apply-manifests.ts';
import { findManifestFiles, messageOf, readManifests } from './read-manifests.ts';

export interface ManifestFolderOptions {
  readonly parts: ApplyParts;
  /** Distinguishes several folders in the origin annotation. */
  readonly source: string;
  readonly path: string;
  /** See ReadOptions. */
  readonly writtenFor?: Catalog;
  readonly logger: Logger;
  readonly pollMs: number;
}

const MAX_SKIPPED_POLLS = 60;

/**
 * Applies a folder of manifests to the store whenever it changes. The folder is polled: notifications are lost on
 * network file systems and when a mounted ConfigMap is swapped, and a second of delay does not matter.
 */
export class ManifestFolder {
  readonly #options: ManifestFolderOptions;
  /** The state of the folder that has been applied without errors. */
  #applied = '';
  /** The state that was applied with errors, the number of retries, and the polls to skip before the next one. */
  #backoff = { state: '', retries: 0, polls: 0 };
  /** The last report: a lasting error is not logged at every poll. */
  #reported = '';
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: ManifestFolderOptions) {
    this.#options = options;
  }

  /** Applies the folder, then again whenever it changes. */
  async start(): Promise<void> {
    await this.#check();
    this.#schedule();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#check().finally(() => this.#schedule());
    }, this.#options.pollMs);
    this.#timer.unref();
  }

  async #check(): Promise<void> {
    const { parts, source, path, writtenFor, logger } = this.#options;
    try {
      const state = await stateOf(path);
      if (state === this.#applied || this.#skips(state)) return;
      const read = await readManifests(path, {
        catalog: parts.catalog,
        ...(writtenFor === undefined ? {} : { writtenFor }),
      });
      const report = await applyManifests(parts, source, read);
      this.#report(report, state);
      if (report.unwritten.length === 0) this.#applied = state;
      else this.#backOff(state);
    } catch (error) {
      this.#once(messageOf(error), () => logger.error({ path, err: error }, 'manifests could not be applied'));
    }
  }

  /** Objects that could not be written are retried with exponential backoff. */
  #backOff(state: string): void {
    const retries = state === this.#backoff.state ? this.#backoff.retries + 1 : 0;
    this.#backoff = { state, retries, polls: Math.min(2 ** retries, MAX_SKIPPED_POLLS) };
  }

  #skips(state: string): boolean {
    return state === this.#backoff.state && --this.#backoff.polls > 0;
  }

  #report({ applied, removed, unread, unwritten }: ApplyReport, state: string): void {
    const { logger, path } = this.#options;
    const problems = [...unread, ...unwritten];
    this.#once(JSON.stringify([state, removed, problems]), () => {
      for (const { message, ...position } of problems) {
        logger.error({ path, ...position, problem: message }, 'a manifest was left out');
      }
      logger.info({ path, applied, removed, problems: problems.length }, 'manifests applied');
    });
  }

  #once(content: string, report: () => void): void {
    if (content === this.#reported) return;
    this.#reported = content;
    report();
  }
}

/** Changes whenever a file changes. A file that cannot be read has its error code as its state. */
async function stateOf(path: string): Promise<string> {
  const files = await findManifestFiles(path);
  const states = await Promise.all(
    files.map(async (file) => {
      try {
        const { mtimeMs, ctimeMs, size, ino } = await stat(file);
        return [file, mtimeMs, ctimeMs, size, ino].join('\0');
      } catch (error) {
        return [file, (error as NodeJS.ErrnoException).code].join('\0');
      }
    }),
  );
  return states.join('\n');
}
