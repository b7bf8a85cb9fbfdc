/** Longer blocks are cut at a space, so that each renders fast. */
const LONGEST = 8_000;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/**
 * Splits Markdown into blocks that render independently; paragraphs, lists and fenced code stay whole. While a text
 * grows, only its last block changes, so the others need not render again.
 */
export function markdownBlocks(text: string): readonly string[] {
  const blocks: string[] = [];
  let lines: string[] = [];
  let fence: string | undefined;
  const end = () => {
    const block = lines.join("\n");
    if (block.trim() !== "") blocks.push(...pieces(block));
    lines = [];
  };
  for (const line of text.split("\n")) {
    const mark = FENCE.exec(line)?.[1];
    if (fence === undefined && line.trim() === "" && !isOpenList(lines)) {
      end();
      continue;
    }
    if (
      fence === undefined &&
      isOpenList(lines) &&
      lines.at(-1)?.trim() === "" &&
      /^\S/.test(line) &&
      !isItem(line)
    )
      end();
    lines.push(line);
    if (mark === undefined) continue;
    if (fence === undefined) fence = mark;
    else if (mark[0] === fence[0] && mark.length >= fence.length && line.trim() === mark) {
      fence = undefined;
      // Text after the code is cut like any other.
      if (FENCE.test(lines[0] ?? "")) end();
    }
  }
  end();
  return blocks;
}

/** A list may continue after an empty line. */
function isOpenList([first]: readonly string[]): boolean {
  return first !== undefined && isItem(first);
}

function isItem(line: string): boolean {
  return /^ {0,3}([-*+]|\d{1,9}[.)])\s/.test(line);
}

function pieces(block: string): readonly string[] {
  if (FENCE.test(block)) return [block];
  const cuts: string[] = [];
  let rest = block;
  while (rest.length > LONGEST) {
    const cut = Math.max(rest.lastIndexOf("\n", LONGEST), rest.lastIndexOf(" ", LONGEST));
    const at = cut > LONGEST / 2 ? cut : LONGEST;
    cuts.push(rest.slice(0, at));
    rest = rest.slice(at).trimStart();
  }
  return [...cuts, rest];
}
