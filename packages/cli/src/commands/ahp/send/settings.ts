import { resolve } from "node:path";
import { EventType } from "@reins/ahp";
import { CliError } from "../../../errors.ts";
import { homeFolder, socketIn } from "../../../home.ts";
import { type CredentialFlags, type NamedTarget, stdioTarget, urlTarget } from "../target.ts";

/** The flags of `reins ahp send` as they were written. */
export interface SendFlags extends CredentialFlags {
  readonly to?: string;
  readonly home?: string;
  readonly payload: string;
  readonly session?: string;
  readonly agent?: string;
  readonly depth: string;
  readonly timeoutMs: string;
  readonly json?: boolean;
}

/** The harness that `--to` names, or the one of the home folder. */
export function settleTarget(
  { to, home }: SendFlags,
  program: readonly string[],
  environment: NodeJS.ProcessEnv,
): NamedTarget {
  if (to === "stdio") return stdioTarget(program);
  if (program.length > 0) {
    throw new CliError(`"${program.join(" ")}" is given, but only --to stdio starts a program.`, {
      next: "Leave it out, or add --to stdio.",
    });
  }
  if (to === undefined) return { transport: "unix", path: socketIn(homeFolder(home, environment)) };
  if (/^https?:/.test(to)) return urlTarget("http", to);
  if (/^wss?:/.test(to)) return urlTarget("websocket", to);
  if (to.startsWith("unix:")) return { transport: "unix", path: resolve(to.slice("unix:".length)) };
  throw new CliError(`--to is "${to}", which names no harness.`, {
    next: "Give http://…, https://…, ws://…, wss://…, unix:<path> or stdio.",
  });
}

/** The event type of that name. */
export function readEventType(name: string): EventType {
  const type = EventType.options.find((each) => each === name);
  if (type) return type;
  throw new CliError(`"${name}" is no event of the protocol.`, {
    next: `Use one of: ${EventType.options.join(", ")}.`,
  });
}
