import { describe, expect, it } from 'vitest';
import { inSuite, parseLines, parseStanzas } from '../../scripts/apt-sources.mjs';

/** kubectl comes from the package archive of the machine, in another suite. */

const STANZAS = `# a comment
Types: deb deb-src
# another one
URIs: https://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/archive.gpg

Types: deb
URIs: https://mirror.example/debian-security
Suites: bookworm-security
Components: main

Types: deb
Enabled: no
URIs: https://off.example/debian
Suites: bookworm

Types: deb-src
URIs: https://source.example/debian
Suites: bookworm
`;

describe('sources of packages', () => {
  it('stanzas: only enabled ones, with binary packages', () => {
    expect(parseStanzas(STANZAS).map(({ uris }) => uris)).toEqual([
      ['https://mirror.example/debian'],
      ['https://mirror.example/debian-security'],
    ]);
  });

  it('the same archive in another suite, trusted as before', () => {
    expect(inSuite(parseStanzas(STANZAS), 'bookworm', 'trixie')).toBe(
      'Types: deb\nURIs: https://mirror.example/debian\nSuites: trixie\nComponents: main\nSigned-By: /usr/share/keyrings/archive.gpg\n',
    );
    expect(inSuite(parseStanzas(STANZAS), 'jammy', 'trixie')).toBeUndefined();
  });

  it('a key inside the file is kept completely', () => {
    const key = ' -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n -----END PGP PUBLIC KEY BLOCK-----';
    const stanza = `Types: deb\nURIs: https://m.example/d\nSuites: bookworm\nSigned-By:\n${key}\n`;
    expect(inSuite(parseStanzas(stanza), 'bookworm', 'sid')).toContain(`Signed-By: \n${key}\n`);
  });

  it('lines', () => {
    const lines = [
      '# deb https://no.example/debian bookworm main',
      'deb-src https://no.example/debian bookworm main',
      'deb [arch=amd64 signed-by=/k/a.gpg,/k/b.gpg] https://m.example/debian bookworm main',
    ].join('\n');
    expect(inSuite(parseLines(lines), 'bookworm', 'sid')).toBe(
      'Types: deb\nURIs: https://m.example/debian\nSuites: sid\nComponents: main\nSigned-By: /k/a.gpg /k/b.gpg\n',
    );
  });
});
