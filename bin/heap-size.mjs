/**
 * Of a server: how large V8 lets the young generation grow, three times over: 8 MB in place of 16. A server that has
 * once been busy keeps it, and needs no more: with 10,000 clusters that is 40 MB of 270. Of a connector, which waits:
 * without V8's compilers, with the smallest heap, it takes about 64 MB in place of 84.
 */
const FLAGS = new Map([
  ['serve', ['--max-semi-space-size=8']],
  ['connector', ['--max-semi-space-size=1', '--optimize-for-size', '--no-opt', '--no-maglev', '--no-sparkplug']],
]);

/**
 * The options of Node with which the program is started. V8 reads them when it starts, so a program cannot set them for
 * itself. An operator's own setting is left as it is.
 * @param {readonly string[]} args of the program
 * @param {{ execArgv?: readonly string[], env?: NodeJS.ProcessEnv }} [given]
 * @returns {string[]}
 */
export function startFlags(args, { execArgv = process.execArgv, env = process.env } = {}) {
  const isSet = [...execArgv, env.NODE_OPTIONS ?? ''].some((text) => /semi[-_]space/.test(text));
  return (isSet ? undefined : FLAGS.get(args.find((arg) => FLAGS.has(arg)) ?? '')) ?? [];
}
