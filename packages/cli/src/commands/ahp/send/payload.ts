import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { parseExact } from "@reins/ahp";
import { CliError, errorMessage } from "../../../errors.ts";

/** The payload that a flag gives: JSON, `@file`, or `-` for what comes in. */
export async function readPayload(flag: string, input: NodeJS.ReadableStream): Promise<unknown> {
  const source = await sourceOf(flag, input);
  try {
    return parseExact(source);
  } catch (error) {
    throw new CliError(`The payload is not JSON: ${errorMessage(error)}`, {
      next: `Give JSON such as '{"tool_name":"bash"}', @file, or - for stdin.`,
      cause: error,
    });
  }
}

async function sourceOf(flag: string, input: NodeJS.ReadableStream): Promise<string> {
  if (flag === "-") return text(input);
  if (!flag.startsWith("@")) return flag;
  try {
    return await readFile(flag.slice(1), "utf8");
  } catch (error) {
    throw new CliError(`The payload cannot be read: ${errorMessage(error)}`, {
      next: "Check the path after the @.",
      cause: error,
    });
  }
}
