import type { Part } from "../syntax.ts";

/** A piece of literal text. */
export function text(text: string, quoted: boolean): Part {
  return { kind: "text", text, quoted };
}

/** An unquoted word: backslashes quote the character after them, and vanish with a line's end. */
export function unquotedText(raw: string): readonly Part[] {
  if (!raw.includes("\\")) return [text(raw, false)];
  const parts: Part[] = [];
  for (const [, escaped, plain] of raw.matchAll(/\\([\s\S])|([^\\]+)|\\$/g)) {
    if (plain !== undefined) parts.push(text(plain, false));
    else if (escaped === undefined) parts.push(text("\\", true));
    else if (escaped !== "\n") parts.push(text(escaped, true));
  }
  return parts;
}

/** What stands between double quotes, or in a here-document. */
export function quotedText(raw: string): string {
  return raw.includes("\\") ? raw.replace(/\\(?:([$`"\\])|\n)/g, "$1") : raw;
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  e: "\x1b",
  E: "\x1b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  "'": "'",
  '"': '"',
  "?": "?",
};

const ESCAPE =
  /\\(?:([abeEfnrtv\\'"?])|([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|c([\s\S]))/g;

/** What stands in `$'…'`; `undefined` when a shell would cut it short or make bytes that are no text. */
export function ansiText(raw: string): string | undefined {
  let isText = true;
  const decoded = raw.replace(ESCAPE, (_, simple, octal, hex, short, long, control) => {
    if (simple !== undefined) return ESCAPES[simple] ?? "";
    if (control !== undefined) return String.fromCharCode(control.charCodeAt(0) & 0x1f);
    const code =
      octal === undefined ? Number.parseInt(hex ?? short ?? long, 16) : Number.parseInt(octal, 8) & 255;
    // Bytes above 127 are parts of characters, which we do not put together.
    if (code === 0 || code > 0x10ffff || ((octal ?? hex) !== undefined && code > 127)) isText = false;
    return isText ? String.fromCodePoint(code) : "";
  });
  return isText && !decoded.includes("\0") ? decoded : undefined;
}
