import { randomBytes } from "node:crypto";
import { z } from "zod";
import type { HttpServer } from "../server-entry.ts";

/** A client as an authorization server knows it. */
const Client = z.object({
  client_id: z.string(),
  client_secret: z.string().optional(),
  client_secret_expires_at: z.number().optional(),
  token_endpoint_auth_method: z.string().optional(),
});

/** What an authorization server issued for one MCP server. */
const LoginTokens = z.object({
  client: Client,
  authorizationServer: z.string(),
  issuer: z.string(),
  /** The resource that the tokens are for, as the server names itself. */
  resource: z.string().optional(),
  accessToken: z.string(),
  refreshToken: z.string().optional(),
  scope: z.string().optional(),
  /** Milliseconds since 1970. */
  expiresAt: z.number().optional(),
});
export type LoginTokens = z.infer<typeof LoginTokens>;

/** The login to one MCP server. */
export const StoredLogin = z.object({
  /** Proves that a declaration may use the login: only who reads the home knows it. */
  handle: z.string(),
  /** What the server asked for when it last turned a request down. */
  wanted: z.object({ metadata: z.string().optional(), scope: z.string().optional() }).optional(),
  tokens: LoginTokens.optional(),
});
export type StoredLogin = z.infer<typeof StoredLogin>;

/** Keeps logins by the address of their server. */
export interface LoginStore {
  read(url: string): Promise<StoredLogin | undefined>;
  write(url: string, login: StoredLogin): Promise<void>;
}

/** The address under which the login to a server is kept. */
export function loginAddress(url: string): string {
  const address = new URL(url);
  address.hash = "";
  return address.href;
}

const SCHEME = "Reins-Login ";

/** The header by which a declaration names the login to its server. The gateway puts the token in its place. */
export async function loginHeader(
  store: LoginStore,
  url: string,
): Promise<{ readonly name: string; readonly value: string }> {
  const { handle } = (await store.read(loginAddress(url))) ?? (await newLogin(store, loginAddress(url)));
  return { name: "Authorization", value: `${SCHEME}${handle}` };
}

async function newLogin(store: LoginStore, url: string): Promise<StoredLogin> {
  const login = { handle: newHandle() };
  await store.write(url, login);
  return login;
}

export function newHandle(): string {
  return randomBytes(32).toString("base64url");
}

/** The handle in the headers of a declaration, and the headers without it. */
export function handleIn({ headers }: HttpServer): {
  readonly handle: string | undefined;
  readonly others: HttpServer["headers"];
} {
  const named = headers.find(({ value }) => value.startsWith(SCHEME));
  return { handle: named?.value.slice(SCHEME.length), others: headers.filter((header) => header !== named) };
}
