/** Whether `npm run fuzz` runs the tests. */
const isLong = Number(process.env.CLUSTERPASS_FUZZ_SECONDS ?? 0) > 0;

/** How often a property runs: few times in `npm test`, with a new seed each time, and many in `npm run fuzz`. */
export const propertyRuns = (few: number, many: number): { readonly numRuns: number } => ({
  numRuns: isLong ? many : few,
});
