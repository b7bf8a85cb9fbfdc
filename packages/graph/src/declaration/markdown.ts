/** A complete fenced block at the top level of a message. */
export interface FencedBlock {
  /** The info string behind the opening fence, trimmed. */
  readonly info: string;
  readonly content: string;
  /** The lines of the message that it takes, from its opening fence to behind its closing one. */
  readonly first: number;
  readonly end: number;
}

/** A heading with the text below it, up to the next heading of its level or above. */
export interface MarkdownSection {
  /** The heading trimmed, without inline markup, in NFC. */
  readonly id: string;
  readonly level: number;
  readonly text: string;
}

/** What the structure of a message says: its fenced blocks and sections. Whether a fence was left open. */
export interface MarkdownMessage {
  readonly blocks: readonly FencedBlock[];
  readonly sections: readonly MarkdownSection[];
  readonly openFence: string | undefined;
}

const FENCE = /^( {0,3})(`{3,}|~{3,})(.*)$/;
const CLOSING = /^ {0,3}(`{3,}|~{3,})[ \t]*$/;
const NESTED_CLOSING = /^[ >]*(`{3,}|~{3,})[ \t]*$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const HIGHEST_LEVEL = 6;
/** Longer lines are no headings that anything refers to. */
const LONGEST_HEADING = 300;
/** A line that begins or continues a quote or a list item: what follows in it is not at the top level. */
const QUOTE = /^ {0,3}>/;
const COMMENT = /^ {0,3}<!--/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])([ \t]+|$)/;

interface Heading {
  readonly level: number;
  readonly id: string;
  readonly line: number;
}

/**
 * Reads the fenced blocks and the sections of a message. A fence inside a quote, a list item, a comment or another
 * fence is text, and so is a heading there.
 */
export function readMarkdown(message: string): MarkdownMessage {
  const lines = message.split(/\r\n|\n|\r/);
  const blocks: FencedBlock[] = [];
  const headings: Heading[] = [];
  let open: { marker: string; indent: number; info: string; first: number; isNested: boolean } | undefined;
  /** How far the text of the current list item is indented; 0 outside of lists. */
  let itemIndent = 0;
  let isQuoted = false;
  let isComment = false;
  for (const [index, line] of lines.entries()) {
    if (open) {
      if (!closes(line, open)) continue;
      const { info, first, indent } = open;
      const content = lines
        .slice(first + 1, index)
        .map((text) => withoutIndent(text, indent))
        .join("\n");
      if (!open.isNested) blocks.push({ info, content, first, end: index + 1 });
      open = undefined;
      continue;
    }
    isComment ||= COMMENT.test(line);
    if (isComment) {
      isComment = !line.includes("-->");
      continue;
    }
    if (line.trim() === "") {
      isQuoted = false;
      continue;
    }
    const indent = line.length - line.trimStart().length;
    const item = ITEM.exec(line);
    if (item) itemIndent = item[0].length;
    else if (indent < itemIndent && !isLazy(lines[index - 1])) itemIndent = 0;
    isQuoted = QUOTE.test(line) || (isQuoted && !FENCE.test(line) && !HEADING.test(line));
    const isNested = isQuoted || itemIndent > 0;
    const fence = FENCE.exec(item ? line.slice(item[0].length) : isNested ? line.trimStart() : line);
    if (fence) {
      const [, before = "", marker = "", info = ""] = fence;
      if (marker.startsWith("`") && info.includes("`")) continue;
      open = { marker, indent: before.length, info: info.trim(), first: index, isNested };
      continue;
    }
    const heading = isNested || line.length > LONGEST_HEADING ? null : HEADING.exec(line);
    if (heading)
      headings.push({ level: heading[1]?.length ?? 1, id: headingId(heading[2] ?? ""), line: index });
  }
  return { blocks, sections: sectionsOf(headings, lines), openFence: open?.info };
}

/** A fenced block whose fence is longer than any in the text. */
export function fenced(text: string, info: string): string {
  let longest = 2;
  for (const [ticks] of text.matchAll(/`+/g)) longest = Math.max(longest, ticks.length);
  const fence = "`".repeat(longest + 1);
  return `${fence}${info}\n${text}\n${fence}`;
}

/** The id under which a heading is referenced. */
function headingId(text: string): string {
  return text
    .replace(/!?\[([^[\]]*)\]\([^()]*\)/g, "$1")
    .replace(/(\*\*|__)(.+?)\1/g, "$2")
    .replace(/(^|[^\w])[*_](.+?)[*_](?=[^\w]|$)/g, "$1$2")
    .replace(/`+([^`]*)`+/g, "$1")
    .replace(/~~(.+?)~~/g, "$1")
    .trim()
    .normalize("NFC");
}

function sectionsOf(headings: readonly Heading[], lines: readonly string[]): MarkdownSection[] {
  const sections: MarkdownSection[] = [];
  /** By level, the line of the nearest heading below of that level or above. */
  const ends = new Array<number>(HIGHEST_LEVEL + 1).fill(lines.length);
  for (const { level, id, line } of headings.toReversed()) {
    const text = lines.slice(line + 1, ends[level]).join("\n");
    sections.push({ id, level, text: text.replace(/^\n+/, "").trimEnd() });
    ends.fill(line, level);
  }
  return sections.reverse();
}

function closes(line: string, { marker, isNested }: { marker: string; isNested: boolean }): boolean {
  const closing = (isNested ? NESTED_CLOSING : CLOSING).exec(line)?.[1];
  return closing !== undefined && closing[0] === marker[0] && closing.length >= marker.length;
}

function withoutIndent(line: string, indent: number): string {
  return line.slice(Math.min(indent, line.length - line.trimStart().length));
}

/** Whether the line before may be continued without its indentation. */
function isLazy(before: string | undefined): boolean {
  return before !== undefined && before.trim() !== "";
}
