import { ModelError } from "./model-error.ts";

/** As much as the arguments of one call may hold. */
const MAX_ARGUMENTS = 1 << 20;

/** The arguments of a call, as they come in. */
export class CallArguments {
  #pieces: string[] = [];
  #length = 0;

  /** Adds a piece. A call that never ends is no call. */
  add(piece: string): void {
    this.#length += piece.length;
    if (this.#length > MAX_ARGUMENTS)
      throw new ModelError("too_long", `the model called a tool with more than ${MAX_ARGUMENTS} characters`);
    this.#pieces.push(piece);
  }

  /** All of it. */
  toString(): string {
    this.#pieces = [this.#pieces.join("")];
    return this.#pieces[0] ?? "";
  }
}
