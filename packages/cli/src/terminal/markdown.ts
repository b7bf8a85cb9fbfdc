import { stripVTControlCharacters } from "node:util";
import { Markdown, type MarkdownTheme, setCapabilities } from "@earendil-works/pi-tui";
import { PLAIN_STYLE, prose, type Style } from "./text.ts";

/** A longer part is closed at a line or a space, so that each renders fast. */
const LONGEST = 8_000;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/**
 * How much of a growing Markdown text cannot change any more: up to the last empty line outside of fenced code. Of code
 * and paragraphs that are too long, what is before the last line break or space.
 */
export function closedPart(text: string): number {
  let fence: string | undefined;
  let end = 0;
  let at = 0;
  for (const line of text.split("\n")) {
    const next = at + line.length + 1;
    const mark = FENCE.exec(line)?.[1];
    if (fence === undefined && mark !== undefined) fence = mark;
    else if (fence !== undefined && mark?.startsWith(fence) && line.trim() === mark) {
      fence = undefined;
      if (next <= text.length) end = next;
    } else if (fence === undefined && line.trim() === "" && next <= text.length) end = next;
    at = next;
  }
  if (text.length - end <= LONGEST) return end;
  const cut = Math.max(text.lastIndexOf("\n"), text.lastIndexOf(" "));
  return cut > end ? cut + 1 : text.length;
}

function themeOf(style: Style): MarkdownTheme {
  const { dim, strong, emphasis, accent } = style;
  const same = (text: string) => text;
  return {
    ...{ heading: strong, bold: strong, italic: emphasis, underline: same, strikethrough: dim },
    ...{ link: accent, linkUrl: dim, code: accent, codeBlock: same, codeBlockBorder: dim },
    ...{ quote: emphasis, quoteBorder: dim, hr: dim, listBullet: accent },
  };
}

/** Renders the Markdown of an agent in lines of a width. */
export function markdownLines(text: string, width: number, style: Style): string[] {
  // A link shows its address, and nothing is drawn: both would be escape sequences with content of the agent.
  setCapabilities({ images: null, hyperlinks: false, trueColor: false });
  const options = { preserveOrderedListMarkers: true, renderLatex: false };
  const markdown = new Markdown(prose(text).trim(), 0, 0, themeOf(style), undefined, options);
  const lines = markdown.render(Math.max(width, 1));
  return lines.map((line) => trimmed(style === PLAIN_STYLE ? stripVTControlCharacters(line) : line));
}

/** Without the spaces that fill a line, also before codes that end its look. */
function trimmed(line: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these begin the codes.
  return line.replace(/[ ]+((?:\u001b\[[\d;]*m)*)$/, "$1");
}
