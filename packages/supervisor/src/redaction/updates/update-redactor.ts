import type { Clock } from "@reins/kit";
import type { RedactingStream } from "../redacting-stream.ts";
import type { Ending, Redactor } from "../redactor.ts";
import { type Piece, pieceOf } from "./piece.ts";
import { membersOf, type Update } from "./update.ts";

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
  #callOff: (() => void) | undefined;

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
    this.#callOff = this.#clock.after(LATE_MS, () => {
      const late = this.flush();
      if (late.length > 0) this.#onLate(late);
    });
  }

  #rest(): void {
    this.#callOff?.();
    this.#callOff = undefined;
    this.#holding = undefined;
  }
}

/** What is told of a tool call that goes on may be cut anywhere. */
function endingOf({ sessionUpdate, status }: Update): Ending {
  const isCall = sessionUpdate === "tool_call" || sessionUpdate === "tool_call_update";
  return isCall && status !== "completed" && status !== "failed" ? "cut" : "end";
}
