/** The text in bytes that may be cut within a sign; `undefined` when they are no text. */
export function textIn(bytes: Buffer, isCut: boolean): string | undefined {
  const whole = isCut ? bytes.subarray(0, wholeSigns(bytes)) : bytes;
  if (whole.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(whole);
  } catch {
    return undefined;
  }
}

/** How many bytes are whole signs of UTF-8. */
function wholeSigns(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(4, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0b1100_0000) === 0b1000_0000) continue;
    const length = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}
