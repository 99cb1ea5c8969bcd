/**
 * How large V8 lets the young generation of a server grow, three times over: 8 MB in place of 16. A server that has once
 * been busy keeps it, and needs no more: with 10,000 clusters that is 40 MB of 270.
 */
const SERVER = ['--max-semi-space-size=8'];

/** A connector waits: it needs no compilers, and says when its garbage is collected. */
const LEAN = '--jitless --expose-gc --max-semi-space-size=1 --initial-old-space-size=4 --optimize-for-size'.split(' ');
/** Memory that is freed returns to the system: glibc would keep some of each thread, and all that is not at the end. */
const LEAN_MALLOC = { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '16384', MALLOC_TRIM_THRESHOLD_: '65536' };

/**
 * The options of Node and the environment of the program, which are read when it starts. An operator's own are left.
 * @param {readonly string[]} args of the program
 * @param {boolean} isConnector and nothing else
 */
export function startOptions(args, isConnector, { execArgv, env } = process) {
  const isSet = [...execArgv, env.NODE_OPTIONS ?? ''].some((text) => /semi[-_]space/.test(text));
  if (isSet) return { flags: [], env };
  if (isConnector) return { flags: LEAN, env: { ...LEAN_MALLOC, ...env } };
  return { flags: args.includes('serve') ? SERVER : [], env };
}
