import type { AuthMethod, TransportName } from "@reins/ahp";

/** The transports a harness can be examined over. */
export type TargetTransport = Exclude<TransportName, "memory">;

/** Where the harness is. */
export type Target =
  | {
      readonly transport: "stdio";
      /** The program to start; there is no shell in between. */
      readonly command: string;
      readonly args?: readonly string[];
      readonly cwd?: string;
      readonly env?: Readonly<Record<string, string | undefined>>;
    }
  | { readonly transport: "http"; readonly url: string }
  | { readonly transport: "websocket"; readonly url: string }
  | { readonly transport: "unix"; readonly path: string };

/** What the kit proves itself with, where the harness asks for it (HTTP and WebSocket). */
export type Credentials = Extract<AuthMethod, { type: "api_key" | "bearer" }>;

/** The target in one line, for people. */
export function describeTarget(target: Target): string {
  switch (target.transport) {
    case "stdio":
      return [target.command, ...(target.args ?? [])].join(" ");
    case "unix":
      return target.path;
    default:
      return withoutSecrets(target.url);
  }
}

/** The header that carries the credentials. */
export function credentialHeaders(credentials: Credentials | undefined): Record<string, string> {
  if (!credentials) return {};
  if (credentials.type === "bearer") return { authorization: `Bearer ${credentials.token}` };
  return { "x-api-key": credentials.key };
}

function withoutSecrets(text: string): string {
  const url = new URL(text);
  url.password &&= "…";
  for (const name of ["token", "api_key"]) if (url.searchParams.has(name)) url.searchParams.set(name, "…");
  return url.href;
}
