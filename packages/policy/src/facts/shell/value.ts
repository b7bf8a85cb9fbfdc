import type { Search } from "../path/credentials-below.ts";

/** A word after the shell has expanded it. */
export interface Value {
  /** `null` when it is only known at run time. */
  readonly text: string | null;
  /** The glob that `text` is, quoted characters escaped. */
  readonly pattern?: string | undefined;
  /** How it starts, as far as that is known. */
  readonly start: string;
  /** Whether it may turn out to be several words, or none. */
  readonly many: boolean;
  /** Whether it stands for anything below the folder it names. */
  readonly deep?: boolean | undefined;
  /** Whether that is not everything, but what has certain names. */
  readonly some?: boolean | undefined;
  /** Where it stands for what is found below the folder: what is looked for. */
  readonly search?: Search | undefined;
  /** More paths that it may turn out to be, if they are there. */
  readonly also?: readonly string[] | undefined;
  /** Whether it is a pipe made by the shell, and no file. */
  readonly isPipe?: boolean | undefined;
}

/** A word that is known. */
export function knownValue(text: string): Value {
  return { text, start: text, many: false };
}

/** A word of which nothing is known. */
export function unknownValue(many: boolean, start = ""): Value {
  return { text: null, start, many };
}

/** Whether it is a device that one can read from without end. */
export function isEndless({ text }: Value): boolean {
  return text !== null && /^\/dev\/(?:zero|full|u?random|arandom)$/.test(text);
}
