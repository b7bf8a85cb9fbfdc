import { type Format, NO, triggerOf } from "../format.ts";

/** Shorter values are words that occur anyway, and hiding them would garble every text. */
const SHORTEST = 6;
/** An encoding of a value is not looked for if it is shorter than this. */
const SHORTEST_ENCODED = 7;
/** A part of a value of several words counts by itself if it is at least this long. */
const SHORTEST_PART = 12;
/** Longer values are looked for in blocks of this many characters, so that a part of one is hidden too. */
const BLOCK = 64;

/** Formats for secrets that are known to the letter, in the encodings they are met in. */
export function configuredFormats(values: readonly string[]): readonly Format[] {
  const forms = new Set(values.flatMap(formsOf));
  return [...new Set([...forms].flatMap(blocksOf))].map(literal);
}

function literal(value: string): Format {
  const begun = Math.min(Math.max(2, Math.floor(value.length / 3)), 6);
  const telling = Math.min(Math.ceil(value.length / 3) + 1, 8);
  return {
    name: "configured",
    triggers: [triggerOf(value.slice(0, begun))],
    hidesTrigger: true,
    reach: value.length,
    read(text, start, at, final) {
      if (text.startsWith(value, start)) return { is: "secret", from: start, to: start + value.length };
      const seen = text.slice(at, start + value.length);
      if (final || at + seen.length < text.length || !value.startsWith(seen, begun)) return NO;
      return { is: "open", from: start, hide: text.length - start >= telling ? start : undefined };
    },
  };
}

function formsOf(value: string): readonly string[] {
  const plain = [value, ...value.split(/\s+/).filter((part) => part.length >= SHORTEST_PART)];
  const exact = plain.map((one) => one.trim()).filter((one) => one.length >= SHORTEST);
  return exact.flatMap((one) => {
    const encoded = [...escapedForms(one), ...urlForms(one), ...base64Forms(one)];
    return [one, ...encoded.filter((form) => form.length >= SHORTEST_ENCODED)];
  });
}

/** As JSON has it, once and twice, with slashes escaped or not, and with other line ends. */
function escapedForms(value: string): readonly string[] {
  const once = escaped(value);
  const slashes = once.replaceAll("/", "\\/");
  const ascii = once.replace(/[^\0-\x7f]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return [once, slashes, ascii, escaped(once), value.replaceAll("\n", "\r\n")];
}

function escaped(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}

function urlForms(value: string): readonly string[] {
  const encoded = encodeURIComponent(value.toWellFormed());
  const form = new URLSearchParams([["", value]]).toString().slice(1);
  return [encoded, form].flatMap((one) => [one, one.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())]);
}

/** Wherever in a longer text the value stands: of each shift, what does not depend on its neighbours. */
function base64Forms(value: string): readonly string[] {
  const forms = [0, 1, 2].flatMap((shift) => {
    const bytes = Buffer.concat([Buffer.alloc(shift), Buffer.from(value)]);
    const from = Math.ceil((shift * 8) / 6);
    const encoded = bytes.toString("base64").slice(from, Math.floor((bytes.length * 8) / 6));
    return shift === 0 ? [encoded, bytes.toString("base64")] : [encoded];
  });
  return [
    ...forms,
    ...forms.map((form) => form.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")),
  ];
}

function blocksOf(value: string): readonly string[] {
  if (value.length <= BLOCK) return [value];
  const starts = Array.from({ length: Math.floor(value.length / BLOCK) }, (_, index) => index * BLOCK);
  return [...starts, value.length - BLOCK].map((start) => {
    const isHalf = value.charCodeAt(start) >= 0xdc00 && value.charCodeAt(start) < 0xe000;
    return value.slice(isHalf ? start - 1 : start, start + BLOCK);
  });
}
