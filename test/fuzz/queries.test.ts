import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { createContinueTokens } from '../../src/handlers/continue-token.ts';
import { parseDeleteOptions } from '../../src/handlers/options/delete-options.ts';
import { parseListOptions } from '../../src/handlers/options/list-options.ts';
import { parseCreateOptions, parsePatchOptions } from '../../src/handlers/options/write-options.ts';
import { createRequestLineParser } from '../../src/http/request/request-info.ts';
import { parseFieldSelector } from '../../src/objects/selectors/field-selector.ts';
import { SelectorSyntaxError } from '../../src/objects/selectors/label-requirement.ts';
import { parseLabelSelector } from '../../src/objects/selectors/label-selector.ts';
import { fuzz, mutated, readsOrRefuses } from './support/fuzz.ts';

const pieces = fc.oneof(
  fc.constantFrom('a', 'app', 'env', 'in', 'notin', 'x.io/y', '!', '=', '==', '!=', '(', ')', ',', '<', '>', ' ', '\t'),
  fc.constantFrom(
    '__proto__',
    'constructor',
    '\\',
    '\\,',
    '\\=',
    '\u0000',
    'é',
    '-',
    '.',
    '/',
    '1',
    '9223372036854775808',
  ),
  fc.string({ unit: 'binary', maxLength: 4 }),
);
const selectors = fc.array(pieces, { maxLength: 14 }).map((parts) => parts.join(''));

describe('C-G: any selector', () => {
  const printed = <S>(parse: (text: string) => S, text: string, meaning: (selector: S) => unknown = String): void => {
    let selector: S;
    try {
      selector = parse(text);
    } catch (error) {
      expect(error).toBeInstanceOf(SelectorSyntaxError);
      return;
    }
    // A selector that was parsed, printed and parsed again is the same selector.
    expect(meaning(parse(String(selector)))).toEqual(meaning(selector));
  };
  fuzz('labels: it is understood or refused', selectors, (text) => {
    printed(parseLabelSelector, text);
  });
  fuzz(
    'fields: it is parsed or refused',
    selectors,
    (text) => {
      // The terms are in the order of the text, in which `==` comes before `=`.
      printed(parseFieldSelector, text, ({ requirements }) => requirements.map((one) => JSON.stringify(one)).sort());
    },
    { found: ['=__proto__,==`'] },
  );
});

describe('C-G: any query', () => {
  const parameter = fc.constantFrom(
    'limit',
    'continue',
    'watch',
    'resourceVersion',
    'resourceVersionMatch',
    'timeoutSeconds',
    'labelSelector',
    'fieldSelector',
    'sendInitialEvents',
    'allowWatchBookmarks',
    'dryRun',
    'fieldManager',
    'fieldValidation',
    'force',
    'gracePeriodSeconds',
    'propagationPolicy',
    'orphanDependents',
    'pretty',
    '__proto__',
  );
  const value = fc.oneof(
    fc.constantFrom(
      '',
      '0',
      '1',
      '-1',
      'true',
      'false',
      'TRUE',
      'All',
      'Exact',
      'NotOlderThan',
      'Strict',
      'Background',
      '1e3',
      '0x1',
    ),
    fc.constantFrom(
      '9223372036854775807',
      '9223372036854775808',
      '99999999999999999999',
      ' 1',
      '1 ',
      '+1',
      'NaN',
      '\u0000',
      'x'.repeat(200),
    ),
    selectors,
  );
  const queries = fc.array(fc.tuple(parameter, value), { maxLength: 6 }).map((pairs) => new URLSearchParams(pairs));
  fuzz('options are read or refused', queries, (query) => {
    readsOrRefuses(() => parseListOptions(query));
    readsOrRefuses(() => parseDeleteOptions({ query, body: undefined, annotate: () => {} }));
    readsOrRefuses(() => parsePatchOptions(query));
    readsOrRefuses(() => parseCreateOptions(query));
  });

  const tokens = createContinueTokens({ key: Buffer.alloc(32, 7) });
  const genuine = fc
    .record({ revision: fc.integer({ min: 1 }), after: fc.string() })
    .map((state) => tokens.seal(state, 'scope'));
  fuzz(
    'a continue token is ours, unchanged, or refused',
    fc.tuple(genuine, mutated(fc.constant('x'), ['=', '+', '/', ' '])),
    ([token, noise]) => {
      expect(readsOrRefuses(() => tokens.open(token, 'scope'))).toBeDefined();
      for (const other of [noise, `${token}${noise}`, `${noise}${token}`, token.slice(0, -1), token.toUpperCase()]) {
        if (other !== token) expect(readsOrRefuses(() => tokens.open(other, 'scope'))).toBeUndefined();
      }
    },
  );

  const parse = createRequestLineParser({ productName: 'orchestrator' });
  const segment = fc.oneof(
    fc.constantFrom(
      'api',
      'apis',
      'v1',
      'auth',
      'clusters',
      'orchestrator',
      'namespaces',
      'serviceaccounts',
      'token',
      'watch',
      'a',
    ),
    fc.constantFrom(
      '',
      '.',
      '..',
      '%2e',
      '%2F',
      '%5c',
      '%00',
      '%',
      '%zz',
      '%C3%28',
      '\\',
      ';',
      'a b',
      '#',
      '?',
      'é',
      '__proto__',
    ),
    fc.string({ maxLength: 4 }),
  );
  const targets = fc
    .tuple(fc.array(segment, { maxLength: 10 }), selectors)
    .map(([path, query]) => `/${path.join('/')}?${query}`);
  fuzz('a path is understood or refused, and has no dots or slashes in its names', targets, (target) => {
    for (const method of ['GET', 'POST', 'DELETE'] as const) {
      const info = readsOrRefuses(() => parse(method, target))?.info;
      if (info?.type !== 'resource') continue;
      for (const name of [info.target.name, info.target.namespace, info.target.cluster ?? '']) {
        expect(name).not.toMatch(/^\.\.?$|[/%\0]/);
      }
    }
  });
});
