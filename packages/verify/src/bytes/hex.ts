import type { JsonValue } from "../json/value.ts";

const DIGITS = "0123456789abcdef";
const PAIRS = Array.from({ length: 256 }, (_, byte) => `${DIGITS[byte >> 4]}${DIGITS[byte & 15]}`);

/** Lower-case hexadecimal digits of bytes. */
export function toHex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += PAIRS[byte];
  return text;
}

/** Whether a value is so many lower-case hexadecimal digits. */
export function isHex(value: JsonValue | undefined, length: number): value is string {
  if (typeof value !== "string" || value.length !== length) return false;
  for (let index = 0; index < length; index += 1) if (digitAt(value, index) < 0) return false;
  return true;
}

/** Writes the bytes of a text for which {@link isHex} holds into a buffer. */
export function readHex(text: string, into: Uint8Array, offset = 0): void {
  for (let index = 0; index < text.length; index += 2) {
    into[offset + index / 2] = (digitAt(text, index) << 4) | digitAt(text, index + 1);
  }
}

function digitAt(text: string, index: number): number {
  const unit = text.charCodeAt(index);
  if (unit >= 0x30 && unit <= 0x39) return unit - 0x30;
  if (unit >= 0x61 && unit <= 0x66) return unit - 0x57;
  return -1;
}
