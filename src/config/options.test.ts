import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { renderOptionsReference } from '../../scripts/options-reference.ts';
import type { Option } from './option.ts';
import { flagOf, OPTION_NAMES, OPTIONS } from './options.ts';

describe('the option table', () => {
  it.each(OPTION_NAMES)('%s has a default its own parser takes, and a documented sentence', (name) => {
    const { parse, default: text, doc }: Option = OPTIONS[name];
    if (text !== undefined) expect(() => parse(text, { cwd: '/' })).not.toThrow();
    expect(doc).toMatch(/^[A-Z].*\.$/);
    // It is an item of a list in Markdown.
    expect(doc).not.toContain('\n');
  });
});

describe('docs/options.md', () => {
  it('has every option, and is what the table says', () => {
    const text = renderOptionsReference();
    for (const name of OPTION_NAMES) expect(text).toContain(`\`${flagOf(name)}`);
    expect(readFileSync(new URL('../../docs/options.md', import.meta.url), 'utf8')).toBe(text);
  });
});
