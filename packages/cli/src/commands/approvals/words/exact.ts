import { visible } from "@reins/supervisor/visible";

const PLAIN = /^[\w@%+=:,./~^#-]+$/;
const PLAIN_WORDS = /^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/;

/** Text of somebody else's within a line: as it is where nothing about it could mislead, else quoted, all of it visible. */
export function exact(text: string): string {
  return PLAIN.test(text) ? text : visible(text);
}

/** A sentence, which stands for itself at the end of a line: quoted only where something in it is hidden. */
export function exactWords(text: string): string {
  return PLAIN_WORDS.test(text) ? text : visible(text);
}

/** The lines of a text, each with everything visible that is hidden in it. What ends a line stays apart. */
export function exactLines(text: string): string[] {
  return text.split("\n").map((line) =>
    // Inside of a quoted text only quotes and backslashes are written other than they are, beside what is hidden.
    visible(line)
      .slice(1, -1)
      .replace(/\\(["\\])/g, "$1"),
  );
}
