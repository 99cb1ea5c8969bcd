import { webOrigin } from '../../authn/jwt/discovery-document.ts';
import { acceptsCoding } from '../request/negotiate.ts';
import type { RawAnswer } from '../response/respond.ts';
import { type CodedBytes, type ConsoleFile, type ConsoleFiles, madeFile } from './console-files.ts';
import type { PathRequest, PathRoute, PathRoutes } from './routes.ts';

export interface ConsoleOptions {
  /** Undefined when the console was not built. */
  readonly files: ConsoleFiles | undefined;
  readonly productName: string;
  readonly version: string;
  /** Where people sign in; the page asks it for a token. */
  readonly provider?: { readonly issuer: string; readonly clientId: string } | undefined;
  /** Where the tokens of that issuer are to be had, as it says at present. */
  readonly tokenOriginsOf?: (issuer: string) => readonly string[];
}

type Headers = RawAnswer['headers'];

const ROOT = '/console';
const INDEX = 'index.html';
const SETTINGS = 'settings.json';
const YEAR_SECONDS = 365 * 24 * 60 * 60;

/**
 * Nothing but our own files runs or is shown, and nobody but this server and the identity provider is asked; nobody
 * frames the page; text cannot become markup or code where the browser has Trusted Types. The page writes to the
 * clipboard when a person asks it to.
 */
const guardFor = (origins: readonly string[]): Readonly<Record<string, string>> => ({
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    ["connect-src 'self'", ...origins].join(' '),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), clipboard-read=(), clipboard-write=(self), geolocation=(), microphone=(), usb=()',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
});

/**
 * The web page, at `/console/`. Files are looked up in a table of those that were built, never on the disk: a path
 * that was not in it at the start does not exist.
 */
export function consoleRoutes(options: ConsoleOptions): PathRoutes {
  // What the page has to know before anyone signs in is public, like the page itself.
  const { files, tokenOriginsOf, ...settings } = options;
  const guard = currentGuard(options);
  const served = new Map(files);
  if (files !== undefined) served.set(SETTINGS, madeFile('application/json', JSON.stringify(settings)));
  const routes = new Map<string, PathRoute>();
  for (const [name, file] of served)
    routes.set(
      `${ROOT}/${name}`,
      page((request) => serveFile(file, request, guard())),
    );
  const index = served.get(INDEX);
  routes.set(
    ROOT,
    page((request) => {
      if (index === undefined) return notBuilt(guard());
      // Everything that the page loads is named relative to it.
      return request.asked.endsWith('/') ? serveFile(index, request, guard()) : toFolder(guard());
    }),
  );
  return { find: ({ cluster, path }) => (cluster === undefined ? routes.get(path) : undefined) };
}

/** The provider may move where its tokens are to be had while we run: its own document says where. */
function currentGuard({ provider, tokenOriginsOf }: ConsoleOptions): () => Headers {
  const home = webOrigin(provider?.issuer);
  let [told, guard]: [readonly string[] | undefined, Headers] = [undefined, guardFor([])];
  return () => {
    const now = provider === undefined ? [] : (tokenOriginsOf?.(provider.issuer) ?? []);
    if (now !== told) guard = guardFor([...new Set([...(home === undefined ? [] : [home]), ...now])]);
    told = now;
    return guard;
  };
}

const page = (handle: (request: PathRequest) => RawAnswer): PathRoute => ({ public: true, methods: ['GET'], handle });

function serveFile(file: ConsoleFile, { acceptEncoding, ifNoneMatch }: PathRequest, guard: Headers): RawAnswer {
  const chosen = choose(file, acceptEncoding);
  const headers: Record<string, string> = {
    ...guard,
    'Content-Type': file.contentType,
    'Cache-Control': file.immutable ? `public, max-age=${YEAR_SECONDS}, immutable` : 'no-cache',
    ETag: chosen.tag,
    Vary: 'Accept-Encoding',
  };
  if (ifNoneMatch !== undefined && isKnown(file, ifNoneMatch)) return { type: 'raw', code: 304, headers, body: '' };
  if (chosen.coding !== 'identity') headers['Content-Encoding'] = chosen.coding;
  return { type: 'raw', code: 200, headers, body: chosen.bytes };
}

function choose({ codings }: ConsoleFile, acceptEncoding: string | undefined): CodedBytes {
  const chosen =
    codings.find(({ coding }) => coding !== 'identity' && acceptsCoding(acceptEncoding, coding)) ?? codings.at(-1);
  if (chosen === undefined) throw new Error('a file has at least its own bytes');
  return chosen;
}

/** Weakly compared (RFC 9110 section 13.1.2): whichever coding of this file the client has, it has the file. */
const isKnown = ({ codings }: ConsoleFile, ifNoneMatch: string): boolean =>
  ifNoneMatch
    .split(',')
    .map((part) => part.trim().replace(/^W\//, ''))
    .some((tag) => tag === '*' || codings.some((coded) => coded.tag === tag));

/** Relative, so that it holds behind a proxy that serves us below a path of its own. */
const toFolder = (guard: Headers): RawAnswer =>
  text(308, 'the console is at console/\n', { ...guard, Location: 'console/' });

const notBuilt = (guard: Headers): RawAnswer =>
  text(
    503,
    'The console was not built. Build it with "npm run build" in the folder of Clusterpass, and start the server again;\n' +
      '"npm start" does both.\n',
    guard,
  );

const text = (code: number, body: string, headers: Headers): RawAnswer => ({
  type: 'raw',
  code,
  headers: { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-cache', ...headers },
  body,
});
