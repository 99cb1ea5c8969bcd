import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from './browser.ts';

const SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** The rules whose result depends on colours or on the size of the window. */
export const RULES_OF_LOOKS = ['color-contrast', 'target-size', 'scrollable-region-focusable', 'link-in-text-block'];

/** The accessibility faults that axe finds by these rules (default: all), one string each. */
export async function accessibilityFaults(page: Page, rules?: readonly string[]): Promise<string[]> {
  // Evaluated through the debugger, because the content security policy forbids a script element.
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(SOURCE);
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: { type: 'rule', values: rules } }) };
  // As text, and without the rules that passed: Playwright would copy every value of the whole result.
  const run = `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) => JSON.stringify(violations))`;
  return (JSON.parse(await page.evaluate<string>(run)) as Violation[]).flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary = '' }) => `${id}: ${help}: ${html}\n${failureSummary}`),
  );
}
