/** Why a file could not be used. */
export type FileErrorCode =
  | "outside"
  | "missing"
  | "not_a_file"
  | "not_a_folder"
  | "not_text"
  | "too_large"
  | "invalid";

/** A file that cannot be used, and why; said so that a model can do something about it. */
export class FileError extends Error {
  override readonly name = "FileError";
  readonly code: FileErrorCode;

  constructor(code: FileErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The code of an error of the system, such as `ENOENT`. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
