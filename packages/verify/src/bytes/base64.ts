import type { Bytes } from "./bytes.ts";

const COMMON = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const STANDARD = table(`${COMMON}+/`);
const URL_SAFE = table(`${COMMON}-_`);

/**
 * The bytes of base64 with padding; nothing when the text is not the one way to write them. Spaces, missing padding
 * and set bits behind the end are refused, so that no two texts stand for the same bytes.
 */
export function fromBase64(text: string): Bytes | undefined {
  if (text.length % 4 !== 0) return undefined;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return decode(text, text.length - padding, STANDARD);
}

/** The bytes of base64url without padding, as strictly. */
export function fromBase64Url(text: string): Bytes | undefined {
  return decode(text, text.length, URL_SAFE);
}

/** Base64 with padding. For short bytes. */
export function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

function table(alphabet: string): Int8Array {
  const values = new Int8Array(128).fill(-1);
  for (const [value, character] of [...alphabet].entries()) values[character.charCodeAt(0)] = value;
  return values;
}

function decode(text: string, length: number, values: Int8Array): Bytes | undefined {
  if (length % 4 === 1) return undefined;
  const bytes = new Uint8Array(Math.floor((length * 3) / 4));
  let bits = 0;
  let held = 0;
  let offset = 0;
  for (let index = 0; index < length; index += 1) {
    const value = values[text.charCodeAt(index)] ?? -1;
    if (value < 0) return undefined;
    held = ((held << 6) | value) & 0xffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes[offset] = held >> bits;
    offset += 1;
  }
  return (held & ((1 << bits) - 1)) === 0 ? bytes : undefined;
}
