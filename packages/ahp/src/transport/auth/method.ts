import { AhpError } from "../../errors/ahp-error.ts";
import type { AuthConfig } from "../../protocol/transport-config.ts";
import type { Credential } from "./credential.ts";

/** The credential of an authentication setting; refuses the methods that nobody implements. */
export function credentialOf(auth: AuthConfig | undefined): Credential | undefined {
  const method = auth?.method ?? { type: "none" };
  switch (method.type) {
    case "none":
      return undefined;
    case "api_key":
      return { kind: "api_key", value: method.key };
    case "bearer":
      return { kind: "bearer", value: method.token };
    case "mutual_tls":
      throw new AhpError("unsupported", "mutual TLS is not implemented; use a bearer token or an API key");
    case "o_auth":
      throw new AhpError("unsupported", "OAuth is not implemented; use a bearer token or an API key");
  }
}
