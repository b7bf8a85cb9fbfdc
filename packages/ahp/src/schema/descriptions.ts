import { readdirSync, readFileSync } from "node:fs";

const folder = new URL("../protocol/", import.meta.url);

/** What the sources say above each exported schema; the published schemas say the same. */
export function readDescriptions(): Map<string, string> {
  const descriptions = new Map<string, string>();
  for (const file of readdirSync(folder)) {
    const source = readFileSync(new URL(file, folder), "utf8");
    for (const [, comment, name] of source.matchAll(/\/\*\*((?:(?!\*\/).)*)\*\/\nexport const (\w+) =/gs)) {
      if (comment !== undefined && name !== undefined) descriptions.set(name, plain(comment));
    }
  }
  return descriptions;
}

function plain(comment: string): string {
  return comment.replaceAll(/\s*\n\s*\*\s*/g, " ").trim();
}
