import { CODE, RpcError } from "@reins/acp";
import { errorCode, errorMessage, TarError } from "@reins/kit";
import { REFUSED } from "../control/outcome.ts";

/** Why a request of a caller about files or processes failed: a problem of the API by the same code. */
export type FileFaultCode =
  | "invalid"
  | "forbidden"
  | "not_found"
  | "conflict"
  | "precondition_failed"
  | "too_large"
  | "unavailable"
  | "not_implemented";

/** A request of a caller that failed for a reason that the caller may know. */
export class FileFault extends Error {
  override readonly name = "FileFault";
  readonly code: FileFaultCode;

  constructor(code: FileFaultCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** What errors of the system mean for a caller. */
const MEANINGS: Readonly<Record<string, readonly [FileFaultCode, string]>> = {
  ENOENT: ["not_found", "is not there"],
  ENOTDIR: ["conflict", "lies in something that is no folder, or was replaced by a link"],
  ELOOP: ["conflict", "was replaced by a link"],
  EEXIST: ["conflict", "is there already"],
  EISDIR: ["conflict", "is a folder"],
  ENOTEMPTY: ["conflict", "is a folder that is not empty"],
  EXDEV: ["conflict", "lies in another file system"],
  EBUSY: ["conflict", "is in use"],
  ETXTBSY: ["conflict", "is in use"],
  EINVAL: ["invalid", "cannot be changed in that way"],
  ENAMETOOLONG: ["invalid", "has a name that is too long"],
  EACCES: ["forbidden", "may not be reached by the user that Reins runs as"],
  EPERM: ["forbidden", "may not be changed by the user that Reins runs as"],
  EROFS: ["forbidden", "lies in a file system that is read-only"],
  EFBIG: ["too_large", "would be larger than its file system or the limits of Reins's process allow"],
  ENOSPC: ["unavailable", "has no room left on its disk"],
  EDQUOT: ["unavailable", "has no room left in its quota"],
  EMFILE: ["unavailable", "cannot be opened: too many files are open"],
  ENFILE: ["unavailable", "cannot be opened: too many files are open"],
};

/** Runs an operation on a path, and names what went wrong as a caller may know it. */
export async function onPath<Result>(path: string, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    throw pathFault(path, error);
  }
}

/** An error of an operation on a path, as a caller may know it; any other error as it is. */
export function pathFault(path: string, error: unknown): unknown {
  if (error instanceof TarError)
    return new FileFault(error.fault === "malformed" ? "invalid" : "too_large", error.message, {
      cause: error,
    });
  const code = errorCode(error) ?? "";
  const meaning = Object.hasOwn(MEANINGS, code) ? MEANINGS[code] : undefined;
  return meaning ? new FileFault(meaning[0], `${path} ${meaning[1]}`, { cause: error }) : error;
}

const RPC_CODES: Readonly<Record<FileFaultCode, number>> = {
  invalid: CODE.invalidParams,
  forbidden: REFUSED,
  not_found: CODE.notFound,
  conflict: CODE.invalidParams,
  precondition_failed: CODE.invalidParams,
  too_large: CODE.invalidParams,
  unavailable: CODE.internal,
  not_implemented: CODE.methodNotFound,
};

/** A fault as an error of JSON-RPC. */
export function rpcFault(error: unknown): RpcError {
  if (!(error instanceof FileFault)) return RpcError.of(error);
  return new RpcError(RPC_CODES[error.code], errorMessage(error), { reins: { code: error.code } });
}
