import type { Progress } from "@reins/verify";
import type { VerifyJob, VerifyNews, VerifyReport } from "./verify-job.ts";

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
