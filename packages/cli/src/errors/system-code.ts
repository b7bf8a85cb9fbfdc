/** The operating system's code (`EADDRINUSE`, `EACCES`) of an error or of whatever caused it. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if ("code" in error && typeof error.code === "string" && /^E[A-Z0-9]+$/.test(error.code)) return error.code;
  return systemCode(error.cause);
}

/** Whether an error says that something is not there, or lies below what is no folder. */
export function isNotThere(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR"].includes(systemCode(error) ?? "");
}
