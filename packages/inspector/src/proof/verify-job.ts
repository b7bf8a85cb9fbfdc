import type { ConsistencyClaim, Progress, Report } from "@reins/verify";

/** What is to be checked: a proof file, whether one checkpoint follows from another, or a whole ledger. */
export type VerifyJob =
  | { readonly kind: "proof"; readonly file: string; readonly logKey?: string | undefined }
  | { readonly kind: "consistency"; readonly claim: ConsistencyClaim }
  | { readonly kind: "ledger"; readonly address: string; readonly logKey?: string; readonly seen?: string };

/** What the checker tells while it works, and at its end. */
export type VerifyNews =
  | { readonly kind: "progress"; readonly progress: Progress }
  | { readonly kind: "done"; readonly report: VerifyReport }
  | { readonly kind: "failed"; readonly message: string };

/** What was found; the check of two checkpoints finds no more than whether they hold together. */
export type VerifyReport = Pick<Report, "ok" | "faults"> & Partial<Report>;
