import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { decodeBody, PROTOBUF_TYPE } from '../../src/api/codec/decode.ts';
import { MAX_YAML_BYTES } from '../../src/api/codec/parse-yaml.ts';
import { type ApiObject, type BodyType, type Kind, NOTHING_UNCHANGED } from '../../src/api/kind.ts';
import { clusterKind } from '../../src/api/kinds/cluster.ts';
import { clusterRoleBindingKind } from '../../src/api/kinds/rbac.ts';
import { tokenRequestType } from '../../src/api/kinds/token-request.ts';
import { invalid } from '../../src/api/status.ts';
import { compileClaimsExpression, ExpressionError, ExpressionFailed } from '../../src/authn/jwt/cel.ts';
import { readCsv } from '../../src/authn/static-token-authenticator.ts';
import { Form, MAX_FORM_BYTES } from '../../src/http/oauth/form.ts';
import { formRoutes } from '../../src/http/oauth/form-routes.ts';
import { OAuthError } from '../../src/http/oauth/oauth-error.ts';
import { cpuTimeOf, TEST_LIMIT_MS } from '../../src/lib/cpu-time.fixture.ts';
import { parseJson, RpcError, readMessage } from '../../src/mcp/json-rpc.ts';
import { runTool } from '../../src/mcp/tool-result.ts';
import { TOOLS } from '../../src/mcp/tools.ts';
import { parseFieldSelector } from '../../src/objects/selectors/field-selector.ts';
import { SelectorSyntaxError } from '../../src/objects/selectors/label-requirement.ts';
import { parseLabelSelector } from '../../src/objects/selectors/label-selector.ts';
import { validateObject } from '../../src/objects/validate-object.ts';
import { createIssuers } from '../../src/tokens/claims.ts';
import { envelope, message } from '../e2e/support/protobuf.ts';
import {
  bindingWith,
  CEL_CONDITIONS,
  CEL_FAULTS,
  CSV_FAULTS,
  clusterWith,
  type Faults,
  FIELD_SELECTOR_FAULTS,
  FORM_FAULTS,
  filled,
  JSON_FAULTS,
  LABEL_SELECTOR_FAULTS,
  MESSAGE_FAULTS,
  PEM_FAULTS,
  YAML_FAULTS,
} from './support/faults.ts';
import { fuzz, readsOrRefuses } from './support/fuzz.ts';

/** The largest body. */
const BODY = 3_145_728;
/** Of a request line: Node's limit for a header block. */
const LINE = 16 * 1024;
const ANNOTATION = 256 * 1024;

/** One frame, filled with one to three of its pieces in turn, or with any text. */
const wrong = (faults: readonly Faults[], room: number): fc.Arbitrary<string> =>
  fc
    .constantFrom(...faults)
    .chain((frame) =>
      fc
        .tuple(
          fc.array(
            fc.oneof(
              { weight: 6, arbitrary: fc.constantFrom(...frame.pieces) },
              { weight: 1, arbitrary: fc.string({ minLength: 1, maxLength: 3 }) },
            ),
            { minLength: 1, maxLength: 3 },
          ),
          fc.constantFrom(room, room, Math.floor(room / 20)),
        )
        .map(([pieces, size]) => filled(frame, pieces.join(''), size)),
    );

/** The largest of each frame with each of its pieces: a short run has them all. */
const largest = (faults: readonly Faults[], room: number): string[] =>
  faults.flatMap((frame) => frame.pieces.map((piece) => filled(frame, piece, room)));

const isFast = (call: () => void): void => {
  expect(cpuTimeOf(call)).toBeLessThan(TEST_LIMIT_MS);
};

const throwsOnly = (call: () => void, ...types: readonly (new (...args: never[]) => Error)[]): void => {
  try {
    call();
  } catch (error) {
    if (!types.some((type) => error instanceof type)) throw error;
  }
};

const cluster = clusterKind('orchestrator');

const body = (mediaType: string, type: BodyType | Kind, bytes: Uint8Array): void => {
  readsOrRefuses(() => {
    const { value } = decodeBody({ bytes, mediaType }, type, 'Strict');
    if (!('validate' in type)) return;
    const errors = validateObject(type, value as ApiObject, { cluster: '', unchanged: NOTHING_UNCHANGED });
    if (errors.length > 0) throw invalid(type, '', errors);
  });
};

