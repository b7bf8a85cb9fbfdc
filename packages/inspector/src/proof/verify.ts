import type { ConsistencyClaim, Progress, Report } from "@reins/verify";

/** A verification job: a proof file, the consistency of two checkpoints, or a whole ledger. */
export type VerifyJob =
  | { readonly kind: "proof"; readonly file: string; readonly logKey?: string | undefined }
  | { readonly kind: "consistency"; readonly claim: ConsistencyClaim }
  | { readonly kind: "ledger"; readonly address: string; readonly logKey?: string; readonly seen?: string };

/** A message of the worker. */
export type VerifyMessage =
  | { readonly kind: "progress"; readonly progress: Progress }
  | { readonly kind: "done"; readonly report: VerifyReport }
  | { readonly kind: "failed"; readonly message: string };

/** A report; a consistency check has `ok` and `faults` only. */
export type VerifyReport = Pick<Report, "ok" | "faults"> & Partial<Report>;

const INSECURE =
  "Browsers offer no cryptography to pages from another machine over plain HTTP, so signatures cannot be verified here. Serve Reins with a certificate, or open it on the machine itself.";

/** Runs a verification in a worker, which ends with it. */
export function verify(
  job: VerifyJob,
  { onProgress, signal }: { onProgress?: (progress: Progress) => void; signal?: AbortSignal } = {},
): Promise<VerifyReport> {
  if (!window.isSecureContext) return Promise.reject(new Error(INSECURE));
  const worker = new Worker(new URL("./verify-worker.ts", import.meta.url), { type: "module" });
  return new Promise<VerifyReport>((resolve, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    worker.onerror = ({ message }) => reject(new Error(`The checker could not start: ${message}`));
    worker.onmessage = ({ data }: MessageEvent<VerifyMessage>) => {
      if (data.kind === "progress") onProgress?.(data.progress);
      else if (data.kind === "done") resolve(data.report);
      else reject(new Error(data.message));
    };
    worker.postMessage(job);
  }).finally(() => worker.terminate());
}
