import { ledgerOperations } from "@reins/api";
import type { Progress } from "@reins/verify";
import { useCallback, useEffect, useRef, useState } from "react";
import { keptCheckpoint } from "../../proof/kept-checkpoint.ts";
import { verify } from "../../proof/verify.ts";
import type { VerifyReport } from "../../proof/verify-job.ts";

/** How a check of the whole ledger stands. */
export type LedgerCheck =
  | { readonly kind: "none" }
  | { readonly kind: "running"; readonly progress?: Progress }
  | { readonly kind: "done"; readonly report: VerifyReport }
  | { readonly kind: "failed"; readonly error: unknown };

/** Checks the whole ledger in the page, entry by entry, against the key and the checkpoint that this browser keeps. */
export function useLedgerCheck() {
  const [check, setCheck] = useState<LedgerCheck>({ kind: "none" });
  const running = useRef<AbortController>(undefined);
  const stop = useCallback(() => {
    running.current?.abort();
    setCheck({ kind: "none" });
  }, []);
  useEffect(() => () => running.current?.abort(), []);
  const start = useCallback(async () => {
    const controller = new AbortController();
    running.current = controller;
    setCheck({ kind: "running" });
    const kept = keptCheckpoint();
    try {
      const report = await verify(
        {
          kind: "ledger",
          address: ledgerOperations.exportLedger.path,
          ...(kept && { logKey: kept.logKey, seen: kept.note }),
        },
        {
          onProgress: (progress) => setCheck({ kind: "running", progress }),
          signal: controller.signal,
        },
      );
      setCheck({ kind: "done", report });
    } catch (error) {
      if (!controller.signal.aborted) setCheck({ kind: "failed", error });
    }
  }, []);
  return { check, start: () => void start(), stop };
}