describe('A19: a body that is wrong in many places does not block the event loop', () => {
  fuzz(
    'YAML',
    wrong(YAML_FAULTS, MAX_YAML_BYTES),
    (text) => isFast(() => body('application/yaml', tokenRequestType, Buffer.from(text))),
    { runs: 20, found: [...largest(YAML_FAULTS, MAX_YAML_BYTES), ...largest(YAML_FAULTS, 3_900)] },
  );

  fuzz(
    'JSON',
    wrong(JSON_FAULTS, BODY),
    (text) => {
      const bytes = Buffer.from(text);
      for (const type of [tokenRequestType, cluster]) isFast(() => body('application/json', type, bytes));
    },
    { runs: 10, found: largest(JSON_FAULTS, BODY / 4) },
  );

  const pieces = fc.constantFrom(
    ...[
      '7801',
      '0801',
      '0a01ff',
      '0a00',
      '0b',
      '0f',
      '0aff',
      '4208080c',
      '62040a02ffff',
      '120a0a08ffffffffffffffff',
      '00',
    ],
  );
  const protobuf = fc
    .tuple(fc.array(pieces, { minLength: 1, maxLength: 3 }), fc.constantFrom('raw', 'spec', 'metadata'))
    .map(([list, place]) => {
      const piece = Buffer.from(list.join(''), 'hex');
      const inside = Buffer.alloc(Math.floor(3_000_000 / piece.length) * piece.length, piece);
      const raw = place === 'raw' ? inside : message({ [place === 'spec' ? 2 : 1]: inside });
      return Buffer.from(envelope('authentication.k8s.io/v1', 'TokenRequest', raw));
    });
  fuzz('protobuf', protobuf, (bytes) => isFast(() => body(PROTOBUF_TYPE, tokenRequestType, bytes)), { runs: 20 });

  fuzz(
    'PEM',
    wrong(PEM_FAULTS, 256 * 1024),
    (pem) => {
      const bytes = Buffer.from(clusterWith(pem));
      isFast(() => body('application/json', cluster, bytes));
    },
    { runs: 10, found: [...largest(PEM_FAULTS, 256 * 1024), ...largest(PEM_FAULTS, 2_300_000)] },
  );

  fuzz(
    'the selector of a binding',
    wrong(LABEL_SELECTOR_FAULTS, ANNOTATION),
    (selector) => {
      const bytes = Buffer.from(bindingWith(selector));
      isFast(() => body('application/json', clusterRoleBindingKind, bytes));
    },
    {
      runs: 10,
      found: [
        ...largest(LABEL_SELECTOR_FAULTS, 60 * 1024),
        ...largest(LABEL_SELECTOR_FAULTS, ANNOTATION),
        `a in (${Array.from({ length: 8_000 }, (_, index) => `$${index}`).join(',')})`,
      ],
    },
  );
});

describe('A19: everything else that is read does not block the event loop', () => {
  fuzz(
    'label selectors',
    wrong(LABEL_SELECTOR_FAULTS, LINE),
    (text) => isFast(() => throwsOnly(() => parseLabelSelector(text), SelectorSyntaxError)),
    { runs: 30, found: largest(LABEL_SELECTOR_FAULTS, LINE) },
  );

  fuzz(
    'field selectors',
    wrong(FIELD_SELECTOR_FAULTS, LINE),
    (text) => isFast(() => throwsOnly(() => parseFieldSelector(text), SelectorSyntaxError)),
    { runs: 30, found: largest(FIELD_SELECTOR_FAULTS, LINE) },
  );

  const issuers = createIssuers({ baseUrl: 'https://cp.example.com', productName: 'orchestrator' });
  const routes = formRoutes(() => issuers);
  const endpoints = ['/oauth/token', '/oauth/introspect', '/oauth/revoke'].map((path) =>
    routes({ type: 'path', verb: 'post', cluster: undefined, path }),
  );
  fuzz(
    'forms',
    wrong(FORM_FAULTS, MAX_FORM_BYTES),
    (text) => {
      const bytes = Buffer.from(text);
      const read = (endpoint: (typeof endpoints)[number]) =>
        endpoint?.read(new Form(bytes), { cluster: undefined, query: new URLSearchParams() });
      for (const endpoint of endpoints) isFast(() => throwsOnly(() => read(endpoint), OAuthError));
    },
    { runs: 20, found: largest(FORM_FAULTS, MAX_FORM_BYTES) },
  );

  const unused = async (): Promise<never> => {
    throw new Error('the arguments are wrong');
  };
  fuzz(
    'messages of MCP',
    wrong(MESSAGE_FAULTS, MAX_FORM_BYTES),
    (text) => {
      for (const tool of TOOLS) {
        isFast(() =>
          throwsOnly(() => {
            const { params } = readMessage(parseJson(text));
            // The arguments are checked before the first wait.
            runTool({ ...tool, run: unused }, params.arguments, {} as never).catch(() => {});
          }, RpcError),
        );
      }
    },
    { runs: 10, found: largest(MESSAGE_FAULTS, MAX_FORM_BYTES) },
  );

  fuzz(
    'CSV, in each record',
    wrong(CSV_FAULTS, 4_000_000),
    // The reader of the file yields to the event loop between two records.
    (text) => isFast(() => void readCsv(text)),
    { runs: 15, found: largest(CSV_FAULTS, 4_000_000) },
  );

  fuzz(
    'CEL that does not compile',
    wrong(CEL_FAULTS, 8 * 1024),
    (text) => isFast(() => throwsOnly(() => compileClaimsExpression(text), ExpressionError)),
    { runs: 20, found: largest(CEL_FAULTS, 8 * 1024) },
  );

  const entries = fc.constantFrom<unknown>('a', '', '(', 1n, 1.5, true, null, new Map(), new Map([['foo', 'b']]), []);
  const conditions = fc.array(fc.constantFrom(...CEL_CONDITIONS), { minLength: 1, maxLength: 8 });
  type Loop = 'exists' | 'all' | 'exists_one' | 'filter' | 'map';
  type FailingLoop = [Loop, string[], '||' | '&&', unknown, number];
  const failing = (condition: string): FailingLoop => ['exists', Array(20).fill(condition), '||', new Map(), 9_000];
  const loops = fc.constantFrom<Loop>('exists', 'all', 'exists_one', 'filter', 'map');
  fuzz<FailingLoop>(
    'CEL that fails for each entry of a claim',
    fc.tuple(loops, conditions, fc.constantFrom<'||' | '&&'>('||', '&&'), entries, fc.constantFrom(100, 9_000)),
    ([loop, parts, operator, entry, count]) => {
      const source = `claims.list.${loop}(x, ${parts.join(` ${operator} `)})`;
      const variables = { claims: new Map([['list', Array(count).fill(entry)]]) };
      throwsOnly(() => {
        const expression = compileClaimsExpression(source);
        isFast(() => throwsOnly(() => expression.evaluate(variables), ExpressionFailed));
      }, ExpressionError);
    },
    { runs: 50, found: CEL_CONDITIONS.map(failing) },
  );
});
