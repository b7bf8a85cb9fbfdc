import { createHash } from "node:crypto";
import { z } from "zod";

/** The algorithms that a token may be signed with: those with a public key, so that no secret is shared. */
const ALGORITHMS = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
] as const;

const DEFAULT_ALGORITHMS: (typeof ALGORITHMS)[number][] = [
  ...(["RS256", "PS256", "ES256", "ES384", "EdDSA", "Ed25519"] as const),
];
const MAX_SKEW_SECONDS = 300;
const MAX_WORK_MINUTES = 1_440;
const MAX_LOGIN_HOURS = 168;

const Text = z.string().min(1).max(1_024);
const Names = z.array(Text).max(100).default([]);

/** A claim of a token: its name, or the names on the way to it. */
const Claim = z.union([Text, z.array(Text).min(1).max(8)]);

/** The schema of an entry of `oidc` in `reins.yaml`. */
export const OidcSettings = z.strictObject({
  /** What it is called here; users are `<name>:<subject>`. */
  name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/, "1 to 32 small letters, digits or -"),
  /** The `iss` of its tokens, to the letter. */
  issuer: z.string().refine(isSafe, "an https address; http only on this machine"),
  /** The `aud` of tokens for this server; one of them is needed. */
  audience: z.array(Text).min(1).max(20),
  /** Login on the page, as this client. */
  client_id: Text.optional(),
  /** Of a confidential client. `@path` reads it from a file, relative to the home. */
  client_secret: Text.optional(),
  /** Where the issuer sends a browser back to, where a proxy changes the address; by default the page. */
  redirect_uri: z.string().refine(isSafe, "an https address; http only on this machine").optional(),
  request_scopes: z.array(Text).min(1).max(20).default(["openid", "profile", "email"]),
  algorithms: z
    .array(z.enum(ALGORITHMS))
    .min(1)
    .default([...DEFAULT_ALGORITHMS]),
  /** Seconds that the clocks may differ. */
  clock_skew: z.int().min(0).max(MAX_SKEW_SECONDS).default(30),
  kind: z.enum(["user", "service"]).default("user"),
  /** Minutes that work goes on after the last token has expired. */
  work: z.number().min(0).max(MAX_WORK_MINUTES).default(60),
  /** Hours that a login of the page lasts. */
  login: z.number().positive().max(MAX_LOGIN_HOURS).default(8),
  /** The tenant of its users, or the claim that says which; another value gives no access. */
  tenant: z.union([Text, z.strictObject({ claim: Claim, values: z.record(Text, Text) })]),
  /** What users get; one that no entry matches gets nothing. An entry without a claim is for all. */
  grants: z
    .array(
      z
        .strictObject({
          claim: Claim.optional(),
          value: Text.optional(),
          roles: Names,
          scopes: Names,
          agents: Names,
        })
        .refine(
          ({ claim, value }) => (claim === undefined) === (value === undefined),
          "a claim and its value come together",
        ),
    )
    .max(200)
    .default([]),
});
export type OidcSettings = z.infer<typeof OidcSettings>;

/** Whether an address is protected on its way: https, or this machine. */
export function isSafe(text: string): boolean {
  const url = URL.parse(text);
  if (url?.username !== "" || url.password !== "" || url.hash !== "") return false;
  return url.protocol === "https:" || (url.protocol === "http:" && LOOPBACK.has(url.hostname));
}

const LOOPBACK: ReadonlySet<string> = new Set(["127.0.0.1", "[::1]", "localhost"]);

/** Names an issuer with its settings, so that users who were admitted under other settings show a token again. */
export function originOf({ client_secret: _, ...settings }: OidcSettings): string {
  const digest = createHash("sha256").update(JSON.stringify(settings)).digest("base64url");
  return `${settings.name}#${digest}`;
}
