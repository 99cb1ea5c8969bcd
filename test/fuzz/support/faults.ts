/**
 * Texts that are wrong in many places, by format: a frame, and pieces that are faults inside it. The fuzzers combine
 * them, and send each at the largest size that is accepted. A parser that makes an Error of every fault takes seconds
 * for some of them (A19).
 */
export interface Faults {
  readonly name: string;
  readonly head: string;
  readonly pieces: readonly string[];
  readonly tail: string;
}

/** The frame, filled with a piece up to this length. */
export function filled({ head, tail }: Faults, piece: string, room: number): string {
  const count = Math.max(1, Math.floor((room - head.length - tail.length) / Math.max(1, piece.length)));
  return `${head}${piece.repeat(count)}${tail}`;
}

/** Invalid characters, tokens and documents of YAML. */
export const YAML_FAULTS: readonly Faults[] = [
  {
    name: 'double-quoted scalar',
    head: 'a: "',
    pieces: ['\\q', '\\xzz', '\\u', '\\U00110000', '\\ud800', '\\', '\\q\n', '\0', '\n---\n', '\t\n'],
    tail: '"',
  },
  { name: 'single-quoted scalar', head: "a: '", pieces: ["' ", "'b", '\n...\n', '\u0001'], tail: "'" },
  { name: 'plain scalar', head: 'a: ', pieces: ['@', '`', '%', ' #', ': ', '\n b: c: ', ' - ', '\t'], tail: '' },
  { name: 'block scalar', head: 'a: |', pieces: ['9', '-', '+x', '\n\tb', '\n   b\n c', ' #'], tail: '\n' },
  {
    name: 'flow sequence',
    head: 'a: [',
    pieces: [',', ', ,', '? ', ': ', ':', '"a" b,', '{,', '],', 'a: b: c,', '#', '@,', '!!int x,', '- ', '|', '\n'],
    tail: ']',
  },
  {
    name: 'flow mapping',
    head: 'a: {',
    pieces: [',', ':,', '? ,', 'a: b: c,', '[,', '},', '"a"b,', 'a,', '!!map 1,', '- '],
    tail: '}',
  },
  {
    name: 'block collection',
    head: '',
    pieces: [
      '- @\n',
      '- "\\q"\n',
      '- !!float "x"\n',
      '- !!seq {a: b}\n',
      "- 'a'b\n",
      '"a\n b": c\n',
      'a: b: c\n',
      '- [,]\n',
      '\t- a\n',
      '- |x\n',
      '? \n',
      ': \n',
      'a: b\n',
      '-\n',
      `${'k'.repeat(1_100)}: v\n`,
    ],
    tail: '',
  },
  {
    name: 'document',
    head: '',
    pieces: ['...\n', '--- @\n', '--- "\\q"\n', '---\n...\n', '%YAML\n', '--- [,]\n', '--- a\n...\n', ']\n', '\ufeff'],
    tail: '',
  },
];

export const JSON_FAULTS: readonly Faults[] = [
  {
    name: 'string',
    head: '{"spec":{"audiences":["',
    pieces: ['\\q', '\\u', '\\u00zz', '\\ud800', '\\ud800\\u0041', '\n', '"', '\\', '","', '\u{1f600}', '\\"'],
    tail: '"]}}',
  },
  {
    name: 'list',
    head: '{"spec":{"audiences":[',
    pieces: [',', '1,', '{},', 'null,', 'tru,', '-,', '1e,', '01,', '"a" ', '[', '{"a":1,"a":2},', '"\\ud800",'],
    tail: ']}}',
  },
  {
    name: 'member',
    head: '{"metadata":{',
    pieces: [
      '"creationTimestamp":"x",',
      '"deletionTimestamp":"2020-13-01T00:00:00Z",',
      '"labels":5,',
      '"labels":{"!":"!"},',
      '"annotations":{"a":1},',
      '"ownerReferences":[{"uid":1}],',
      '"name":{},',
      '"generation":"x",',
      '"\\ud800":1,',
      '"x":1,',
      '"__proto__":{},',
    ],
    tail: '"z":1},"spec":{}}',
  },
  {
    name: 'endpoint',
    head: '{"apiVersion":"clusterregistry.k8s.io/v1alpha1","kind":"Cluster","metadata":{"name":"x"},"spec":{"orchestratorApiEndpoints":{',
    pieces: [
      '"caBundle":"!",',
      '"caBundle":"AA",',
      '"caBundle":7,',
      '"serverEndpoints":[{"serverAddress":"x","clientCIDR":"x"}],',
      '"serverEndpoints":{},',
      '"\u{1f600}":1,',
    ],
    tail: '"z":1}}}',
  },
];

/** The label selector of a query, and of the annotation of a binding. */
export const LABEL_SELECTOR_FAULTS: readonly Faults[] = [
  {
    name: 'set',
    head: 'a in (',
    pieces: ['$,', ',', '!,', '(', 'b c,', '\u{1f600},', ' ', `${'b'.repeat(64)},`],
    tail: ')',
  },
  {
    name: 'requirement',
    head: '',
    pieces: ['!', 'a!=$,', 'a,', 'a>x,', '=', '-a,', '\0', '\u{1f600}', 'a/b/c,'],
    tail: 'a',
  },
];

