import { type Format, MARK, NO, OPEN, type Reading, type Rest, triggerOf } from "../format.ts";
import { BASE64, characters } from "../notation.ts";
import { runOf } from "./pattern-format.ts";

/** A line of a key is never shorter, but the last. */
const LINE = 16;
/** How much may be between two lines: line ends, an indent, quotes, a plus. */
const GAP = 24;
const DASHES = "-----";
/** As far as one has to look to know whether lines go on. */
const VIEW = 3 * GAP + LINE + DASHES.length;
const DIGIT = characters("0-9");
const ESCAPED = characters("nrt");
const SPACE = characters("\\s\\\\");

/** Lines of base64 up to the footer, however they are indented, quoted, numbered or escaped. Prose ends them too. */
const KEY_LINES: Rest = {
  hidesUnknown: true,
  goesOn(text, index, final) {
    if (!final && index + 1 === text.length && text.charAt(index) === "+") return undefined;
    if (isOfLine(text, index) && isOfLine(text, index - 1)) return true;
    const back = Math.min(index, 2);
    const view = text.slice(index - back, index + VIEW);
    return lineFollows(view, back, final || view.length === back + VIEW);
  },
};

/** Where the gap that begins at an index ends, or the text. */
function endOfGap(text: string, from: number): number {
  let index = from;
  while (
    index < text.length &&
    index - from < GAP &&
    !isOfLine(text, index) &&
    !text.startsWith(DASHES, index)
  )
    index += 1;
  return index;
}

/** Where a line begins that begins with its number. */
function afterNumber(text: string, from: number): number {
  const end = DIGIT.endOfRun(text, from, from + 6);
  const next = endOfGap(text, end);
  return end > from && next > end ? next : from;
}

function lineFollows(text: string, from: number, isWhole: boolean): boolean | undefined {
  if (text.startsWith(DASHES, from)) return false;
  const start = afterNumber(text, endOfGap(text, from));
  if (text.startsWith(DASHES, start)) return true;
  const end = BASE64.endOfRun(text, start, start + LINE);
  if (end - start === LINE) return true;
  if (end === text.length) return isWhole ? end > start : undefined;
  if (end === start) return false;
  const next = endOfGap(text, end);
  if (text.startsWith(DASHES, next)) return true;
  return isWhole || next + DASHES.length <= text.length ? false : undefined;
}

/** Whether a character is one of a line of base64, and not of an escape or a plus between two strings. */
function isOfLine(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  if (!BASE64.has(code)) return false;
  if (ESCAPED.has(code) && text.charAt(index - 1) === "\\") return false;
  return text.charAt(index) !== "+" || !SPACE.has(text.charCodeAt(index + 1));
}

/** Encrypted keys, and those of PGP, have some lines before the key, such as `DEK-Info: AES-128-CBC,…`. */
const HEADER = { lines: 4, name: 32, value: 96 };
const TITLE = characters("A-Z0-9 ");
const NAME = characters("A-Za-z-");
const NAMES = /^(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|MessageID|Key-ID)$/i;
const ENCODED = runOf(BASE64);

/** The body of a private key in PEM or PGP armour. */
const armoured: Format = {
  name: "private-key",
  triggers: [triggerOf(`${DASHES}BEGIN `)],
  reach: 64 + HEADER.lines * (HEADER.name + HEADER.value + 2 * GAP) + 2 * GAP + LINE,
  read(text, _, at, final) {
    const title = TITLE.endOfRun(text, at, at + 48);
    const from = title + DASHES.length;
    if (text.length < from) return !final && DASHES.startsWith(text.slice(title)) ? OPEN : NO;
    if (!text.startsWith(DASHES, title) || !text.slice(at, title).includes("PRIVATE KEY")) return NO;
    return readBody(text, from, final);
  },
};

/** Private keys in base64 once more, as Kubernetes keeps them. */
const encoded: readonly Format[] = ["", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED "].map((kind) => ({
  name: "private-key",
  triggers: [triggerOf(wholeBase64(`${DASHES}BEGIN ${kind}PRIVATE KEY${DASHES}`))],
  reach: LINE,
  read(text, _, at, final): Reading {
    const end = BASE64.endOfRun(text, at, at + LINE);
    if (end - at === LINE) return { is: "secret", from: at, to: end, rest: ENCODED };
    return final || end < text.length ? NO : { is: "open", from: at, hide: at };
  },
}));

/** Private keys in the forms that tools write. */
export const privateKeys: readonly Format[] = [armoured, ...encoded];

/** The lines before the key, which may be none, and the first of its own. */
function readBody(text: string, from: number, final: boolean): Reading {
  const wait: Reading = final ? NO : { is: "open", from, hide: text.length - from > LINE ? from : undefined };
  let index = afterNumber(text, endOfGap(text, from));
  for (let line = 0; line < HEADER.lines; line += 1) {
    const name = NAME.endOfRun(text, index, index + HEADER.name);
    if (name === text.length && !final) return wait;
    if (text.charAt(name) !== ":" || !NAMES.test(text.slice(index, name))) break;
    const end = endOfLine(text, name);
    if (end === text.length) return wait;
    if (end - name === HEADER.value || text.slice(name, end).includes(MARK)) return NO;
    index = afterNumber(text, endOfGap(text, end));
  }
  const end = BASE64.endOfRun(text, index, index + LINE);
  if (end - index === LINE) return { is: "secret", from, to: end, rest: KEY_LINES };
  return end === text.length ? wait : NO;
}

/** Where a line ends, be it by the two characters of an escape. */
function endOfLine(text: string, from: number): number {
  const limit = Math.min(text.length, from + HEADER.value);
  let index = from;
  while (index < limit && text.charAt(index) !== "\n" && !text.startsWith("\\n", index)) index += 1;
  return index;
}

/** The base64 of a text, without what depends on how the text goes on. */
function wholeBase64(text: string): string {
  return Buffer.from(text)
    .toString("base64")
    .slice(0, Math.floor((text.length * 8) / 6));
}
