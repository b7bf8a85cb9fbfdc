import type { Outgoing, Reply } from "./channel.ts";
import type { ExchangeRecord } from "./report.ts";

const MAX_TEXT = 2000;
const MAX_RECORDS = 80;

/** Something the harness said, and what it was said in answer to. */
export interface Witnessed {
  readonly sent: string;
  readonly text: string;
  readonly status: number | undefined;
}

/** Keeps what was said and heard: by check, for the report, and as a whole, for the checks that look back. */
export class Transcript {
  /** Every message of the harness. */
  readonly witnessed: Witnessed[] = [];
  #records: ExchangeRecord[] = [];

  /** Begins a check. */
  start(): void {
    this.#records = [];
  }

  /** What the check has said and heard so far. */
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

/** Over HTTP some answers are for people. */
function isMessage({ status, headers }: Reply): boolean {
  if (status === undefined) return true;
  return status === 200 && /\bjson\b/.test(headers?.["content-type"] ?? "");
}
