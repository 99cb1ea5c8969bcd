import { setFlagsFromString } from 'node:v8';

/**
 * How large V8 lets the space grow in which objects begin their lives, three times over: 8 MB in place of 16. A server
 * that has once been busy keeps that space, and needs no more of it: with 10,000 clusters it makes 40 MB of 270.
 */
const YOUNG_SPACE = '--max-semi-space-size=8';

/**
 * How much what is old may grow, in per cent of what was left of it, before it is gone through again. V8's own measure lets a
 * small heap grow to three times its size while little is allocated, and a flood of strangers' connections fills it: each of them
 * has waited, and is old when it ends. With 100 that stops at twice the size. It costs a token and a create nothing that could be
 * measured, and a burst to many watchers up to a tenth.
 */
const GROWTH = '--heap-growing-percent=100';

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
 * Not one of those flags: Node documents it nowhere, and one that no longer knew it would not start at all with it. This way
 * it would say so and go on.
 * @param {readonly string[]} args of the program
 * @param {{ execArgv?: readonly string[], setFlag?: (flag: string) => void }} [seams]
 */
export function boundGarbage(args, { execArgv = process.execArgv, setFlag = setFlagsFromString } = {}) {
  const said = execArgv.some((text) => /heap[-_]growing/.test(text));
  if (args.includes('serve') && !said) setFlag(GROWTH);
}
