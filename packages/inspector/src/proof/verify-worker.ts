import { type Progress, verifyConsistency, verifyFile, verifyProof } from "@reins/verify";
import type { VerifyJob, VerifyMessage, VerifyReport } from "./verify.ts";

/**
 * Runs one verification in a worker: a long ledger would block the page, and on a page the hash function tries to
 * compile WebAssembly, which the content security policy blocks with an error.
 */
self.onmessage = async ({ data }: MessageEvent<VerifyJob>) => {
  try {
    post({ kind: "done", report: await verify(data) });
  } catch (error) {
    post({ kind: "failed", message: error instanceof Error ? error.message : String(error) });
  }
};

function verify(job: VerifyJob): Promise<VerifyReport> {
  if (job.kind === "proof") return verifyProof(job.file, { logKey: job.logKey });
  if (job.kind === "consistency") return verifyConsistency(job.claim);
  return verifyLedger(job);
}

async function verifyLedger({
  address,
  logKey,
  seen,
}: VerifyJob & { kind: "ledger" }): Promise<VerifyReport> {
  const { ok, status, body } = await fetch(address, { credentials: "same-origin" });
  if (!ok || body === null) throw new Error(`The server did not return the ledger: status ${status}.`);
  const onProgress = (progress: Progress) => post({ kind: "progress", progress });
  return verifyFile(chunksOf(body), { logKey, seen, onProgress });
}

async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

function post(message: VerifyMessage): void {
  self.postMessage(message);
}
