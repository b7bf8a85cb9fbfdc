import { useQuery } from "@tanstack/react-query";
import { compareWithKept } from "./compare.ts";

/** How often the ledger is compared while the page is open. */
const EVERY_MS = 60_000;

/** The ledger held against what this browser saw before: when the page opens, when it is looked at again, and every minute. */
export function useComparison() {
  return useQuery({
    queryKey: ["comparison"],
    queryFn: ({ signal }) => compareWithKept(signal),
    refetchInterval: EVERY_MS,
    refetchOnReconnect: "always",
    refetchOnWindowFocus: "always",
  });
}
