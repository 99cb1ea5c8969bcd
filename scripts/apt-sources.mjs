import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { textOf } from './run-command.mjs';

/**
 * A package source for another suite of the archive that has the machine's release, with the same address and the same
 * trusted keys; undefined if the text names no such archive.
 * @param {string} file its name ends in `.sources` (stanzas) or `.list` (lines)
 * @param {string} text
 * @param {string} release the code name of the machine's release
 * @param {string} suite
 */
export const inSuite = (file, text, release, suite) =>
  file.endsWith('.sources') ? stanzaInSuite(text, release, suite) : lineInSuite(text, release, suite);

/**
 * @param {string} text
 * @param {string} release
 * @param {string} suite
 */
function stanzaInSuite(text, release, suite) {
  const words = (/** @type {string} */ stanza, /** @type {string} */ field) =>
    new RegExp(`^${field}:(.*)$`, 'im').exec(stanza)?.[1]?.trim().split(/\s+/) ?? [];
  const stanza = text
    .split(/\n\s*\n/)
    .find(
      (each) =>
        words(each, 'types').includes('deb') &&
        words(each, 'suites').includes(release) &&
        words(each, 'enabled')[0]?.toLowerCase() !== 'no',
    );
  return stanza
    ?.replace(/^types:.*$/im, 'Types: deb')
    .replace(/^suites:.*$/im, `Suites: ${suite}`)
    .replace(/^components:.*$/im, 'Components: main')
    .concat('\n');
}

/**
 * @param {string} text
 * @param {string} release
 * @param {string} suite
 */
function lineInSuite(text, release, suite) {
  const line = new RegExp(`^(deb\\s+(?:\\[[^\\]]*\\]\\s+)?\\S+\\s+)${release}(?=\\s)`, 'm').exec(text);
  return line === null ? undefined : `${line[1]}${suite} main\n`;
}

/**
 * The same for the package sources of this machine, with the name of the file that it must have.
 * @param {{ list: string, parts: string }} paths the sources file, and the folder of further files
 * @param {string} release
 * @param {string} suite
 */
export function sourceInSuite({ list, parts }, release, suite) {
  for (const file of [list, ...filesIn(parts)]) {
    const text = inSuite(file, textOf(file) ?? '', release, suite);
    if (text !== undefined) return { name: file.endsWith('.sources') ? 'archive.sources' : 'archive.list', text };
  }
  return undefined;
}

/** @param {string} folder */
function filesIn(folder) {
  try {
    return readdirSync(folder)
      .filter((name) => /\.(?:list|sources)$/.test(name))
      .sort()
      .map((name) => join(folder, name));
  } catch {
    return [];
  }
}
