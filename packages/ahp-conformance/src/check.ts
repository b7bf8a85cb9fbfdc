import type { TargetTransport } from "./channels/channel.ts";
import type { HarnessResponse } from "./expect.ts";
import type { Probe } from "./probe.ts";
import type { ExchangeRecord, Level } from "./report.ts";

/** One thing that holds of a harness or does not. */
export interface Check {
  /** Stable kebab-case name. */
  readonly id: string;
  /** What holds, in words, when it does. */
  readonly title: string;
  readonly level: Level;
  /** Where it makes sense; by default everywhere. */
  readonly transports?: readonly TargetTransport[];
  /** Looks back on everything that was said, and therefore runs last. */
  readonly looksBack?: boolean;
  /** Without it nothing else can be examined. */
  readonly essential?: boolean;
  /** Resolves when it holds, throws {@link Unmet} when it does not and {@link Inapplicable} when it cannot be checked. */
  readonly run: (probe: Probe) => Promise<void>;
}

/** The checks about one part of the protocol. */
export interface Section {
  readonly section: string;
  readonly reference: string;
  readonly checks: readonly Check[];
}

type Run = Check["run"];
type Conditions = Pick<Check, "transports" | "looksBack" | "essential">;

/** A check of what the protocol says and upstream does. */
export function must(id: string, title: string, run: Run, conditions: Conditions = {}): Check {
  return { id, title, level: "must", ...conditions, run };
}

/** A check of good behaviour that costs no peer anything. */
export function should(id: string, title: string, run: Run, conditions: Conditions = {}): Check {
  return { id, title, level: "should", ...conditions, run };
}

/** A check of what JSON-RPC asks for beyond upstream. */
export function improved(id: string, title: string, run: Run, conditions: Conditions = {}): Check {
  return { id, title, level: "improved", ...conditions, run };
}

/** What a check expects and does not find. */
export class Unmet extends Error {
  override readonly name = "Unmet";
  /** The exchange that shows it; by default everything the check said and heard. */
  readonly evidence: readonly ExchangeRecord[] | undefined;

  constructor(why: string, shownBy?: Pick<HarnessResponse, "sent" | "text" | "status">) {
    super(why);
    this.evidence = shownBy && [
      { direction: "sent", text: shownBy.sent },
      {
        direction: "received",
        text: shownBy.text,
        ...(shownBy.status !== undefined && { status: shownBy.status }),
      },
    ];
  }
}

/** Why a check cannot be made on this harness. */
export class Inapplicable extends Error {
  override readonly name = "Inapplicable";
}

/** A name of the protocol as part of the id of a check. */
export function kebab(name: string): string {
  return name.replaceAll("_", "-");
}
