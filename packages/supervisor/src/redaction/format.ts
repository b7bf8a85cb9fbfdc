import type { CharacterSet } from "./notation.ts";

/** Replaces a secret. */
export const MARK = "[redacted]";

/** What to see of the text before a trigger, and after it: a format may look no further. */
export const CONTEXT = 32;

/** What a format makes of the text after one of its triggers. */
export type Reading =
  /** Not a secret, whatever follows. */
  | { readonly is: "no" }
  /** It depends on what follows. The secret, if it is one, begins at `from`; at a pause it is better hidden from `hide` on. */
  | { readonly is: "open"; readonly from?: number | undefined; readonly hide?: number | undefined }
  /** A secret. Beyond `to` it goes on as its rest does. */
  | { readonly is: "secret"; readonly from: number; readonly to: number; readonly rest?: Rest | undefined };

/** Not a secret. */
export const NO: Reading = { is: "no" };

/** Not yet known, and nothing secret so far. */
export const OPEN: Reading = { is: "open" };

/** How a secret goes on when it is already known to be one: a question to each character, whatever came before. */
export interface Rest {
  /** Whether at a pause it hides what may belong to it. */
  readonly hidesUnknown?: boolean;
  /** Whether the character at an index belongs to it; `undefined` when that depends on text still to come. */
  goesOn(text: string, index: number, final: boolean): boolean | undefined;
}

/** A word that a format begins with: for each place the UTF-16 codes that may be there. */
export type Trigger = readonly (readonly number[])[];

/** A form in which secrets are written. */
export interface Format {
  readonly name: string;
  readonly triggers: readonly Trigger[];
  /** Whether a trigger is itself a part of the secret and has to be hidden with it. */
  readonly hidesTrigger?: boolean;
  /** No trigger counts right after one of these. */
  readonly notAfter?: CharacterSet;
  /** A trigger counts only right after one of these. */
  readonly onlyAfter?: CharacterSet;
  /** How many characters after the trigger it looks at, at most, to know whether there is a secret. */
  readonly reach: number;
  /** Reads the text around a trigger, which begins at `start` and ends before `at`. `final` says that no text follows. */
  read(text: string, start: number, at: number, final: boolean): Reading;
}

/** The trigger that a word makes; optionally in any case. */
export function triggerOf(word: string, anyCase = false): Trigger {
  return Array.from({ length: word.length }, (_, index) => {
    const one = word.charAt(index);
    const spellings = anyCase ? new Set([one.toLowerCase(), one.toUpperCase()]) : [one];
    return Array.from(spellings, (spelling) => spelling.charCodeAt(0));
  });
}
