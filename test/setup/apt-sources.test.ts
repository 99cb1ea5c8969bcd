import { describe, expect, it } from 'vitest';
import { inSuite } from '../../scripts/apt-sources.mjs';

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
  it('the same archive in another suite, trusted as before', () => {
    expect(inSuite('debian.sources', STANZAS, 'bookworm', 'trixie')).toBe(
      [
        ...['# a comment', 'Types: deb', '# another one', 'URIs: https://mirror.example/debian', 'Suites: trixie'],
        ...['Components: main', 'Signed-By: /usr/share/keyrings/archive.gpg', ''],
      ].join('\n'),
    );
  });

  it.each([
    ['of another release', 'jammy', STANZAS],
    ['that is off, or has sources only', 'bookworm', STANZAS.slice(STANZAS.indexOf('bookworm-security'))],
  ])('no archive %s', (_, release, text) => {
    expect(inSuite('debian.sources', text, release, 'trixie')).toBeUndefined();
  });

  it('a key inside the file is kept completely', () => {
    const key = ' -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n -----END PGP PUBLIC KEY BLOCK-----';
    const stanza = `Types: deb\nURIs: https://m.example/d\nSuites: bookworm\nSigned-By:\n${key}\n`;
    expect(inSuite('debian.sources', stanza, 'bookworm', 'sid')).toContain(`Suites: sid\nSigned-By:\n${key}\n`);
  });

  it('lines', () => {
    const lines = [
      '# deb https://no.example/debian bookworm main',
      'deb-src https://no.example/debian bookworm main',
      'deb [arch=amd64 signed-by=/k/a.gpg,/k/b.gpg] https://m.example/debian bookworm main',
    ].join('\n');
    expect(inSuite('sources.list', lines, 'bookworm', 'sid')).toBe(
      'deb [arch=amd64 signed-by=/k/a.gpg,/k/b.gpg] https://m.example/debian sid main\n',
    );
  });
});
