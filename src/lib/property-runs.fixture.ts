/** Whether `npm run fuzz` runs the tests. */
const isLong = Number(process.env.CLUSTERPASS_FUZZ_SECONDS ?? 0) > 0;

/** The number of runs of a property: few in `npm test`, which starts with a new seed each time, many in `npm run fuzz`. */
export const propertyRuns = (few: number, many: number): { readonly numRuns: number } => ({
  numRuns: isLong ? many : few,
});
