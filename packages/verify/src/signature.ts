import type { Bytes } from "./bytes.ts";
import { VerifyError } from "./report.ts";

/** An Ed25519 signature (RFC 8032) to be checked. */
export interface SignatureClaim {
  /** 32 bytes. */
  readonly publicKey: Bytes;
  /** 64 bytes. */
  readonly signature: Bytes;
  readonly message: Bytes;
}

/** Checks signatures. They are the slowest part of a verification, so this is where a platform lends its other cores. */
export interface SignatureChecker {
  /** Whether the claim is true. */
  check(claim: SignatureClaim): Promise<boolean>;
}

type ImportedKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

const ALGORITHM = "Ed25519";

/** Keys as WebCrypto wants them, by the bytes they came from. */
const imported = new WeakMap<Bytes, Promise<ImportedKey>>();

/** Checks signatures with WebCrypto, which browsers and Node have alike. */
export const webCrypto: SignatureChecker = {
  async check({ publicKey, signature, message }) {
    return crypto.subtle.verify(ALGORITHM, await keyOf(publicKey), signature, message);
  },
};

function keyOf(publicKey: Bytes): Promise<ImportedKey> {
  const known = imported.get(publicKey);
  if (known !== undefined) return known;
  const key = importKey(publicKey);
  imported.set(publicKey, key);
  return key;
}

async function importKey(publicKey: Bytes): Promise<ImportedKey> {
  try {
    return await crypto.subtle.importKey("raw", publicKey, ALGORITHM, false, ["verify"]);
  } catch (cause) {
    throw new VerifyError(
      "no_webcrypto",
      "Signatures cannot be checked here: Ed25519 of WebCrypto is missing. Pages need HTTPS or localhost for it.",
      { cause },
    );
  }
}

/** Checks under way, so many at a time and no more. */
export class PendingChecks {
  readonly #limit: number;
  #count = 0;
  #failure: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Whether the next one has to wait for {@link room}. */
  get full(): boolean {
    return this.#count >= this.#limit;
  }

  /** Takes a check that is under way. */
  add(check: Promise<void>): void {
    this.#count += 1;
    check
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => {
        this.#count -= 1;
        this.#wake?.();
      });
  }

  /** Resolves once half of the places are free; rejects when a check could not be made. */
  room(): Promise<void> {
    return this.#until(this.#limit / 2);
  }

  /** Resolves once nothing is under way; rejects when a check could not be made. */
  settled(): Promise<void> {
    return this.#until(0);
  }

  async #until(count: number): Promise<void> {
    while (this.#count > count) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#wake = undefined;
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
