import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from './browser.ts';

const SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly help: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
}

/** The accessibility faults that axe finds, one string each. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  // Evaluated through the debugger, because the content security policy forbids a script element.
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(SOURCE);
  const result = (await page.evaluate(`axe.run(document, { resultTypes: ['violations'] })`)) as AxeResult;
  return result.violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary = '' }) => `${id}: ${help}: ${html}\n${failureSummary}`),
  );
}
