import { visibleJson } from "@reins/kit";

/** Text on one line in which hidden characters are written out. What can be seen stays as it is. */
export function shown(text: string): string {
  return text.replace(/[^ -~]/gu, (character) => visibleJson(character).slice(1, -1));
}

/** Text of others, each line of it marked, so that none can pass for a line of ours. */
export function quoted(text: string): string {
  return text
    .split(/\r\n|\r|\n/)
    .map((line) => `> ${shown(line)}`)
    .join("\n");
}
