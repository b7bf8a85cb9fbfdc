import type { Answer } from "../dialect/call.ts";
import { Refusal } from "../problems/refusal.ts";

const PROBLEMS: Readonly<Record<string, "invalid" | "too_large" | "conflict" | undefined>> = {
  invalid: "invalid",
  too_large: "too_large",
  full: "conflict",
  unsafe_file: "conflict",
};

/** Does something with a file that others write to as well, and tells what is wrong with it as a problem. */
export async function shared(run: () => Promise<Answer>): Promise<Answer> {
  try {
    return await run();
  } catch (error) {
    const { SharedFileError } = await import("@reins/host");
    if (!(error instanceof SharedFileError)) throw error;
    throw new Refusal(PROBLEMS[error.code] ?? "unavailable", error.message, { cause: error });
  }
}
