import type { Report } from "../report/report.ts";
import type { SignatureChecker } from "../signature/checker.ts";
import { VerifyError } from "../verify-error.ts";
import { verifyFile } from "../verify-file.ts";
import type { SourceOptions } from "./source-options.ts";

/** Verifies what a server sends. */
export async function verifyUrl(
  url: string,
  options: SourceOptions,
  signatures: SignatureChecker,
): Promise<Report> {
  const { body, ok, status } = await request(url, options);
  if (ok && body !== null) return verifyFile(body, { ...options, signatures });
  await body?.cancel();
  throw new VerifyError("refused", `The server answered ${status}. ${advice(status)}`, {
    retryable: status >= 500 || status === 429,
  });
}

async function request(url: string, { token, signal }: SourceOptions): Promise<Response> {
  try {
    return await fetch(url, {
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      signal: signal ?? null,
    });
  } catch (cause) {
    signal?.throwIfAborted();
    const message = `${new URL(url).origin} cannot be reached.`;
    throw new VerifyError("unreachable", message, { retryable: true, cause });
  }
}

function advice(status: number): string {
  if (status === 401 || status === 403) return "Give a token that may read the ledger.";
  return status === 404 ? "Check the address." : "Try again later.";
}
