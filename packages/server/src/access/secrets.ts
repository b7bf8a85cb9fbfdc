import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open } from "node:fs/promises";

/** A file of secrets that others can read, or that is damaged. */
export class AccessError extends Error {
  override readonly name = "AccessError";
  readonly code: "exposed" | "damaged";
  readonly retryable = false;

  constructor(code: AccessError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** A cryptographic source of random bytes. */
export type RandomBytes = (size: number) => Uint8Array;

const SECRET_BYTES = 32;

/** A random secret of 256 bits. */
export function newSecret(randomBytes: RandomBytes): string {
  return Buffer.from(randomBytes(SECRET_BYTES)).toString("base64url");
}

/** The hash stored instead of a secret. No key or salt is needed for 256 random bits. */
export function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

const OTHERS = 0o077;
const MOST_BYTES = 1024 * 1024;

/** Reads a file of secrets; undefined if absent. Rejects a file that others can read, and a symbolic link. */
export async function readPrivate(path: string): Promise<string | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return undefined;
    if (codeOf(error) === "ELOOP") throw new AccessError("exposed", `${path} is a symbolic link; remove it`);
    throw error;
  });
  if (!file) return undefined;
  try {
    const stat = await file.stat();
    if (!stat.isFile() || stat.size > MOST_BYTES)
      throw new AccessError("damaged", `${path} is not a file of ours; remove it`);
    if (process.platform !== "win32" && (stat.mode & OTHERS) !== 0)
      throw new AccessError("exposed", `others may read ${path}; remove it, and a new secret is made`);
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
