/** How property tests run: the same values every time. fast-check prints seed and path of a failure. */
export const PROPERTY = { seed: 20_260_204, numRuns: 200 } as const;
