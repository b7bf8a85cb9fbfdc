import type { Clock } from "@reins/kit";
import type { RedactingStream } from "./redacting-stream.ts";
import type { Ending, Redactor } from "./redactor.ts";

/** An update of a session, as the agent sent it. */
export type Update = Readonly<Record<string, unknown>>;

/** A value as an object with members; one without any if it is none. */
export function membersOf(value: unknown): Update {
  return isObject(value) ? value : {};
}

function isObject(value: unknown): value is Update {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Text is held back no longer after the last piece of it. */
const LATE_MS = 50;
/** So many texts may be under way at once; the one that rested longest is taken for ended when there are more. */
const MOST_TEXTS = 64;

/** What the redactor of a session's updates needs. */
export interface UpdateRedactorOptions {
  readonly clock: Clock;
  /** Takes what was held back when nothing follows it in time. */
  readonly onLate: (updates: readonly Update[]) => void;
}

interface Text {
  readonly of: string;
  readonly stream: RedactingStream;
  readonly alone: Piece["alone"];
  /** Whether there is nothing to hide in an update that has no more than a piece of it. */
  readonly isPlain: boolean;
}

/**
 * Redacts the updates of one session, the pieces of a text also across their borders. Whatever comes out is in the order
 * it came in: text that is held back is shown before anything that arrived after it.
 */
export class UpdateRedactor {
  readonly #redactor: Redactor;
  readonly #clock: Clock;
  readonly #onLate: UpdateRedactorOptions["onLate"];
  readonly #texts = new Map<string, Text>();
  /** The one text of which something is held back. */
  #holding: Text | undefined;
  #latest: Text | undefined;
  #cancelTimer: (() => void) | undefined;

  constructor(redactor: Redactor, { clock, onLate }: UpdateRedactorOptions) {
    this.#redactor = redactor;
    this.#clock = clock;
    this.#onLate = onLate;
  }

  /** Takes an update, and gives those that may be shown by now. */
  push(update: Update): readonly Update[] {
    const piece = pieceOf(update);
    if (!piece) return [...this.flush(), this.#whole(update, endingOf(update))];
    const text = this.#textOf(piece);
    const before = this.#holding === text ? [] : this.flush();
    const ended = this.#texts.size > MOST_TEXTS ? this.#endOldest() : [];
    const shown = this.#shown(update, piece, text);
    this.#wait(text);
    return before.length + ended.length === 0 ? shown : [...before, ...ended, ...shown];
  }

  /** Gives what is held back, since nothing has come for a while. What has begun like a secret is hidden. */
  flush(): readonly Update[] {
    const text = this.#holding;
    this.#rest();
    return text ? this.#late(text, text.stream.flush()) : [];
  }

  /** Gives what is held back, since all texts are over: a turn has ended, or the session. */
  end(): readonly Update[] {
    const texts = [...this.#texts.values()];
    this.#texts.clear();
    this.#latest = undefined;
    this.#rest();
    return texts.flatMap((text) => this.#late(text, text.stream.end()));
  }

  #textOf(piece: Piece): Text {
    if (this.#latest?.of === piece.of) return this.#latest;
    const text = this.#texts.get(piece.of) ?? this.#begin(piece);
    this.#texts.delete(piece.of);
    this.#texts.set(piece.of, text);
    this.#latest = text;
    return text;
  }

  #begin({ of, alone }: Piece): Text {
    const bare = alone("");
    return { of, stream: this.#redactor.stream(), alone, isPlain: this.#whole(bare, "end") === bare };
  }

  #endOldest(): readonly Update[] {
    for (const [of, text] of this.#texts) {
      this.#texts.delete(of);
      return this.#late(text, text.stream.end());
    }
    return [];
  }

  /** The update with what may be shown of its text; none if that is nothing, and there is nothing else. */
  #shown(update: Update, piece: Piece, { stream, isPlain }: Text): readonly Update[] {
    const text = stream.push(piece.text);
    if (text === "" && piece.text !== "" && !piece.hasMore) return [];
    if (!isPlain || piece.hasMore) {
      const bare = piece.with("");
      const rest = this.#whole(bare, endingOf(update));
      if (rest !== bare) return [pieceOf(rest)?.with(text) ?? rest];
    }
    return [text === piece.text ? update : piece.with(text)];
  }

  #late(text: Text, shown: string): readonly Update[] {
    if (shown === "") return [];
    const bare = pieceOf(this.#whole(text.alone(""), "end"));
    return bare ? [bare.with(shown)] : [];
  }

  #whole(update: Update, ending: Ending): Update {
    const shown = this.#redactor.value(update, ending);
    return shown === update ? update : membersOf(shown);
  }

  #wait(text: Text): void {
    if (this.#holding) this.#rest();
    if (text.stream.held === 0) return;
    this.#holding = text;
    this.#cancelTimer = this.#clock.after(LATE_MS, () => {
      const late = this.flush();
      if (late.length > 0) this.#onLate(late);
    });
  }

  #rest(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#holding = undefined;
  }
}

