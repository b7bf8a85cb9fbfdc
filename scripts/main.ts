/** The person asked for something that does not exist; the message says what does. */
export class UsageError extends Error {}

/** Runs a script's body. A usage error is printed in one line; anything else is a defect and keeps its stack trace. */
export async function runMain(body: () => Promise<void>): Promise<void> {
  try {
    await body();
  } catch (error) {
    if (!isUsageError(error)) throw error;
    console.error(error.message);
    process.exitCode = 64;
  }
}

function isUsageError(error: unknown): error is Error {
  if (error instanceof UsageError) return true;
  return error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
}
