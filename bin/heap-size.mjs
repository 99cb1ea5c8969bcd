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
 *
 * The same then goes for what hangs on the heap and lies outside of it, above all what TLS keeps for each connection: 50 KB, and
 * once a burst of events has gone through it 200. By itself V8 counts all of its growth against the heap alone, and goes through
 * everything two or three times while 500 watchers are told of a burst.
 */
const GROWTH = ['--heap-growing-percent=100', '--external-memory-accounted-in-global-limit'];

/** From this one on V8 lets what is outside grow by a third at most, unless it is told. */
const CAPPED_SINCE = 14;
const OUTSIDE = '--external-memory-max-growing-factor=2';

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
 * Not some of those flags: Node documents them nowhere, and one that no longer knew them would not start at all. This way
 * it would say so and go on.
 * @param {readonly string[]} args of the program
 * @param {{ execArgv?: readonly string[], v8?: string, setFlag?: (flag: string) => void }} [seams]
 */
export function boundGarbage(args, seams = {}) {
  const { execArgv = process.execArgv, v8 = process.versions.v8, setFlag = setFlagsFromString } = seams;
  const said = execArgv.some((text) => /heap[-_]growing|external[-_]memory/.test(text));
  if (!args.includes('serve') || said) return;
  for (const flag of GROWTH) setFlag(flag);
  if (Number.parseInt(v8, 10) >= CAPPED_SINCE) setFlag(OUTSIDE);
}
