/** The message of an error, or the text of any other value that was thrown. Never throws. */
export function errorMessage(error: unknown): string {
  if (error instanceof Error) return error.message;
  try {
    return String(error);
  } catch {
    return "a value without a text was thrown";
  }
}

/** The code of a system error such as `ENOENT`. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** Whether an error is a system error with one of some codes. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  const code = errorCode(error);
  return code !== undefined && codes.includes(code);
}

/** Why a text is not JSON that is accepted. The last two are faults for AHP alone. */
export type JsonFault =
  | "syntax"
  | "too_deep"
  | "too_many_members"
  | "too_many_values"
  | "duplicate_member"
  | "number_out_of_range"
  | "lone_surrogate";

/** Thrown by every reader of JSON; `fault` is for programs, `message` for people. */
export class JsonError extends Error {
  override readonly name = "JsonError";
  readonly fault: JsonFault;

  constructor(fault: JsonFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }

  /** The error of a text in which an object has a member twice. */
  static duplicate(name: string): JsonError {
    return new JsonError(
      "duplicate_member",
      `an object has the member ${JSON.stringify(name.slice(0, 80))} twice`,
    );
  }
}
