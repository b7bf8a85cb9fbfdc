import { join, resolve } from "node:path";
import type { HostingOptions } from "@reins/host";
import type { OidcSettings } from "@reins/server/oidc";
import { z } from "zod";
import { CONFIGURATION_FILE, readIfExists, readYamlFile, unusable } from "../files.ts";
import { IssuersSettings, QuotasSettings } from "./access.ts";
import { AuditSettings, TelemetrySettings } from "./exports.ts";
import { GraphsSettings } from "./graphs.ts";
import { McpSettings } from "./mcp-servers.ts";
import { GatewaySettings } from "./model-access.ts";
import { NativeConfiguration } from "./native.ts";
import { NodeSettings } from "./node.ts";

/** A year. */
export const MAX_TTL_MINUTES = 525_600;
const MAX_CANCEL_GRACE_SECONDS = 3_600;
/** A hundred years. */
const MAX_RETENTION_DAYS = 36_525;
/** A week. */
export const MAX_HEARTBEAT_SECONDS = 604_800;

/** An address that receives every change of an approval. */
const Webhook = z.strictObject({
  /** Identifies it across restarts. */
  name: z.string().min(1),
  url: z.url(),
  /** Signs the requests. `@path` reads it from a file, relative to the home. */
  secret: z.string().min(1),
  tenant: z.string().min(1).optional(),
  /** Whether requests contain what is asked, without secrets. */
  details: z.boolean().optional(),
});

/** What a confined agent can reach. */
const Network = z.union([z.enum(["open", "off"]), z.strictObject({ hosts: z.array(z.string()).min(1) })]);

const SkillLayer = z.enum(["cli", "env", "project", "manifest", "user", "package", "system", "host"]);
const SkillNamespace = z.string().regex(/^[A-Za-z0-9][\w.-]*(?:\/[A-Za-z0-9][\w.-]*)*$/);

