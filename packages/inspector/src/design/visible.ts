import { HIDDEN } from "@reins/api";

/** Text with hidden characters written out, so that it reads as it will be taken; lines and tabs stay. */
export function visible(text: string): string {
  return text.replaceAll(HIDDEN, (one) => (one === "\n" || one === "\t" ? one : `⟨U+${codeOf(one)}⟩`));
}

function codeOf(one: string): string {
  return (one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
}
