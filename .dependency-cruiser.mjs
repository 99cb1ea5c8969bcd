/**
 * Which folder of src/ may import which, and why. `npm test` and `npm run check:imports` hold it; a violation prints the
 * sentence of its rule. Tests and fixtures may import anything; only tests import fixtures.
 */

const WALK =
  'A request walks down http -> (authn | authz | handlers) -> (clusters | tokens) -> objects -> storage, never back up.';

/**
 * A folder, what it may import besides itself, and why.
 * @type {Record<string, { imports: string[], why: string }>}
 */
const FOLDERS = {
  server: {
    imports: [
      ...[
        'http',
        'authn',
        'authz',
        'handlers',
        'manifests',
        'notify',
        'transfer',
        'clusters',
        'tokens',
        'objects',
        'storage',
      ],
      ...['config', 'observability', 'api', 'lib'],
    ],
    why: 'server/ constructs and connects the parts. It shares nothing with cli/ and client/, which talk to it over HTTP.',
  },
  http: {
    imports: [
      ...['mcp', 'authn', 'authz', 'handlers', 'tokens', 'objects', 'storage'],
      ...['observability', 'api', 'lib'],
    ],
    why: 'http/ imports the folders below it. Options and the store reach it as arguments, from server/compose.ts.',
  },
  authn: {
    imports: ['tokens', 'observability', 'api', 'lib'],
    why: `${WALK} authn/ finds the caller of a token. It knows neither how the request arrived nor what it asks for.`,
  },
  authz: {
    imports: ['objects', 'storage', 'observability', 'api', 'lib'],
    why: `${WALK} authz/ decides for a caller. It knows neither how that caller was found nor what is served.`,
  },
  handlers: {
    imports: ['clusters', 'tokens', 'objects', 'storage', 'observability', 'api', 'lib'],
    why: `${WALK} handlers/ serve a caller who is authenticated and authorized.`,
  },
  manifests: {
    imports: ['objects', 'storage', 'observability', 'api', 'lib'],
    why: `${WALK} manifests/ writes objects for the operator: it serves no request and knows no caller.`,
  },
  notify: {
    imports: ['objects', 'storage', 'observability', 'api', 'lib'],
    why: `${WALK} notify/ tells people of what is stored: it serves no request and knows no caller.`,
  },
  clusters: {
    imports: ['objects', 'storage', 'observability', 'api', 'lib'],
    why: `${WALK} clusters/ and tokens/ stand side by side: what both need belongs in objects/, api/ or lib/.`,
  },
  tokens: {
    imports: ['objects', 'storage', 'observability', 'api', 'lib'],
    why: `${WALK} tokens/ and clusters/ stand side by side: what both need belongs in objects/, api/ or lib/.`,
  },
  objects: {
    imports: ['storage', 'observability', 'api', 'lib'],
    why: `${WALK} objects/ knows types and bytes, not callers.`,
  },
  storage: {
    imports: ['observability', 'lib'],
    why: `${WALK} storage/ is the bottom and moves bytes: it does not know the API, and server/open-store.ts picks the engine.`,
  },
  transfer: {
    imports: ['storage', 'observability', 'api', 'lib'],
    why: 'transfer/ copies and checks stored bytes under their keys: it serves no request and knows no caller.',
  },
  config: {
    imports: ['observability', 'api', 'lib'],
    why: 'config/ turns flags, variables and files into values. It does not reach into the parts those values configure.',
  },
  cli: {
    imports: ['connector', 'sync', 'mcp', 'client', 'config', 'observability', 'api', 'lib'],
    why: 'cli/ talks to a server over HTTP, by client/, sync/ and connector/; it shares only mcp/, api/, config/, observability/ and lib/ with it.',
  },
  connector: {
    imports: ['sync', 'client', 'api', 'lib'],
    why: 'connector/ is a client of Clusterpass and of one cluster: cli/ hands it both, and what it may do.',
  },
  sync: {
    imports: ['client', 'api', 'lib'],
    why: 'sync/ is a client of two servers: it opens no sockets and reads no files, and shares only api/ and lib/ with them.',
  },
  mcp: {
    imports: ['observability', 'api', 'lib'],
    why: 'mcp/ is the protocol and the tools without a transport: http/ and cli/ hand it messages and send its requests.',
  },
  client: {
    imports: ['api', 'lib'],
    why: 'client/ is published and runs in browsers: it imports only types of api/, and a file of lib/.',
  },
  observability: {
    imports: ['api', 'lib'],
    why: 'Every folder writes logs and metrics through observability/, so it imports only api/ and lib/.',
  },
  api: {
    imports: ['lib'],
    why: 'Every folder and every client stands on api/, so it imports only lib/.',
  },
  lib: {
    imports: [],
    why: 'lib/ knows nothing of Kubernetes or of this program: it imports Node and npm packages only.',
  },
};