/** The schema of `reins.yaml`. Relative paths start at the home. */
const Configuration = z.strictObject({
  host: z.string().min(1).optional(),
  port: z.int().min(0).max(65_535).optional(),
  /** Names that this machine is addressed by. */
  allow_hosts: z.array(z.string()).default([]),
  /** Certificate and key in PEM; serves HTTP/2 and 1.1 over TLS. */
  tls: z.strictObject({ cert: z.string().min(1), key: z.string().min(1) }).optional(),
  /** Folders of agents that name none. */
  workspaces: z.array(z.string()).default([]),
  /** The folders that sessions of a tenant may use, by its id. */
  tenants: z
    .record(
      z.string(),
      z.strictObject({
        roots: z.array(z.string().min(1)).min(1),
        /** The labels of the nodes that may serve it, such as those that have its folders. */
        nodes: z.record(z.string(), z.string()).optional(),
      }),
    )
    .default({}),
  /** What each principal and each tenant may use at most; the operator has no quota. */
  quotas: QuotasSettings,
  /** OpenID issuers whose users may use this server, beside those with tokens of Reins. */
  oidc: IssuersSettings,
  webhooks: z.array(Webhook).default([]),
  /** Where the ledger is exported to as it is written. */
  audit: AuditSettings,
  /** Where traces and metrics go, over OTLP. */
  telemetry: TelemetrySettings,
  /** The database, where it is not in the home. */
  db: z.string().min(1).optional(),
  /** The address of a database in PostgreSQL, in place of SQLite. `@path` reads it from a file, relative to the home. */
  store: z.string().min(1).optional(),
  /** This Reins is one of several on that database. */
  node: NodeSettings,
  /** The rules of the constitution, where they are not in the home. */
  policy: z.string().min(1).optional(),
  /** The prose of the constitution, where it is not in the home. */
  constitution: z.string().min(1).optional(),
  /** Minutes until an idle agent is stopped; its sessions stay, and the next prompt starts it. */
  agent_idle: z.number().positive().max(MAX_TTL_MINUTES).optional(),
  /** Seconds that an agent has to end a cancelled turn, before its process is ended. */
  cancel_grace: z.number().positive().max(MAX_CANCEL_GRACE_SECONDS).optional(),
  /** Days that the messages of sessions and closed approvals are kept; the ledger is kept for ever. */
  retention: z.number().positive().max(MAX_RETENTION_DAYS).optional(),
  /** Minutes that an idle session of the mode `domain` stays open. */
  ttl: z.number().positive().max(MAX_TTL_MINUTES).optional(),
  /** Whether standing agents get their sessions at the start. */
  preload_standing: z.boolean().optional(),
  /** Seconds between two checks of the mail of standing agents; 0 is never. */
  heartbeat_interval: z.number().min(0).max(MAX_HEARTBEAT_SECONDS).optional(),
  ws: z
    .strictObject({
      /** `none`: local clients need no token; without one they are unknown. */
      auth: z.enum(["token", "none"]).default("token"),
      /** The agent of sessions that name none. */
      backend: z.string().min(1).max(64).default("native"),
    })
    .prefault({}),
  /** Secrets to redact beside those of known formats. */
  redact: z
    .strictObject({
      /** Environment variables whose values are secrets. */
      variables: z.array(z.string().min(1)).default([]),
      /** Files that hold secrets, one per line. */
      files: z.array(z.string().min(1)).default([]),
      /** Formats of secrets, as patterns. */
      formats: z.array(z.strictObject({ name: z.string().min(1), pattern: z.string().min(1) })).default([]),
    })
    .prefault({}),
  native: NativeConfiguration,
  /** Where skills are found, and how they are used. */
  skills: z
    .strictObject({
      /** Folders with skills; a `*` at the end stands for each folder below. */
      paths: z
        .array(
          z.union([
            z.string().min(1),
            z.strictObject({ path: z.string().min(1), namespace: SkillNamespace }),
          ]),
        )
        .max(100)
        .default([]),
      /** The first layers; the others follow in their usual order. */
      lookup_order: z.array(SkillLayer).optional(),
      /** Layers that are left out. */
      disable: z.array(SkillLayer).optional(),
      /** Whether every skill of a folder needs the signature of a trusted signer. */
      require_signatures: z.boolean().optional(),
      /** Environment variables that the instructions of skills may name. */
      variables: z.array(z.string().min(1)).max(100).optional(),
      /** The most characters that cards take of a prompt. */
      card_budget: z.int().min(500).max(100_000).optional(),
      match: z
        .strictObject({
          /** `host` and `embedding` ask the session's client. */
          strategy: z.enum(["metadata", "host", "embedding"]).optional(),
          /** The most skills in use at a time. */
          top_n: z.int().min(1).max(10).optional(),
          /** Whether a turn keeps the skills that it began with. */
          sticky: z.boolean().optional(),
        })
        .prefault({}),
    })
    .prefault({}),
  /** What action graphs may use beside tools, agents and people. */
  graphs: GraphsSettings,
  /** Which agents reach their models through Reins, with its keys. */
  gateway: GatewaySettings,
  /** MCP servers of all sessions. */
  mcp: McpSettings,
  /** Agents that the operating system confines to their folders, by id; `*` is all. */
  confine: z.record(z.string(), z.strictObject({ network: Network.default("open") })).default({}),
});
export type Configuration = z.infer<typeof Configuration>;

export async function readConfiguration(home: string): Promise<Configuration> {
  const configuration = await readYamlFile(join(home, CONFIGURATION_FILE), Configuration);
  const webhooks = await Promise.all(configuration.webhooks.map((webhook) => withSecret(home, webhook)));
  const services = await Promise.all(
    Object.entries(configuration.graphs.services).map(
      async ([name, service]) => [name, await withHeaders(home, service, `the service "${name}"`)] as const,
    ),
  );
  const audit = await Promise.all(configuration.audit.map((one) => withAuditSecrets(home, one)));
  const telemetry = await withHeaders(home, configuration.telemetry, "telemetry");
  const restate = await withToken(home, configuration.graphs.restate);
  const graphs = { ...configuration.graphs, services: Object.fromEntries(services), restate };
  const oidc = await Promise.all(configuration.oidc.map((issuer) => withClientSecret(home, issuer)));
  const { node } = configuration;
  const secret = node && (await secretOf(home, node.secret, "the secret of the nodes"));
  return {
    ...{ ...configuration, webhooks, audit, telemetry, graphs, oidc },
    node: node && secret !== undefined ? { ...node, secret } : undefined,
  };
}

