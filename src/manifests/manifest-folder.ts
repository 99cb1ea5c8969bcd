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

const MAX_LOOKS = 60;

/**
 * Keeps the store in step with a folder. It is polled: notifications are lost on network file systems and
 * when a mounted ConfigMap is swapped, and a second of delay is no harm here.
 */
export class ManifestFolder {
  readonly #options: ManifestFolderOptions;
  /** The state of the folder that has been applied in full. */
  #settled = '';
  /** The state that was applied in part, how often, and how many looks to let pass before the next try. */
  #waiting = { state: '', tries: 0, looks: 0 };
  /** What was reported last: a trouble that lasts is not reported at every look. */
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
      if (state === this.#settled || this.#isWaiting(state)) return;
      const read = await readManifests(path, {
        catalog: parts.catalog,
        ...(writtenFor === undefined ? {} : { writtenFor }),
      });
      const report = await applyManifests(parts, source, read);
      this.#report(report, state);
      if (report.unwritten.length === 0) this.#settled = state;
      else this.#wait(state);
    } catch (error) {
      this.#once(messageOf(error), () => logger.error({ path, err: error }, 'manifests could not be applied'));
    }
  }

  /** What failed to be written is tried again, at longer and longer intervals: what it lacks may be there by then. */
  #wait(state: string): void {
    const tries = state === this.#waiting.state ? this.#waiting.tries + 1 : 0;
    this.#waiting = { state, tries, looks: Math.min(2 ** tries, MAX_LOOKS) };
  }

  #isWaiting(state: string): boolean {
    return state === this.#waiting.state && --this.#waiting.looks > 0;
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

  #once(what: string, report: () => void): void {
    if (what === this.#reported) return;
    this.#reported = what;
    report();
  }
}

/** Changes whenever a file does. A file that can not be looked at is a state like any other. */
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
