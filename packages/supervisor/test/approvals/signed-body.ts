import { createHmac, timingSafeEqual } from "node:crypto";

const TOLERANCE_MS = 300_000;
/** The most parts that an honest header has. */
const MAX_PARTS = 16;

/** What a receiver has to check. */
export interface SignedBody {
  /** As it arrived, not read and written again. */
  readonly body: string | Uint8Array;
  /** The value of the header. */
  readonly signature: string;
  readonly secret: string;
  readonly now: Date;
  /** How old, or how far ahead, a message may be; by default five minutes. */
  readonly tolerance_ms?: number;
}

/** Whether a message is from a sender that knows the secret, and recent. Takes as long for a wrong signature as for a right one. */
export function isSigned({ body, signature, secret, now, tolerance_ms = TOLERANCE_MS }: SignedBody): boolean {
  const parts = signature.split(",", MAX_PARTS).map((part) => part.trim());
  const time = Number(/^t=(\d{1,12})$/.exec(parts.find((part) => part.startsWith("t=")) ?? "")?.[1]);
  if (!Number.isSafeInteger(time) || Math.abs(now.getTime() - time * 1_000) > tolerance_ms) return false;
  const expected = digest(time, body, secret);
  const given = parts.filter((part) => /^v1=[0-9a-f]{64}$/.test(part));
  return given.filter((part) => timingSafeEqual(Buffer.from(part.slice(3), "hex"), expected)).length > 0;
}

function digest(time: number, body: string | Uint8Array, secret: string): Buffer {
  return createHmac("sha256", secret).update(`${time}.`).update(body).digest();
}
