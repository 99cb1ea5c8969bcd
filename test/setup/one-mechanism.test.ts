import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const IS_TEST = /\.(?:test|fixture)\.tsx?$/;

/** An idea, how code that has it looks, and the only files that may. Each idea has one mechanism. */
const MECHANISMS: readonly (readonly [idea: string, pattern: RegExp, files: readonly string[]])[] = [
  [
    'text is cut and cleaned',
    /\.slice\(0, [^()]*\)\.toWellFormed\(\)|\b(?:function|const) (?:truncate|clip|shorten|cut|oneLine|cleanText|textOf)\b/,
    ['src/lib/text.ts'],
  ],
  ['the address of the page of a request', /\/console\/#\//, ['src/api/approval-page.ts']],
  ['a pause between two tries', /setTimeout(?: as \w+)?,? [^;]*from 'node:timers\/promises'/, []],
  [
    'files that are followed',
    /\bmtimeNs\b|\bwatchFile\b|\bfs\.watch\b|\bwatch\b[^;]*from 'node:fs/,
    ['src/lib/follow-files.ts'],
  ],
  ['work at an interval', /\bsetInterval\(/, ['src/lib/rounds.ts']],
  [
    'work yields by its turns; the others wait for the end of a tick: to hand over batches, to free seats, to begin one handshake, to see what has arrived',
    /\bsetImmediate\b|\bscheduler\.yield\b/,
    [
      'src/http/flow-control/priority-level.ts',
      'src/http/listener/drain.ts',
      'src/http/listener/handshakes.ts',
      'src/lib/event-loop.ts',
      'src/lib/work-queue.ts',
    ],
  ],
  [
    'an account of the memory that callers hold',
    /\bnew SharedBytes\(|\bclass \w*Memory\w*Account\b|\bnew MemoryCharge\(/,
    ['src/api/shared-frames.ts', 'src/handlers/watch/send-buffer.ts', 'src/lib/memory-account.ts'],
  ],
  [
    'an event of a watch is encoded for all groups that show the same',
    /= createEventFrames\(/,
    ['src/handlers/watch/broadcaster.ts'],
  ],
  ['a pause that grows with failures', /\* 2 \*\* [a-z(]/i, ['src/lib/backoff.ts']],
  [
    'a value of JSON is asked, copied and compared; client/ imports nothing of lib/',
    /\b(?:function|const) (?:isObject|isJsonObject|memberOf|cloneJson|equalJson)\b|^(?:export )?type JsonValue\b/m,
    ['src/client/errors.ts', 'src/lib/json.ts'],
  ],
  [
    'conditions of a cluster have their reasons in one table',
    /\b(?:reason|READY|\w+_REASON): ?'Probe\w+'|startsWith\('Probe'\)|^\s+Probe\w+: '/m,
    ['src/api/clusters/conditions.ts'],
  ],
  ['the type of a list in a schema', /goType: `\[\]/, ['src/api/kinds/meta.ts']],
  ['JSON of a text that may be damaged', /return JSON\.parse\([^)]*\) as JsonValue/, ['src/lib/json.ts']],
  ['a duration in the words of Go', /3_600_000_000_000n|\(ms\|s\|m\|h\)/, ['src/api/codec/go-text/go-parse.ts']],
  ['a client lists, watches and resumes', /allowWatchBookmarks: true/, ['src/client/list-watch.ts']],
  [
    'the newest finding about an object wins and is written later',
    /\b(?:class |function create)\w*(?:Status|Keyed|Condition)Writer\b/,
    ['src/objects/keyed-writer.ts'],
  ],
  [
    'work in another thread or process',
    /\bnew Worker\(|\bparentPort\b|\bworkerData\b[^:]*from|\bnew MessageChannel\(/,
    ['src/lib/worker-rpc.ts'],
  ],
  ['worker processes', /\bcluster\.fork\(/, ['src/server/workers/start-workers.ts']],
  [
    'messages between threads, worker processes and tabs',
    /\.postMessage\(|\bworker\.send\(/,
    [
      'console/src/fleet/shared-watch.ts',
      // Before the user is known, whose name is that of the other channel.
      'console/src/session/session.ts',
      'src/lib/worker-rpc.ts',
      'src/server/workers/worker-methods.ts',
    ],
  ],
  [
    'what one caller may take is counted and refused by name',
    /\bquotaExceeded\(|'QuotaExceeded'/,
    ['src/api/quotas.ts', 'src/handlers/token/issue-token.ts', 'src/objects/quota.ts'],
  ],
  ['a token is signed for a caller', /\bsigner\.sign\(/, ['src/handlers/token/sign-token.ts']],
  [
    'the audit event of a token is written by what issues it',
    /\bwillAnswer\(/,
    ['src/handlers/token/forward-token.ts', 'src/handlers/token/sign-token.ts'],
  ],
  ['how long a token lasts', /\bgrantLifetime\(/, ['src/handlers/token/sign-token.ts', 'src/tokens/grant-lifetime.ts']],
  [
    'a list of objects in the console',
    /<table\b/,
    ['console/src/components/list-table.tsx', 'console/src/fleet/fleet-table.tsx'],
  ],
  ['what pages of the console share, no component passes on', /\bclient=\{client\}|\bclusterNames=\{/, []],
  ['the console follows a media query', /\bmatchMedia\(/, ['console/src/hooks/use-media.ts']],
  ['an object that a request creates or changes', /\.warnOfBinding\(/, ['src/handlers/write/write-parts.ts']],
  ['what a token depends on', /\bdependenciesOf\(/, ['src/tokens/verifier.ts']],
  ['the values that a flag may have stand in its row of the table', /--[a-z-]+: .*must be one of/, []],
  ['when a token is replaced', /\b(?:MARGIN|REFRESH)\w*_(?:SHARE|REMAINING)\b/, ['src/client/token-source.ts']],
  [
    'an object without the members that are undefined',
    /\b(?:const|function) (?:defined|\w*[wW]ithoutUndefined)\b/,
    ['src/lib/json.ts'],
  ],
  [
    'a form of the console shows at its fields what the server says; the others are a search and the sign-in',
    /<form\b/,
    ['console/src/components/form.tsx', 'console/src/fleet/filter-bar.tsx', 'console/src/session/sign-in-page.tsx'],
  ],
  [
    'an answer of the server loads, fails or is there',
    /status === 'loading'\) return <p/,
    [
      'console/src/access/grant-effect.tsx',
      'console/src/components/loaded.tsx',
      'console/src/grants/grant-changes.tsx',
    ],
  ],
  ['command lines are parsed', /\bparseArgs\b/, ['src/cli/command-line.ts']],
  ['the clusters that a command is about', /\bnearestCluster\(/, ['src/cli/select-clusters.ts']],
  ['a context of a login', /\bloginPlugin\(/, ['src/cli/kubeconfig/wanted-contexts.ts']],
  ['a folder for the secrets of one run', /\bmkdtemp\(/, ['src/cli/files/files.ts']],
  [
    'the TLS settings of requests of the command line',
    /\bcreateNodeFetch\(/,
    ['src/cli/connection/fetch-for.ts', 'src/client/node.ts'],
  ],
  [
    'HTTP requests of clients, the command line among them',
    /getBuiltinModule\([^)]*'node:https'/,
    ['src/client/node.ts'],
  ],
  [
    'HTTP requests by undici: to clusters, of documents of a provider, of spans and of notifications',
    /from 'undici'|import\('undici'\)/,
    [
      'src/authn/jwt/fetch-document.ts',
      'src/clusters/upstream/connections.ts',
      'src/http/records/tracing/tracer.ts',
      'src/notify/send.ts',
    ],
  ],
];

describe('one mechanism for each idea', () => {
  const sources = new Map<string, string>();

  beforeAll(async () => {
    for await (const file of glob(['src/**/*.ts', 'console/src/**/*.{ts,tsx}'], { cwd: ROOT })) {
      if (!IS_TEST.test(file)) sources.set(file, await readFile(join(ROOT, file), 'utf8'));
    }
    expect(sources.size).toBeGreaterThan(500);
  });

  it.each(MECHANISMS)('%s', (_, pattern, files) => {
    const found = [...sources].filter(([, text]) => pattern.test(text)).map(([file]) => file);
    expect(found.toSorted()).toEqual([...files].toSorted());
  });
});
