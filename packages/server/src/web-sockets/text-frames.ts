const FIN_TEXT = 0x81;
const LENGTH_16 = 126;
const LENGTH_64 = 127;

/**
 * Texts as frames of a server, each whole and unmasked (RFC 6455 §5.2), one after the other in one piece: thousands of
 * small writes would cost more than everything else.
 */
export function textFrames(texts: readonly string[]): Buffer {
  const lengths = texts.map((text) => Buffer.byteLength(text));
  const total = lengths.reduce((sum, length) => sum + headLength(length) + length, 0);
  const bytes = Buffer.allocUnsafe(total);
  let at = 0;
  for (const [index, length] of lengths.entries()) {
    at = writeHead(bytes, at, length);
    at += bytes.write(texts[index] ?? "", at, length);
  }
  return bytes;
}

function headLength(length: number): number {
  if (length < LENGTH_16) return 2;
  return length <= 0xff_ff ? 4 : 10;
}

function writeHead(bytes: Buffer, at: number, length: number): number {
  const next = bytes.writeUInt8(FIN_TEXT, at);
  if (length < LENGTH_16) return bytes.writeUInt8(length, next);
  if (length <= 0xff_ff) return bytes.writeUInt16BE(length, bytes.writeUInt8(LENGTH_16, next));
  return bytes.writeBigUInt64BE(BigInt(length), bytes.writeUInt8(LENGTH_64, next));
}
