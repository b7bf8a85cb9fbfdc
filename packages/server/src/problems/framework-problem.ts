import { codeOfStatus, type ProblemCode } from "@reins/api";
import { Refusal } from "./refusal.ts";

/** What whoever asked is told about a request that the framework would not take. */
const DETAILS: Readonly<Partial<Record<ProblemCode, string>>> = {
  invalid: "the request cannot be read",
  not_found: "there is nothing here",
  too_large: "the body is too large",
  too_long: "a part of the address is too long",
  unsupported_media_type: "bodies are sent as application/json",
  timeout: "the request took too long to arrive",
  headers_too_large: "the headers are too large",
  internal: "this is a fault of the server; its log says more",
  unavailable: "the answer took too long; try again",
};

/** The refusal that an error of the framework stands for; `undefined` if it is none of those, and so a fault of ours. */
export function frameworkRefusal(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error;
  if (!(error instanceof Error)) return undefined;
  const status = "statusCode" in error && typeof error.statusCode === "number" ? error.statusCode : 500;
  const code = "code" in error ? String(error.code) : "";
  if (status === 500 || (status > 500 && !code.startsWith("FST_ERR_"))) return undefined;
  return refusalOf(codeOfStatus(status), error);
}

/** A refusal of a kind, in words that fit any request. */
export function refusalOf(code: ProblemCode, cause?: unknown): Refusal {
  return new Refusal(code, DETAILS[code] ?? "the request was refused", { cause });
}
