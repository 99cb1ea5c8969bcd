import { webOrigin } from '../../authn/jwt/fetch-document.ts';
import { acceptsCoding } from '../request/negotiate.ts';
import { entityTag, isKnown } from '../response/entity-tag.ts';
import { type RawAnswer, rawAnswer, textAnswer } from '../response/respond.ts';
import { type CodedBytes, type ConsoleFile, type ConsoleFiles, generatedFile } from './console-files.ts';
import type { PathRequest, PathRoute, PathRoutes } from './routes.ts';

export interface ConsoleOptions {
  /** Undefined when the console was not built. */
  readonly files: ConsoleFiles | undefined;
  readonly productName: string;
  readonly version: string;
  /** For how long people may ask for access. */
  readonly maxRequestSeconds: number;
  /** For people who see no cluster. */
  readonly helpText?: string | undefined;
  /** The identity provider at which people sign in. */
  readonly provider?: { readonly issuer: string; readonly clientId: string } | undefined;
  /** Origins of the token endpoints of that issuer, as its discovery document names them now. */
  readonly tokenOriginsOf?: (issuer: string) => readonly string[];
}

type Headers = RawAnswer['headers'];

const ROOT = '/console';
const INDEX = 'index.html';
const SETTINGS = 'settings.json';
const YEAR_SECONDS = 365 * 24 * 60 * 60;

/**
 * The page runs and shows only our own files, and connects only to this server and the identity provider. No other page
 * may frame it, and text cannot become markup or code where the browser has Trusted Types. It may write to the
 * clipboard.
 */
const headersFor = (origins: ReadonlySet<string>): Headers => ({
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

/** The web page, at `/console/`. Files are found in a table that is read at the start, never on the disk. */
export function consoleRoutes(options: ConsoleOptions): PathRoutes {
  // The page needs its settings before a user signs in, so they are as public as the page itself.
  const { files, tokenOriginsOf, ...settings } = options;
  const security = (): Headers => securityHeaders(options);
  const served = new Map(files);
  if (files !== undefined) served.set(SETTINGS, generatedFile('application/json', JSON.stringify(settings)));
  const routes = new Map<string, PathRoute>();
  const serve = (path: string, handle: (request: PathRequest) => RawAnswer) =>
    routes.set(path, { public: true, handle });
  for (const [name, file] of served) serve(`${ROOT}/${name}`, (request) => serveFile(file, request, security()));
  const index = served.get(INDEX);
  serve(ROOT, (request) => {
    if (index === undefined) return notBuilt(security());
    // The page names its files relative to its own address.
    return request.asked.endsWith('/') ? serveFile(index, request, security()) : toFolder(security());
  });
  return ({ cluster, path }) => (cluster === undefined ? routes.get(path) : undefined);
}

/** Computed for each request: the discovery document of the provider may name another token endpoint while we run. */
function securityHeaders({ provider, tokenOriginsOf }: ConsoleOptions): Headers {
  const issuerOrigin = webOrigin(provider?.issuer);
  const tokenOrigins = provider === undefined ? [] : (tokenOriginsOf?.(provider.issuer) ?? []);
  return headersFor(new Set(issuerOrigin === undefined ? tokenOrigins : [issuerOrigin, ...tokenOrigins]));
}

function serveFile(file: ConsoleFile, { acceptEncoding, ifNoneMatch }: PathRequest, security: Headers): RawAnswer {
  const chosen = choose(file, acceptEncoding);
  const headers: Record<string, string> = {
    ...security,
    'Content-Type': file.contentType,
    'Cache-Control': file.immutable ? `public, max-age=${YEAR_SECONDS}, immutable` : 'no-cache',
    ETag: entityTag(chosen),
    Vary: 'Accept-Encoding',
  };
  // Whichever coding of the file a client has, it has the file.
  const tags = file.codings.map(entityTag);
  if (isKnown(ifNoneMatch, tags)) return rawAnswer(304, headers);
  if (chosen.coding !== 'identity') headers['Content-Encoding'] = chosen.coding;
  return rawAnswer(200, headers, chosen.bytes);
}

function choose({ codings }: ConsoleFile, acceptEncoding: string | undefined): CodedBytes {
  const chosen =
    codings.find(({ coding }) => coding !== 'identity' && acceptsCoding(acceptEncoding, coding)) ?? codings.at(-1);
  if (chosen === undefined) throw new Error('a file has at least the identity coding');
  return chosen;
}

/** Relative, so that it works behind a proxy that serves us below another path. */
const toFolder = (security: Headers): RawAnswer =>
  text(308, 'the console is at console/\n', { ...security, Location: 'console/' });

const notBuilt = (security: Headers): RawAnswer =>
  text(
    503,
    'The console was not built. Build it with "npm run build" in the folder of Clusterpass, and start the server again;\n' +
      '"npm start" does both.\n',
    security,
  );

const text = (code: number, body: string, headers: Headers): RawAnswer =>
  textAnswer(code, body, { 'Cache-Control': 'no-cache', ...headers });