export const FIELD_SELECTOR_FAULTS: readonly Faults[] = [
  { name: 'term', head: '', pieces: ['a\\', 'a=b=c,', ',', '\\x', 'a=\\x,', '!=', 'a,', '\u{1f600}'], tail: 'a=b' },
];

/** Lines of a token file. */
export const CSV_FAULTS: readonly Faults[] = [
  { name: 'quoted field', head: 'a,"', pieces: ['""', '\n', 'x', '"",', '\u{1f600}'], tail: '' },
  { name: 'field', head: '', pieces: [',', 'x', 'a"', '\n', '"a"b\n', '"a""",', '\r\n'], tail: '"' },
  { name: 'record', head: '', pieces: ['a\n', 'a,b\n', ',,\n', 't,u,1,a,b\n', '"a\nb",c\n'], tail: '' },
];

export const PEM_FAULTS: readonly Faults[] = [
  {
    name: 'bundle',
    head: '',
    pieces: [
      '-----BEGIN CERTIFICATE-----',
      '-----END CERTIFICATE-----',
      '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n',
      '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n',
      'x',
      '-',
      ' ',
    ],
    tail: '',
  },
  {
    name: 'certificate',
    head: '-----BEGIN CERTIFICATE-----\n',
    pieces: ['A', 'A\n', '\n', '=', ' ', 'MIIB\n', '\r\n'],
    tail: '\n-----END CERTIFICATE-----\n',
  },
];

/** CEL expressions that do not compile. */
export const CEL_FAULTS: readonly Faults[] = [
  { name: 'text', head: '"', pieces: ['\\q', '\\u', '\n', '\\', '\u{1f600}'], tail: '"' },
  {
    name: 'expression',
    head: '',
    pieces: ['(', '!', '-', '[', '{1:', 'claims.', 'x+', 'a?a:', '1 1', ',', '&&', 'claims.all(x,', '@', '"a"+1,'],
    tail: 'a',
  },
];

/** Conditions that fail for most claims. `||` and `exists` go on after a failure. */
export const CEL_CONDITIONS: readonly string[] = [
  'x.foo == "a"',
  'x',
  'int(x) == 1',
  'timestamp(x) == timestamp(x)',
  'duration(x) == duration(x)',
  'x.matches(x)',
  'x[0] == 1',
  'x / 0 == 1',
  'x + 1 == 2',
  'claims.nothing == x',
  'claims.list.exists(y, y.a == x.a)',
  'claims.list[100000] == x',
  'x.foo.bar.baz',
];

/** Forms of OAuth. The last frame is a token exchange with a scope to read. */
export const FORM_FAULTS: readonly Faults[] = [
  {
    name: 'parameter',
    head: 'token=',
    pieces: ['%', '%zz', '%ff', '&', '&a=', '&a=1', '%00', '=', '+', '%ed%a0%80', '\u{1f600}', '&token=x'],
    tail: '',
  },
  {
    name: 'token',
    head: 'token=e30.',
    pieces: ['.', 'e30.', '!', '%2e', '=', 'W1tb', 'eyJhIjo'],
    tail: '',
  },
  {
    name: 'scope',
    head:
      'grant_type=urn:ietf:params:oauth:grant-type:token-exchange&subject_token=x&audience=alpha' +
      '&subject_token_type=urn:ietf:params:oauth:token-type:jwt&scope=',
    pieces: ['aud:', 'aud:a+', '+', 'serviceaccount:', 'serviceaccount:a:b+', ':', 'userpass+', 'pass:', 'pass:a+'],
    tail: '',
  },
];

/** Messages of MCP: their JSON, and the arguments of a tool. */
export const MESSAGE_FAULTS: readonly Faults[] = [
  {
    name: 'arguments',
    head: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{',
    pieces: ['"a":1,', '"limit":"x",', '"cluster":{},', '"":[[],', '"\\ud800":1,', '"a":,', '"\u{1f600}":1,'],
    tail: '"z":1}}}',
  },
  {
    name: 'text',
    head: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"cluster":"',
    pieces: ['a', '.', '-', 'a-', '\\u0041', '\\q', '\u{1f600}'],
    tail: '"}}}',
  },
  { name: 'nesting', head: '{"jsonrpc":"2.0","params":', pieces: ['[', '{"a":', '[{},', ']'], tail: '}' },
];

/** The JSON of a cluster with this CA bundle. */
export const clusterWith = (pem: string): string =>
  JSON.stringify({
    apiVersion: 'clusterregistry.k8s.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'x' },
    spec: { orchestratorApiEndpoints: { caBundle: Buffer.from(pem).toString('base64') } },
  });

/** The JSON of a binding with this selector of clusters. */
export const bindingWith = (selector: string): string =>
  JSON.stringify({
    apiVersion: 'clusterpass.dev/v1alpha1',
    kind: 'FleetRoleBinding',
    metadata: { name: 'x' },
    spec: {
      roleRef: { kind: 'ClusterRole', name: 'view' },
      clusters: { selector: { matchExpressions: [{ key: 'env', operator: 'In', values: selector.split(',') }] } },
    },
  });
