import type { SigningKeys } from "./signing-keys.ts";

/** A signing key as others may see it. */
export interface KeyDescription {
  readonly keyId: string;
  readonly holder: string;
  /** What it signs. */
  readonly use: "entries" | "checkpoints";
  /** The raw 32 bytes. */
  readonly publicKey: Uint8Array;
  /** `next` is a key that a rotation has made and not yet put to use. */
  readonly status: "active" | "next" | "retired";
  readonly createdAt: string;
  /** When it stopped signing; `null` unless it did. */
  readonly retiredAt: string | null;
}

/** All keys of a holder, the oldest first. */
export function describeKeys(keys: SigningKeys, use: KeyDescription["use"]): readonly KeyDescription[] {
  const { holder, active, next, retired } = keys;
  const all = [
    ...retired.map((key) => ({ ...key, status: "retired" as const })),
    { ...active, status: "active" as const, retired_at: null },
    ...(next ? [{ ...next, status: "next" as const, retired_at: null }] : []),
  ];
  return all.map(({ key_id, public_key, status, created_at, retired_at }) => ({
    keyId: key_id,
    holder,
    use,
    publicKey: new Uint8Array(Buffer.from(public_key, "base64")),
    status,
    createdAt: created_at,
    retiredAt: retired_at,
  }));
}
