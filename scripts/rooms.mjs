/**
 * Who may import whom in src/, and why: the one table behind biome.rooms.json.
 * `npm run generate` writes that file; Biome holds the rule in the editor and in `npm test`.
 */

const WALK =
  'A request walks down http -> authn -> authz -> handlers -> (clusters | tokens) -> objects -> storage and never back up.';

/**
 * A room, what it may import besides itself, and the sentence a developer reads who tries something else.
 * main.ts and compose.ts are not rooms: they may import everything, and no room may import them.
 * @type {Record<string, { imports: string[], why: string }>}
 */
export const ROOMS = {
  http: {
    imports: ['authn', 'authz', 'handlers', 'clusters', 'tokens', 'objects', 'storage', 'api', 'observability'],
    why: 'http/ imports the rooms below it. Options come to it as arguments and the engine as a Store, from compose.ts.',
  },
  authn: {
    imports: ['authz', 'handlers', 'clusters', 'tokens', 'objects', 'storage', 'api', 'observability'],
    why: `${WALK} authn/ finds the caller and must not know how the request arrived.`,
  },
  authz: {
    imports: ['handlers', 'clusters', 'tokens', 'objects', 'storage', 'api', 'observability'],
    why: `${WALK} authz/ decides for a caller and must not know how that caller was found.`,
  },
  handlers: {
    imports: ['clusters', 'tokens', 'objects', 'storage', 'api', 'observability'],
    why: `${WALK} handlers/ work for a caller who is already known and allowed.`,
  },
  manifests: {
    imports: ['objects', 'storage', 'api', 'observability'],
    why: `${WALK} manifests/ writes objects for the operator: it answers no request and knows no caller.`,
  },
  clusters: {
    imports: ['objects', 'storage', 'api', 'observability'],
    why: `${WALK} clusters/ and tokens/ stand side by side: what both need belongs in objects/ or api/.`,
  },
  tokens: {
    imports: ['objects', 'storage', 'api', 'observability'],
    why: `${WALK} tokens/ and clusters/ stand side by side: what both need belongs in objects/ or api/.`,
  },
  objects: {
    imports: ['storage', 'api', 'observability'],
    why: `${WALK} objects/ knows types and bytes, not callers.`,
  },
  storage: {
    imports: ['api', 'observability'],
    why: `${WALK} storage/ is the floor, and its contract does not know its engines: compose.ts picks one.`,
  },
  transfer: {
    imports: ['storage', 'api', 'observability'],
    why: 'transfer/ moves and checks what is stored, as bytes under keys: it answers no request and knows no caller.',
  },
  config: {
    imports: ['api', 'observability'],
    why: 'config/ turns flags, variables and files into values. It must not reach into the parts those values configure.',
  },
  cli: {
    imports: ['client', 'api', 'config', 'observability'],
    why: 'cli/ talks to a server over HTTP and shares nothing else with it: import only client/, api/, config/ and observability/.',
  },
  client: {
    imports: ['api'],
    why: 'client/ is published and runs in browsers: import only types, from api/.',
  },
  observability: {
    imports: ['api'],
    why: 'observability/ imports only api/: every room writes logs and metrics through it, so it must pull none of them in.',
  },
  api: {
    imports: [],
    why: 'api/ imports only api/: every room and the client programs stand on it, so it must pull none of them in.',
  },
};

const SOCKETS =
  'Sockets live in http/, in clusters/upstream/ towards clusters, in tokens/external/ towards a signer, in storage/etcd/ towards etcd, and in cli/ and client/: anywhere else a transport would escape the limits that are set there.';
const SQL =
  'SQL stops at storage/sqlite/: the rest of the program sees the storage contract, so that any engine can stand in.';

const GRPC =
  'gRPC stops at storage/etcd/: the rest of the program sees the storage contract, so that any engine can stand in.';

/** Modules that open sockets. The helpers that only look at addresses and certificates are free to use. */
const SOCKET_MODULES = {
  'node:http': SOCKETS,
  'node:https': SOCKETS,
  'node:http2': SOCKETS,
  'node:tls': { allowImportNames: ['checkServerIdentity', 'PeerCertificate'], message: SOCKETS },
  'node:dgram': SOCKETS,
  'node:net': {
    allowImportNames: ['isIP', 'isIPv4', 'isIPv6', 'BlockList', 'SocketAddress'],
    message: SOCKETS,
  },
};

/** Nothing that ships may depend on what does not, and nobody but main.ts wires the parts. */
const NEVER = ['**/main.ts', '**/compose.ts', '**/open-store.ts', '**/test/**', '**/bench/**', '**/scripts/**'];

/**
 * @param {string} includes
 * @param {unknown} noRestrictedImports
 */
const override = (includes, noRestrictedImports) => ({
  includes: [includes],
  linter: { rules: { style: { noRestrictedImports } } },
});

/** Folders below storage/ that nobody but the opening of the store may know. @type {('sqlite' | 'etcd')[]} */
const ENGINES = ['sqlite', 'etcd'];

/**
 * @param {string} room
 * @param {{ engine?: 'sqlite' | 'etcd', sockets?: boolean }} [options]
 */
function restriction(room, { engine, sockets = room === 'http' || room === 'cli' } = {}) {
  const { imports, why } = /** @type {{ imports: string[], why: string }} */ (ROOMS[room]);
  const closed = Object.keys(ROOMS).filter((other) => other !== room && !imports.includes(other));
  return {
    level: 'error',
    options: {
      paths: {
        ...(sockets ? {} : SOCKET_MODULES),
        ...(sockets || room === 'client' ? {} : { undici: SOCKETS }),
        ...(engine === 'sqlite' ? {} : { 'node:sqlite': SQL }),
        ...(engine === 'etcd' ? {} : { '@grpc/grpc-js': GRPC }),
      },
      patterns: [
        {
          group: [
            ...NEVER,
            ...closed.map((other) => `**/${other}/**`),
            ...ENGINES.filter((other) => other !== engine).map((other) => `**/${other}/**`),
          ],
          message: why,
        },
      ],
    },
  };
}

/** The web page is a client like any other: it runs where none of the server's modules do. */
const consoleRestriction = () => ({
  level: 'error',
  options: {
    patterns: [
      {
        group: ['node:*', ...Object.keys(ROOMS).filter((room) => room !== 'client' && room !== 'api')].map((room) =>
          room.includes(':') ? room : `**/src/${room}/**`,
        ),
        message: 'console/ runs in browsers: import only client/, and from api/ what needs nothing of Node.',
      },
    ],
  },
});

/** The Biome configuration that biome.json extends. In Biome the last override that matches a file wins. */
export function biomeRooms() {
  return {
    $schema: './node_modules/@biomejs/biome/configuration_schema.json',
    overrides: [
      ...Object.keys(ROOMS).map((room) => override(`src/${room}/**`, restriction(room))),
      ...ENGINES.map((engine) =>
        override(`src/storage/${engine}/**`, restriction('storage', { engine, sockets: engine === 'etcd' })),
      ),
      override('src/clusters/upstream/**', restriction('clusters', { sockets: true })),
      override('src/tokens/external/**', restriction('tokens', { sockets: true })),
      override('console/**', consoleRestriction()),
      // A test may set up whatever it needs; nothing imports a test, and only tests import fixtures.
      override('src/**/*.test.ts', 'off'),
      override('console/**/*.test.ts', 'off'),
      override('src/**/*.fixture.ts', 'off'),
    ],
  };
}