export function tenantRoots(
  home: string,
  tenants: Configuration["tenants"] = {},
): Readonly<Record<string, readonly string[]>> {
  const given = Object.entries(tenants).map(([tenant, { roots }]) => [
    tenant,
    roots.map((folder) => resolve(home, folder)),
  ]);
  return Object.fromEntries(given);
}

/** A secret as it stands, or from the file that `@path` names, relative to the home. */
async function secretOf(home: string, value: string, what: string): Promise<string> {
  if (!value.startsWith("@")) return value;
  const path = resolve(home, value.slice(1));
  const secret = await readIfExists(path);
  if (secret === undefined) throw unusable(path, `it holds ${what} and does not exist`);
  return secret.trim();
}

async function withSecret(
  home: string,
  webhook: Configuration["webhooks"][number],
): Promise<Configuration["webhooks"][number]> {
  const { name, secret } = webhook;
  return { ...webhook, secret: await secretOf(home, secret, `the secret of the webhook "${name}"`) };
}

async function withClientSecret(home: string, issuer: OidcSettings): Promise<OidcSettings> {
  const { name, client_secret } = issuer;
  if (client_secret === undefined) return issuer;
  const what = `the client_secret of the issuer "${name}"`;
  return { ...issuer, client_secret: await secretOf(home, client_secret, what) };
}

async function withToken(
  home: string,
  restate: GraphsSettings["restate"],
): Promise<GraphsSettings["restate"]> {
  const { token } = restate;
  if (token === undefined) return restate;
  return { ...restate, token: await secretOf(home, token, "the token of Restate") };
}

async function withAuditSecrets(home: string, one: AuditSettings[number]): Promise<AuditSettings[number]> {
  const what = `the audit export "${one.name}"`;
  const secret = one.secret && (await secretOf(home, one.secret, `the secret of ${what}`));
  return { ...(await withHeaders(home, one, what)), secret };
}

async function withHeaders<Holder extends { readonly headers: Readonly<Record<string, string>> }>(
  home: string,
  holder: Holder,
  what: string,
): Promise<Holder & { readonly headers: Record<string, string> }> {
  const headers = await Promise.all(
    Object.entries(holder.headers).map(
      async ([header, value]) =>
        [header, await secretOf(home, value, `the header ${header} of ${what}`)] as const,
    ),
  );
  return { ...holder, headers: Object.fromEntries(headers) };
}

/** Maps the configuration of skills to the options of the host. */
export function skillSettings(
  home: string,
  { paths = [], match = {}, ...rest }: Partial<Configuration["skills"]> = {},
  environment: Readonly<Record<string, string | undefined>> = {},
): NonNullable<HostingOptions["skills"]> {
  const { REINS_SKILLS_PATH = "", XDG_CONFIG_HOME, HOME } = environment;
  const config = XDG_CONFIG_HOME || (HOME && join(HOME, ".config"));
  return {
    cli: [],
    env: REINS_SKILLS_PATH.split(/[:;]/).flatMap((path) => (path === "" ? [] : [resolve(path)])),
    paths: paths.map((entry) =>
      typeof entry === "string"
        ? { path: resolve(home, entry) }
        : { ...entry, path: resolve(home, entry.path) },
    ),
    system: [...(config ? [join(config, "reins", "skills")] : []), "/etc/reins/skills"],
    lookupOrder: rest.lookup_order,
    disabled: rest.disable,
    requireSignatures: rest.require_signatures,
    variables: rest.variables,
    cardBudget: rest.card_budget,
    match: {
      ...(match.strategy !== undefined && { strategy: match.strategy }),
      ...(match.top_n !== undefined && { topN: match.top_n }),
      ...(match.sticky !== undefined && { sticky: match.sticky }),
    },
  };
}
