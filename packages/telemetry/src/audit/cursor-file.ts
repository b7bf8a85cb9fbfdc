import { readJsonFile, replaceFile } from "@reins/kit";
import { z } from "zod";
import { type AuditCursor, cursorText, readCursor } from "./records.ts";

const Cursor = z.string().transform((text, context): AuditCursor => {
  const cursor = readCursor(text);
  if (cursor) return cursor;
  context.addIssue({ code: "custom", message: "is no cursor" });
  return z.NEVER;
});

/** What is stored of an export. */
const State = z.object({
  /** After the newest records that arrived, the newest last. Earlier ones count where the ledger lost the newest. */
  marks: z.array(Cursor),
  /** When the newest arrived. */
  at: z.string().optional(),
  /** Why the export stands still. */
  failure: z.object({ since: z.string(), error: z.string() }).optional(),
});
export type ExportState = z.output<typeof State>;

const MOST_MARKS = 32;

/** The durable place of an export, and how it fares. */
export class CursorFile {
  readonly path: string;
  #state: ExportState = { marks: [] };

  constructor(path: string) {
    this.path = path;
  }

  get state(): ExportState {
    return this.#state;
  }

  async load(): Promise<ExportState> {
    this.#state = (await readJsonFile(this.path, State)) ?? { marks: [] };
    return this.#state;
  }

  /** Stores that everything up to a cursor has arrived. */
  async arrived(cursor: AuditCursor, at: Date): Promise<void> {
    await this.#store({ marks: [...this.#state.marks, cursor].slice(-MOST_MARKS), at: at.toISOString() });
  }

  /** Forgets the marks after a cursor, which the ledger does not have. */
  async resume(cursor: AuditCursor): Promise<void> {
    const marks = this.#state.marks.filter(({ seq }) => seq <= cursor.seq);
    if (marks.length < this.#state.marks.length) await this.#store({ ...this.#state, marks });
  }

  async failed(error: string, at: Date): Promise<void> {
    const { failure, ...rest } = this.#state;
    await this.#store({ ...rest, failure: { since: failure?.since ?? at.toISOString(), error } });
  }

  async #store(state: ExportState): Promise<void> {
    this.#state = state;
    await replaceFile(
      this.path,
      `${JSON.stringify({ ...state, marks: state.marks.map(cursorText) }, undefined, 2)}\n`,
    );
  }
}
