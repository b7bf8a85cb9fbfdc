import { sha256 } from "@noble/hashes/sha2.js";
import { createHasher, hash } from "blake3-jit";
import type { JsonValue } from "./json/parse.ts";

/** Bytes that WebCrypto takes: not shared with other threads. */
export type Bytes = Uint8Array<ArrayBuffer>;

const encoder = new TextEncoder();

/** The UTF-8 bytes of a text. */
export function utf8(text: string): Bytes {
  return encoder.encode(text);
}

/** The parts, one after the other. */
export function concat(...parts: readonly Uint8Array[]): Bytes {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

/** Whether two runs of bytes are the same. */
export function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index += 1) if (left[index] !== right[index]) return false;
  return true;
}

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

/** From this length on, `hash` compiles WebAssembly, which a page's Content-Security-Policy may forbid. */
const COMPILES_FROM = 4096;

/** BLAKE3-256 of bytes. */
export function blake3(bytes: Uint8Array): Uint8Array {
  return bytes.length < COMPILES_FROM ? hash(bytes) : createHasher().update(bytes).finalize();
}

/** BLAKE3-256 of bytes that arrive in pieces. */
export function blake3Stream(): { update(bytes: Uint8Array): unknown; finalize(): Uint8Array } {
  return createHasher();
}

/** The length of a hash in the tree. */
export const HASH_LENGTH = 32;

const node = new Uint8Array(1 + 2 * HASH_LENGTH);
node[0] = 0x01;

/** The root of a tree without leaves. */
export function emptyRoot(): Uint8Array {
  return sha256(new Uint8Array(0));
}

/** RFC 6962: the hash of a leaf is SHA-256 of 0x00 and its content. */
export function leafHash(content: Uint8Array): Uint8Array {
  const leaf = new Uint8Array(1 + content.length);
  leaf.set(content, 1);
  return sha256(leaf);
}

/** RFC 6962: the hash of an inner node is SHA-256 of 0x01 and its two children. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  node.set(left, 1);
  node.set(right, 1 + HASH_LENGTH);
  return sha256(node);
}