/** Updates of a running tool call may be cut anywhere. */
function endingOf({ sessionUpdate, status }: Update): Ending {
  const isCall = sessionUpdate === "tool_call" || sessionUpdate === "tool_call_update";
  return isCall && status !== "completed" && status !== "failed" ? "cut" : "end";
}

/** A piece of a text that an update carries. */
export interface Piece {
  /** Identifies the text that it belongs to. */
  readonly of: string;
  readonly text: string;
  /** Whether the update says anything besides. */
  readonly hasMore: boolean;
  /** The update with another text. */
  with(text: string): Update;
  /** An update with nothing but a text. */
  alone(text: string): Update;
}

/** The members that identify the text of a chunk. */
const IDS = ["messageId", "toolCallId", "terminalId", "compactionId", "subagentId"];
/** Where chunks without a content block have their text. */
const TEXTS = ["text", "data", "output"];

/** The piece of text that an update carries on, if it does. */
function pieceOf(update: Update): Piece | undefined {
  const kind = update.sessionUpdate;
  if (typeof kind !== "string") return undefined;
  if (kind.endsWith("_chunk")) return contentPiece(kind, update) ?? plainPiece(kind, update);
  return kind === "tool_call_update" ? terminalPiece(kind, update) : undefined;
}

/** `agent_message_chunk` and its like: a content block. */
function contentPiece(kind: string, update: Update): Piece | undefined {
  const content = membersOf(update.content);
  const { text } = content;
  if (content.type !== "text" || typeof text !== "string") return undefined;
  return {
    of: textOf(kind, update),
    text,
    hasMore: hasMore(update, 2) || Object.keys(content).length > 2,
    with: (other) => ({ ...update, content: { ...content, text: other } }),
    alone: (other) => ({ sessionUpdate: kind, ...idsOf(update), content: { type: "text", text: other } }),
  };
}

/** `terminal_output_chunk`: a member. */
function plainPiece(kind: string, update: Update): Piece | undefined {
  const member = TEXTS.find((name) => typeof update[name] === "string");
  if (member === undefined) return undefined;
  return {
    of: textOf(kind, update),
    text: String(update[member]),
    hasMore: hasMore(update, 2),
    with: (other) => ({ ...update, [member]: other }),
    alone: (other) => ({ sessionUpdate: kind, ...idsOf(update), [member]: other }),
  };
}

/** The output of a command, as agents with terminals of their own report it: in the `_meta` of a tool call. */
function terminalPiece(kind: string, update: Update): Piece | undefined {
  const meta = membersOf(update._meta);
  const output = membersOf(meta.terminal_output);
  const { terminal_id, data } = output;
  if (typeof data !== "string") return undefined;
  return {
    of: `${textOf("terminal", update)} ${String(terminal_id)}`,
    text: data,
    hasMore: hasMore(update, 2) || Object.keys(meta).length > 1 || Object.keys(output).length > 2,
    with: (other) => ({ ...update, _meta: { ...meta, terminal_output: { ...output, data: other } } }),
    alone: (other) => ({
      sessionUpdate: kind,
      ...idsOf(update),
      _meta: { terminal_output: { terminal_id, data: other } },
    }),
  };
}

function textOf(kind: string, update: Update): string {
  let of = kind;
  for (const name of IDS) if (update[name] !== undefined) of += ` ${String(update[name])}`;
  return of;
}

function hasMore(update: Update, known: number): boolean {
  let members = known;
  for (const name of IDS) if (update[name] !== undefined) members += 1;
  return Object.keys(update).length > members;
}

function idsOf(update: Update): Update {
  return Object.fromEntries(
    IDS.filter((name) => update[name] !== undefined).map((name) => [name, update[name]]),
  );
}
