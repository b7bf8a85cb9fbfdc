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

const INSECURE =
  "This browser gives pages that came over plain HTTP from another machine nothing to check signatures with. Serve Reins with a certificate, or open it on the machine itself.";

/** Has something checked in a thread of its own, which ends with the check. */
export function verify(
  job: VerifyJob,
  { onProgress, signal }: { onProgress?: (progress: Progress) => void; signal?: AbortSignal } = {},
): Promise<VerifyReport> {
  if (!window.isSecureContext) return Promise.reject(new Error(INSECURE));
  const worker = new Worker(new URL("./verify-worker.ts", import.meta.url), { type: "module" });
  return new Promise<VerifyReport>((resolve, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    worker.onerror = ({ message }) => reject(new Error(`The checker could not start: ${message}`));
    worker.onmessage = ({ data }: MessageEvent<VerifyNews>) => {
      if (data.kind === "progress") onProgress?.(data.progress);
      else if (data.kind === "done") resolve(data.report);
      else reject(new Error(data.message));
    };
    worker.postMessage(job);
  }).finally(() => worker.terminate());
}
