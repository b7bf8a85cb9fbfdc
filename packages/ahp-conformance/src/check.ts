import type { TargetTransport } from "./channels/channel.ts";
import type { HarnessResponse } from "./expect.ts";
import type { Probe } from "./probe.ts";
import type { ExchangeRecord, Level } from "./report.ts";

/** One requirement that a harness meets or not. */
export interface Check {
  /** Stable kebab-case name. */
  readonly id: string;
  /** The requirement in words. */
  readonly title: string;
  readonly level: Level;
  /** The transports that it applies to; by default all. */
  readonly transports?: readonly TargetTransport[];
  /** Whether it examines the transcript of the run, and therefore runs last. */
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

/** An unmet expectation of a check. */
export class Unmet extends Error {
  override readonly name = "Unmet";
  /** The exchange that shows it; by default all messages of the check. */
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

/** Why a check does not apply to this harness. */
export class Inapplicable extends Error {
  override readonly name = "Inapplicable";
}

/** A name of the protocol as part of the id of a check. */
export function kebab(name: string): string {
  return name.replaceAll("_", "-");
}
