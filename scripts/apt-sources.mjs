import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A source of packages as the machine is configured: addresses, suites, and how it is trusted.
 * @typedef {{ uris: string[], suites: string[], trust: string[] }} AptSource
 */

/** Lines of a stanza that say whose signatures count, or that none do. */
const TRUST_FIELDS = ['Signed-By', 'Trusted'];

/**
 * Reads the stanzas of a `.sources` file.
 * @param {string} text
 * @returns {AptSource[]}
 */
export function parseStanzas(text) {
  return text.split(/\n\s*\n/).flatMap((stanza) => {
    /** @type {Map<string, string>} */
    const fields = new Map();
    let last = '';
    for (const line of stanza.split('\n')) {
      if (line.startsWith('#') || line.trim() === '') continue;
      const field = /^([A-Za-z][\w-]*):\s*(.*)$/.exec(line);
      if (field !== null) {
        last = (field[1] ?? '').toLowerCase();
        fields.set(last, field[2] ?? '');
      } else {
        // A key can stand in the file itself, over many lines.
        fields.set(last, `${fields.get(last) ?? ''}\n${line}`);
      }
    }
    const words = (/** @type {string} */ name) => (fields.get(name) ?? '').split(/\s+/).filter(Boolean);
    if (!words('types').includes('deb') || fields.get('enabled')?.trim().toLowerCase() === 'no') return [];
    const trust = TRUST_FIELDS.flatMap((name) => {
      const value = fields.get(name.toLowerCase());
      return value === undefined ? [] : [`${name}: ${value}`];
    });
    return [{ uris: words('uris'), suites: words('suites'), trust }];
  });
}

/**
 * Reads the lines of a `.list` file: `deb [options] address suite components`.
 * @param {string} text
 * @returns {AptSource[]}
 */
export function parseLines(text) {
  return text.split('\n').flatMap((line) => {
    const match = /^deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)/.exec(line.trim());
    if (match === null) return [];
    const trust = (match[1] ?? '').split(/\s+/).flatMap((option) => {
      const [name = '', value = ''] = option.split('=', 2);
      const field = TRUST_FIELDS.find((one) => one.toLowerCase() === name.toLowerCase());
      return field === undefined ? [] : [`${field}: ${value.replaceAll(',', ' ')}`];
    });
    return [{ uris: [match[2] ?? ''], suites: [match[3] ?? ''], trust }];
  });
}

/**
 * Everything the machine takes packages from.
 * @param {{ list: string, parts: string }} places a file, and a folder of files
 * @returns {AptSource[]}
 */
export function readSources({ list, parts }) {
  const files = [list, ...entries(parts).map((name) => join(parts, name))];
  return files.flatMap((file) => {
    const text = textOf(file);
    if (text === undefined) return [];
    return file.endsWith('.sources') ? parseStanzas(text) : parseLines(text);
  });
}

/**
 * The same archive in another suite, as a stanza; undefined when the machine's own release has no source.
 * @param {readonly AptSource[]} sources
 * @param {string} release the code name of the machine's release
 * @param {string} suite
 */
export function inSuite(sources, release, suite) {
  const source = sources.find(({ suites, uris }) => suites.includes(release) && uris.length > 0);
  if (source === undefined) return undefined;
  return `${['Types: deb', `URIs: ${source.uris.join(' ')}`, `Suites: ${suite}`, 'Components: main', ...source.trust].join('\n')}\n`;
}

/** @param {string} folder */
function entries(folder) {
  try {
    return readdirSync(folder)
      .filter((name) => /\.(?:list|sources)$/.test(name))
      .sort();
  } catch {
    return [];
  }
}

/** @param {string} file */
function textOf(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
