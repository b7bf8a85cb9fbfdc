import { type Format, NO, OPEN, type Reading, triggerOf } from "../format.ts";
import { MARK } from "../mark.ts";
import { BASE64, characters } from "../notation/character-set.ts";
import { afterNumber, endOfGap, GAP, KEY_LINES, LINE } from "./key-lines.ts";
import { runOf } from "./pattern-format.ts";

/** Encrypted keys, and those of PGP, have some lines before the key, such as `DEK-Info: AES-128-CBC,…`. */
const HEADER = { lines: 4, name: 32, value: 96 };
const DASHES = "-----";
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
