import { getHeapStatistics } from 'node:v8';

/**
 * How large V8 lets the young generation grow, three times over: 8 MB in place of 16. A server that has once been busy
 * keeps it, and needs no more: with 10,000 clusters that is 40 MB of 270.
 */
const YOUNG_GENERATION = '--max-semi-space-size=8';

/**
 * The largest heap, in megabytes. Below 2 GB, V8 starts a full collection when the heap has doubled at the latest; from
 * there on it waits until the heap is four times as large. See docs/adr/0044-a-heap-below-two-gigabytes.md.
 */
const LARGEST_HEAP = 1_500;

/**
 * The options of Node with which a server is started. V8 reads them when it starts, so a program cannot set them for
 * itself. An operator's own settings are left as they are, and so is a smaller heap, which V8 derives from the memory
 * of the machine or the container.
 * @param {readonly string[]} args of the program
 * @param {{ execArgv?: readonly string[], env?: NodeJS.ProcessEnv, heapLimit?: number }} [given] heapLimit in bytes
 * @returns {string[]}
 */
export function startFlags(
  args,
  { execArgv = process.execArgv, env = process.env, heapLimit = getHeapStatistics().heap_size_limit } = {},
) {
  if (!args.includes('serve')) return [];
  /** @param {RegExp} option */
  const isSet = (option) => [...execArgv, env.NODE_OPTIONS ?? ''].some((text) => option.test(text));
  return [
    ...(isSet(/semi[-_]space/) ? [] : [YOUNG_GENERATION]),
    ...(isSet(/old[-_]space/) || heapLimit <= LARGEST_HEAP * 1024 * 1024
      ? []
      : [`--max-old-space-size=${LARGEST_HEAP}`]),
  ];
}
