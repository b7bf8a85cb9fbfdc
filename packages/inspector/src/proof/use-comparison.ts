import { useQuery } from "@tanstack/react-query";
import { compareWithKept } from "./compare.ts";

/** How often the ledger is compared while the page is open. */
const EVERY_MS = 60_000;

/** Where the comparison is kept. */
export const COMPARISON = ["comparison"] as const;

/** The ledger held against what this browser saw before: when the page opens, when it is looked at again, and every minute. */
export function useComparison() {
  return useQuery({
    queryKey: COMPARISON,
    queryFn: ({ signal }) => compareWithKept(signal),
    refetchInterval: EVERY_MS,
    refetchOnReconnect: "always",
    refetchOnWindowFocus: "always",
  });
}
