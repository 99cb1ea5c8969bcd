import { setFlagsFromString } from 'node:v8';

/**
 * How large V8 lets the space grow in which objects begin their lives, three times over: 8 MB in place of 16. A server
 * that has once been busy keeps that space, and needs no more of it: with 10,000 clusters it makes 40 MB of 270.
 */
const YOUNG_SPACE = '--max-semi-space-size=8';

/**
 * How much what is old may grow, in per cent of what was left of it, before it is gone through again. V8's own measure lets a
 * small heap grow to three times its size while little is allocated, and a flood of strangers' connections fills it: each of them
 * has waited, and is old when it ends. With 100 that stops at twice the size.
 */
const GROWTH = '--heap-growing-percent=100';

/**
 * What hangs on the heap and lies outside of it has a measure of its own, and may grow by half: above all what TLS keeps for
 * each connection, 50 KB, and once a burst of events has gone through it 200. By itself V8 counts all of its growth against
 * the heap, and goes through everything again and again while hundreds of watchers are told of a burst. The price is memory where
 * somebody sends many large bodies at once. Before this version of V8 its growth would have no bound of its own.
 */
const OUTSIDE = {
  flags: ['--external-memory-accounted-in-global-limit', '--external-memory-max-growing-factor=1.5'],
  sinceV8: 14,
};

/**
 * What a Node that serves is to be started with. V8 reads it when it starts, so a program can not set it for itself; and
 * whoever has said something else about it knows why.
 * @param {readonly string[]} args of the program
 * @param {{ execArgv?: readonly string[], env?: NodeJS.ProcessEnv }} [said]
 * @returns {string[]}
 */
export function startFlags(args, { execArgv = process.execArgv, env = process.env } = {}) {
  const said = [...execArgv, env.NODE_OPTIONS ?? ''].some((text) => /semi[-_]space/.test(text));
  return args.includes('serve') && !said ? [YOUNG_SPACE] : [];
}

/**
 * These are not given to Node when it starts: it documents them nowhere, and one that no longer knew them would not start at all.
 * This way it says so and goes on.
 * @param {readonly string[]} args of the program
 * @param {{ execArgv?: readonly string[], v8?: string, setFlag?: (flag: string) => void }} [seams]
 */
export function boundGarbage(args, seams = {}) {
  const { execArgv = process.execArgv, v8 = process.versions.v8, setFlag = setFlagsFromString } = seams;
  const said = execArgv.some((text) => /heap[-_]growing|external[-_]memory/.test(text));
  if (!args.includes('serve') || said) return;
  setFlag(GROWTH);
  if (Number.parseInt(v8, 10) < OUTSIDE.sinceV8) return;
  for (const flag of OUTSIDE.flags) setFlag(flag);
}
