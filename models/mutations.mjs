/**
 * `node models/mutations.mjs [NUMBER...]`: changes the protocols of the program, one by one, in a scratch worktree of
 * HEAD, and runs the tests that hold it to the models. Each change must be found, by one of these words in what fails.
 * It takes some minutes; docs/models.md has the results.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

/**
 * @typedef {object} Mutation
 * @property {string} what
 * @property {string} file
 * @property {string} from
 * @property {string} to
 * @property {readonly string[]} tests
 * @property {readonly string[]} found of these, one must be in the output
 */

const REPLICAS = ['test/e2e/etcd-replicas.test.ts'];
const WORKERS = ['test/e2e/workers.test.ts'];
const CHAOS = ['test/chaos/short-faults.test.ts', '-t', 'short run'];

/** @type {readonly Mutation[]} */
export const MUTATIONS = [
  {
    what: 'A read does not wait until its replica is fresh.',
    file: 'src/objects/reader.ts',
    from: 'reached = await this.#freshness.catchUp(TIMEOUT_MS);',
    to: 'reached = true; void this.#freshness.catchUp(TIMEOUT_MS).catch(() => {});',
    tests: REPLICAS,
    found: ['a read lacks a write that was acknowledged before it'],
  },
  {
    what: 'A read compares with the revision of the proof before it.',
    file: 'src/storage/freshness.ts',
    from: 'if (part.revision >= revision) continue;',
    to: 'if (part.revision >= this.#provenRevision) continue;',
    tests: ['test/objects/reader.test.ts'],
    found: ['is not reported as absent by a cache that stays behind'],
  },
  {
    what: 'A write is acknowledged before its replica has applied it.',
    file: 'src/objects/reader.ts',
    from: 'const reached = await this.#reflector.waitFor(revision, TIMEOUT_MS);\n    // A refused',
    to: 'const reached = true;\n    // A refused',
    tests: ['test/objects/reader.test.ts'],
    found: ['is not acknowledged: 504, and it has happened'],
  },
  {
    what: 'A write is acknowledged before the other workers have applied it.',
    file: 'src/storage/measured-store.ts',
    from: 'if (result.ok) await afterWrite?.();',
    to: 'if (result.ok) void afterWrite?.();',
    tests: WORKERS,
    found: ['a decision lacks a write that its replica has acknowledged'],
  },
  {
    what: 'Requests are decided from memory of any age.',
    file: 'src/http/stages/authentication-stages.ts',
    from: 'if (freshness.proveCurrent()) return undefined;',
    to: 'if (freshness.proveCurrent() || true) return undefined;',
    tests: CHAOS,
    found: ['a decision lacks a write that was acknowledged more than a second ago'],
  },
  {
    what: 'A write does not compare its guards: nothing fences a former leader.',
    file: 'src/storage/etcd/etcd-store.ts',
    from: 'const demands = [{ key, expect }, ...guards];\n  const etcdKey',
    to: 'const demands = guards.length < 0 ? [...guards] : [{ key, expect }];\n  const etcdKey',
    tests: ['test/conformance/etcd.test.ts'],
    found: ['guard'],
  },
  {
    what: 'A leader believes in its lease for longer than etcd does.',
    file: 'src/storage/etcd/etcd-leadership.ts',
    from: 'this.#extend(term, sent + renewed * 1_000);',
    to: 'this.#extend(term, sent + renewed * 1_000 + 10_000);',
    tests: CHAOS,
    found: ['two processes lead at a time', 'two leaders'],
  },
  {
    what: 'A change of permissions takes effect after the event that follows it.',
    file: 'src/handlers/watch/broadcaster.ts',
    from: 'if (!isPolicy || this.isWatched(kind)) this.#applyPolicyChange(revision - 1);',
    to: '',
    tests: CHAOS,
    found: ['an event is shown by rules from before their last change'],
  },
  {
    what: 'DELETED is not sent.',
    file: 'src/handlers/watch/frames.ts',
    from: '  if (!was) return undefined;',
    to: '  if (!was || after === undefined) return undefined;',
    tests: [...REPLICAS, '-t', 'Z-06|steps'],
    found: ['an event is not sent', 'are deleted and added again for watches'],
  },
  {
    what: 'An order can be claimed again.',
    file: 'src/authz/admission/admission.ts',
    from: "of ['claimedBy', 'claimTime', 'answer'] as const",
    to: "of ['answer'] as const",
    tests: WORKERS,
    found: ['an order is claimed twice'],
  },
  {
    what: 'A token is recorded after its Secret.',
    file: 'src/connector/made-objects.ts',
    from: '    await record(order, { namespace, until: endsAt });',
    to: '    void timing.pause(50, signal).then(() => record(order, { namespace, until: endsAt }));',
    tests: ['src/connector/orders.test.ts'],
    found: ['a cluster goes from SECRET_ONLY to'],
  },
  {
    what: 'A watch of etcd that is resumed skips an event.',
    file: 'src/storage/etcd/etcd-store.ts',
    from: 'after: position,\n          signal',
    to: 'after: position + 1,\n          signal',
    tests: CHAOS,
    found: ['missed event (', 'an event is not applied', 'does not act on it yet'],
  },
  {
    what: 'The lead of a worker that is stopped does not end.',
    file: 'src/storage/proxy/store-owner.ts',
    from: 'if (this.#term !== undefined && now < this.#term.until) return undefined;',
    to: 'if (this.#term !== undefined) return undefined;',
    tests: ['test/conformance/proxy.test.ts'],
    found: ['leads until its lease expires'],
  },
  {
    what: 'A write replaces a version that is newer than the one it names.',
    file: 'src/storage/sqlite/log-table.ts',
    from: 'return head?.revision === expect.modRevision;',
    to: 'return head !== undefined && head.revision >= expect.modRevision;',
    tests: ['test/conformance/sqlite.test.ts'],
    found: ['of writes that expect the same state of a key, exactly one succeeds'],
  },
];

