import { resolve } from "node:path";
import { CliError } from "../../../errors.ts";
import { type CredentialFlags, type NamedTarget, stdioTarget, urlTarget } from "../target.ts";

/** The flags of `reins ahp conformance` as they were written. */
export interface ConformanceFlags extends CredentialFlags {
  readonly verbose?: boolean;
  readonly essential?: boolean;
  readonly waitMs?: string;
  readonly json?: boolean;
}

/** The harness that the arguments name. */
export function examinedTarget(transport: string, words: readonly string[]): NamedTarget {
  if (transport === "stdio") return stdioTarget(words);
  const [place, ...rest] = words;
  if (place === undefined || rest.length > 0) {
    throw new CliError(`"${words.join(" ")}" is not one place.`, { next: "Give one address or one path." });
  }
  switch (transport) {
    case "http":
      return urlTarget("http", place);
    case "ws":
      return urlTarget("websocket", place);
    case "unix":
      return { transport: "unix", path: resolve(place) };
    default:
      throw new CliError(`"${transport}" is no transport.`, { next: "Use one of: stdio, http, ws, unix." });
  }
}
