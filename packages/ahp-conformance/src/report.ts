import type { HandshakeResponse } from "@reins/ahp";
import type { Outgoing, Reply, TargetTransport } from "./channels/channel.ts";

/**
 * How binding a check is. `must`: the protocol requires it and the upstream implementation does it. `should`: good
 * behaviour that costs no peer anything. `improved`: where JSON-RPC asks for more than upstream does.
 */
export type Level = "must" | "should" | "improved";

/** Every level, the most binding first. */
export const LEVELS = ["must", "should", "improved"] as const satisfies readonly Level[];

/** The result of a check. */
export type CheckOutcome = "holds" | "fails" | "skipped";

/** One message on the wire. Long texts are cut. */
export interface ExchangeRecord {
  readonly direction: "sent" | "received";
  readonly text: string;
  /** Only for what came over HTTP. */
  readonly status?: number;
}

/** One check and its result. */
export interface CheckReport {
  /** Stable; does not change when the title does. */
  readonly id: string;
  readonly title: string;
  readonly level: Level;
  readonly outcome: CheckOutcome;
  /** Why it fails or was skipped. */
  readonly why?: string;
  /** What was sent and received; for a failure, the exchange that shows it. */
  readonly exchange: readonly ExchangeRecord[];
}

/** The checks about one part of the protocol. */
export interface SectionReport {
  readonly section: string;
  /** The part of the protocol's specification. */
  readonly reference: string;
  readonly checks: readonly CheckReport[];
}

/** The number of checks of a level by outcome. */
export type Tally = Readonly<Record<CheckOutcome, number>>;

/** The result of a run, as plain data for `JSON.stringify`. */
export interface ConformanceReport {
  /** The command, address or path. */
  readonly target: string;
  readonly transport: TargetTransport;
  /** The harness's handshake; absent when it answered none. */
  readonly harness?: HandshakeResponse;
  readonly sections: readonly SectionReport[];
  readonly totals: Readonly<Record<Level, Tally>>;
  /** Whether every `must` that could be checked holds, and at least one could. */
  readonly conforms: boolean;
}

/** Counts the checks of all sections by level and outcome. */
export function countChecks(sections: readonly SectionReport[]): ConformanceReport["totals"] {
  const checks = sections.flatMap((section) => section.checks);
  const count = (level: Level, outcome: CheckOutcome) =>
    checks.filter((check) => check.level === level && check.outcome === outcome).length;
  const tally = (level: Level): Tally => ({
    holds: count(level, "holds"),
    fails: count(level, "fails"),
    skipped: count(level, "skipped"),
  });
  return { must: tally("must"), should: tally("should"), improved: tally("improved") };
}

const MAX_TEXT = 2000;
const MAX_RECORDS = 80;

/** A message of the harness, and the message that it answers. */
export interface Witnessed {
  readonly sent: string;
  readonly text: string;
  readonly status: number | undefined;
}

/** Records messages: by check for the report, and in total for checks of the whole run. */
export class Transcript {
  /** Every message of the harness. */
  readonly witnessed: Witnessed[] = [];
  #records: ExchangeRecord[] = [];

  /** Begins a check. */
  start(): void {
    this.#records = [];
  }

  /** The messages of the check so far. */
  records(): readonly ExchangeRecord[] {
    return [...this.#records];
  }

  /** Makes an exchange that is no part of the check, unless it fails. */
  async aside<Value>(run: () => Promise<Value>): Promise<Value> {
    const records = this.#records;
    this.#records = [...records];
    const value = await run();
    this.#records = records;
    return value;
  }

  sent(message: Outgoing): void {
    this.#add({ direction: "sent", text: cut(textOf(message)) });
  }

  received(sent: Outgoing, reply: Reply): void {
    const { text, status, ended } = reply;
    const shown = { direction: "received", ...(status !== undefined && { status }) } as const;
    if (text !== undefined) this.#add({ ...shown, text: cut(text) });
    if (ended !== undefined) this.#add({ ...shown, text: `(${ended})` });
    if (text !== undefined && isMessage(reply))
      this.witnessed.push({ sent: cut(textOf(sent)), text, status });
  }

  #add(record: ExchangeRecord): void {
    if (this.#records.length < MAX_RECORDS) this.#records.push(record);
  }
}

/** A message as text; pieces are joined. */
export function textOf(message: Outgoing): string {
  if (typeof message === "string") return message;
  return (Buffer.isBuffer(message) ? message : Buffer.concat(message)).toString("utf8");
}

/** The beginning of a long text, and how long it is. */
export function cut(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}… (${text.length} characters)`;
}

/** Over HTTP some responses are not JSON. */
function isMessage({ status, headers }: Reply): boolean {
  if (status === undefined) return true;
  return status === 200 && /\bjson\b/.test(headers?.["content-type"] ?? "");
}
