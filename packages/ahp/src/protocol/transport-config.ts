import { z } from "zod";
import { nullable, struct, text, u32, u64 } from "../wire/schema.ts";
import { shaped } from "../wire/shape.ts";

/** Timeouts of a client. The retry members exist for other implementations; here `reconnect` rules. */
export const TransportConfig = struct("TransportConfig", {
  timeout_ms: u64,
  max_retries: u32,
  retry_delay_ms: u64,
});
export type TransportConfig = z.infer<typeof TransportConfig>;

const methods = {
  none: {},
  api_key: { key: text },
  bearer: { token: text },
  mutual_tls: { cert_path: text, key_path: text, ca_path: nullable(text) },
  o_auth: { client_id: text, client_secret: text, token_url: text },
};

/** How a client proves who it is. `o_auth` is the protocol's spelling. */
export const AuthMethod = shaped(
  z.discriminatedUnion("type", [
    z.object({ type: z.literal("none") }),
    z.object({ type: z.literal("api_key"), ...methods.api_key }),
    z.object({ type: z.literal("bearer"), ...methods.bearer }),
    z.object({ type: z.literal("mutual_tls"), ...methods.mutual_tls }),
    z.object({ type: z.literal("o_auth"), ...methods.o_auth }),
  ]),
  { kind: "internal", name: "AuthMethod", tag: "type", variants: methods },
);
export type AuthMethod = z.infer<typeof AuthMethod>;

/** Authentication settings as they stand in a configuration file; they never travel. */
export const AuthConfig = struct("AuthConfig", { method: AuthMethod });
export type AuthConfig = z.infer<typeof AuthConfig>;