/** The folders that may use a module, and why no other may. */
const MODULES = [
  {
    modules: ['http', 'https', 'http2', 'net', 'tls', 'dgram'],
    folders: [
      ...['http', 'cli', 'authn/jwt', 'clusters/upstream', 'tokens/external', 'storage/etcd', 'server/workers'],
    ],
    files: ['lib/network.ts', 'server/demo-front.ts', 'client/node.ts', 'storage/sqlite/backup-socket.ts'],
    why:
      'Sockets are opened where their limits are set: http/, cli/, authn/jwt/, clusters/upstream/, tokens/external/, ' +
      'storage/etcd/ and server/workers/. A module that needs only `isIP` or `BlockList` takes them from ' +
      'lib/network.ts, which client/ may not import. ' +
      'A backup of SQLite is requested at a Unix socket beside the file. The demo has TLS in front of its listener.',
  },
  {
    modules: ['undici'],
    folders: ['http', 'authn/jwt', 'clusters/upstream', 'notify', 'tokens/external', 'storage/etcd'],
    why: 'HTTP requests leave through the folders that set their limits.',
  },
  {
    modules: ['nodemailer'],
    folders: ['notify'],
    why: 'Mail leaves through notify/.',
  },
  {
    modules: ['sqlite'],
    folders: ['storage/sqlite'],
    why: 'SQL stays in storage/sqlite/, behind the storage contract.',
  },
  {
    modules: ['@grpc/grpc-js'],
    folders: ['storage/etcd'],
    why: 'gRPC stays in storage/etcd/, behind the storage contract.',
  },
];

const TESTS = String.raw`\.(test|fixture)\.ts$`;

/** @param {string[]} folders */
const anyOf = (folders) => `^src/(${folders.join('|')})/`;

const folderRules = Object.entries(FOLDERS).map(([folder, { imports, why }]) => ({
  name: `imports-of-${folder}`,
  severity: /** @type {const} */ ('error'),
  comment: why,
  from: { path: `^src/${folder}/`, pathNot: TESTS },
  to: { path: '^src/', pathNot: anyOf([folder, ...imports]) },
}));

const moduleRules = MODULES.map(({ modules, folders, files = [], why }) => ({
  name: `use-of-${modules[0]?.replaceAll(/\W+/g, '-')}`,
  severity: /** @type {const} */ ('error'),
  comment: why,
  from: { path: '^src/', pathNot: [TESTS, anyOf(folders), ...files.map((file) => `^src/${file}$`)] },
  to: { path: `(^(node:)?|node_modules/)(${modules.join('|')})(/|$)`, dependencyTypesNot: ['type-only'] },
}));

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    ...folderRules,
    ...moduleRules,
    {
      name: 'no-circle',
      severity: 'error',
      comment: 'Two files that import each other are read together: merge them, or move what both need below both.',
      from: { path: '^(src|console/src|bench|scripts)/' },
      to: { circular: true },
    },
    {
      name: 'engines-behind-the-contract',
      severity: 'error',
      comment: 'Only server/ knows which storage engines there are; the rest of the program sees storage/contract.ts.',
      from: { path: '^src/', pathNot: [TESTS, '^src/server/', '^src/storage/(sqlite|etcd)/'] },
      to: { path: '^src/storage/(sqlite|etcd)/' },
    },
    {
      name: 'engines-apart',
      severity: 'error',
      comment: 'One storage engine does not import another.',
      from: { path: '^src/storage/(sqlite|etcd)/', pathNot: TESTS },
      to: { path: '^src/storage/(sqlite|etcd)/', pathNot: '^src/storage/$1/' },
    },
    {
      name: 'kinds-apart',
      severity: 'error',
      comment:
        'The handlers of one kind do not import those of another: what both need is in approvals/ or beside them.',
      from: {
        path: '^src/handlers/(access-requests|approvals|issued-tokens|join|passes|signing-keys)/',
        pathNot: TESTS,
      },
      to: {
        path: '^src/handlers/(access-requests|issued-tokens|join|passes|signing-keys)/',
        pathNot: '^src/handlers/$1/',
      },
    },
    {
      name: 'server-is-the-top',
      severity: 'error',
      comment: 'main.ts starts the program and only server/ is wired there: nothing imports either from below.',
      from: { path: '^src/', pathNot: [TESTS, '^src/main\\.ts$', '^src/server/'] },
      to: { path: ['^src/main\\.ts$', '^src/server/'] },
    },
    {
      name: 'client-in-browsers',
      severity: 'error',
      comment: 'client/ is published and runs in browsers: of lib/ it imports the files that need nothing of Node.',
      from: { path: '^src/client/', pathNot: TESTS },
      to: { path: '^src/lib/', pathNot: '^src/lib/backoff\\.ts$' },
    },
    {
      name: 'console-is-a-client',
      severity: 'error',
      comment: 'console/ runs in browsers: it imports client/, and from api/ and lib/ what needs nothing of Node.',
      from: { path: '^console/src/', pathNot: TESTS },
      to: { path: ['^src/', '^node:'], pathNot: anyOf(['client', 'api', 'lib']) },
    },
    {
      name: 'nothing-ships-tests',
      severity: 'error',
      comment: 'What ships does not import tests, benchmarks or scripts.',
      from: { path: '^(src|console/src)/', pathNot: TESTS },
      to: { path: ['^(test|bench|scripts)/', TESTS] },
    },
    {
      name: 'not-to-unresolvable',
      severity: 'error',
      comment: 'The imported file or package does not exist.',
      from: { path: '^(src|console/src|bench|scripts|test)/' },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
};
