import { relative } from 'node:path';
import { BaseSequencer } from 'vitest/node';
import { ROOT } from './setup.mjs';

/**
 * The test files that take longest, in the order in which they start: one of them that starts last would run alone at
 * the end. Vitest knows how long files took in the last run; in a new clone it knows only their sizes.
 * test/chaos/short-faults is the last: its faults need requests to succeed meanwhile, which they do not beside the
 * release tests on two processors.
 */
const LONGEST = [
  'test/packages/release.test.ts',
  'test/e2e/console-admin.test.ts',
  'test/e2e/manifests.test.ts',
  'test/e2e/console.test.ts',
  'test/e2e/store-errors.test.ts',
  'test/e2e/store-backup.test.ts',
  'test/e2e/etcd-faults.test.ts',
  'test/conformance/etcd.test.ts',
  'test/chaos/short-faults.test.ts',
];

export class LongestFirst extends BaseSequencer {
  /**
   * @override
   * @param {import('vitest/node').TestSpecification[]} files
   */
  async sort(files) {
    const rank = (/** @type {import('vitest/node').TestSpecification} */ { moduleId }) => {
      const at = LONGEST.indexOf(relative(ROOT, moduleId));
      return at < 0 ? LONGEST.length : at;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
