import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A package source of this machine: URIs, suites, and the fields about its signatures.
 * @typedef {{ uris: string[], suites: string[], trust: string[] }} AptSource
 */

/** Fields of a stanza that name the trusted keys, or disable the check of signatures. */
const TRUST_FIELDS = ['Signed-By', 'Trusted'];

/**
 * Parses the stanzas of a `.sources` file.
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
        // A continuation line: a key can be in the file itself.
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
 * Parses the lines of a `.list` file: `deb [options] uri suite components`.
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
 * All package sources of this machine.
 * @param {{ list: string, parts: string }} paths the sources file, and the folder of further files
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
 * A stanza for another suite of the archive that has the machine's release; undefined if no source has it.
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
