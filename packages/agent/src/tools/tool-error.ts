/** Why a call was not made, or did not work. */
export type ToolErrorCode = "malformed" | "unknown_tool" | "not_allowed" | "outside_workspace" | "failed";

/** A call that did not work, said so that a model can do better. */
export class ToolError extends Error {
  override readonly name = "ToolError";
  readonly code: ToolErrorCode;

  constructor(code: ToolErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
