import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
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
  'test/conformance/etcd.test.ts',
  'test/chaos/short-faults.test.ts',
].reverse();

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => LONGEST.indexOf(relative(ROOT, moduleId));
    return (await super.sort(files)).sort((a, b) => rank(b) - rank(a));
  }
}
