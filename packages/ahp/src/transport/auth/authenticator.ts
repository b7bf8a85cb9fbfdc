import { hash, timingSafeEqual } from "node:crypto";
import type { Awaitable } from "../../server/handlers.ts";
import type { Credential } from "./credential.ts";

/** Says who holds a credential; `undefined` turns the peer away. */
export type Authenticator = (credential: Credential | undefined) => Awaitable<string | undefined>;

/** One secret and the principal it stands for. */
export interface Token {
  readonly principal: string;
  readonly secret: string;
}

/** Knows a fixed set of secrets, each good as a bearer token and as an API key. Takes the same time for any guess. */
export function knownTokens(
  tokens: readonly Token[],
): (credential: Credential | undefined) => string | undefined {
  const known = tokens.map(({ principal, secret }) => ({ principal, digest: digest(secret) }));
  return (credential) => {
    if (!credential) return undefined;
    const shown = digest(credential.value);
    let holder: string | undefined;
    for (const { principal, digest: secret } of known) if (timingSafeEqual(secret, shown)) holder = principal;
    return holder;
  };
}

function digest(secret: string): Buffer {
  return hash("sha256", secret, "buffer");
}