/** @param {readonly string[]} numbers */
function runMutations(numbers) {
  const folder = mkdtempSync(join(tmpdir(), 'clusterpass-mutations-'));
  const work = join(folder, 'work');
  const git = (/** @type {string[]} */ ...args) => execFileSync('git', args, { cwd: ROOT });
  git('worktree', 'add', '--quiet', '--detach', work);
  // Linked, so that it takes no space; the program is bundled there.
  execFileSync('cp', ['-al', join(ROOT, 'node_modules'), join(work, 'node_modules')]);
  try {
    for (const [index, { what, file, from, to, tests, found }] of MUTATIONS.entries()) {
      if (numbers.length > 0 && !numbers.includes(`${index + 1}`)) continue;
      const path = join(work, file);
      const text = readFileSync(path, 'utf8');
      if (text.split(from).length !== 2) throw new Error(`${file} does not have this once: ${from}`);
      writeFileSync(
        path,
        text.replace(from, () => to),
      );
      const vitest = join(work, 'node_modules/vitest/vitest.mjs');
      const begun = Date.now();
      const { status, stdout, stderr } = spawnSync(process.execPath, [vitest, 'run', ...tests], {
        cwd: work,
        encoding: 'utf8',
        timeout: 900_000,
        maxBuffer: 2 ** 28,
      });
      writeFileSync(path, text);
      // The reporter names the tests that pass, and those that it skips.
      const output = `${stdout}${stderr}`.replaceAll(/^.*[✓↓].*$/gm, '');
      const words = status === 0 ? [] : found.filter((word) => output.includes(word));
      const seconds = Math.round((Date.now() - begun) / 1_000);
      console.log(
        `${index + 1}. ${what} ${words.length > 0 ? `Found: ${words.join('; ')}` : 'NOT FOUND'} (${seconds} s)`,
      );
      writeFileSync(join(tmpdir(), `clusterpass-mutation-${index + 1}.txt`), output);
      if (words.length === 0) process.exitCode = 1;
    }
  } finally {
    git('worktree', 'remove', '--force', work);
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === import.meta.filename) runMutations(process.argv.slice(2));
