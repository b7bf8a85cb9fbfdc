import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { HostingOptions } from "@reins/host";
import { z } from "zod";
import { CliError, isNotFound } from "../errors.ts";

/** Reads a file of YAML that a person wrote; one that is not there says nothing. */
export async function readYamlFile<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
): Promise<z.output<Schema>> {
  const text = await readIfExists(path);
  if (text === undefined) return schema.parse({});
  const { parseDocument } = await import("yaml");
  const document = parseDocument(text, { uniqueKeys: true });
  const [fault] = document.errors;
  if (fault) throw unusable(path, fault.message);
  const checked = schema.safeParse(document.toJS() ?? {});
  if (!checked.success) throw unusable(path, z.prettifyError(checked.error));
  return checked.data;
}

/** The text of a file; `undefined` when it is not there. */
export async function readIfExists(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** A file that a person has to mend. */
export function unusable(path: string, why: string, cause?: unknown): CliError {
  return new CliError(`${path} cannot be used: ${why}`, {
    next: "Mend the file, or move it away to go without it.",
    ...(cause !== undefined && { cause }),
  });
}

/** A year. */
export const MAX_TTL_MINUTES = 525_600;
const MAX_CANCEL_GRACE_SECONDS = 3_600;
/** A hundred years. */
const MAX_RETENTION_DAYS = 36_525;
/** A week. */
export const MAX_HEARTBEAT_SECONDS = 604_800;

/** An address that is told of every change of an approval. */
const Webhook = z.strictObject({
  /** Known by this across restarts. */
  name: z.string().min(1),
  url: z.url(),
  /** Signs what is sent. `@path` reads it from a file, found from the home. */
  secret: z.string().min(1),
  tenant: z.string().optional(),
  /** Whether it is told what is asked, without secrets, and not only that something is. */
  details: z.boolean().optional(),
});

/** What a confined agent reaches: everything, nothing, or the hosts that are named. */
const Network = z.union([z.enum(["open", "off"]), z.strictObject({ hosts: z.array(z.string()).min(1) })]);

const Dollars = z.number().min(0);
const Price = z.strictObject({
  input: Dollars,
  output: Dollars,
  cache_read: Dollars.optional(),
  cache_write: Dollars.optional(),
});

/** What `reins.yaml` in a home may say. */
const Configuration = z.strictObject({
  host: z.string().min(1).optional(),
  port: z.int().min(0).max(65_535).optional(),
  /** Names this machine is addressed by. */
  allow_hosts: z.array(z.string()).default([]),
  /** Certificate and key in PEM, with which HTTP/2 and 1.1 are served over TLS; from the home, if they are relative. */
  tls: z.strictObject({ cert: z.string().min(1), key: z.string().min(1) }).optional(),
  /** Folders in which agents work that are told of no other; from the home, if they are relative. */
  workspaces: z.array(z.string()).default([]),
  /** The folders that sessions of a tenant may work in, by its id; from the home, if they are relative. */
  tenants: z.record(z.string(), z.strictObject({ roots: z.array(z.string().min(1)).min(1) })).default({}),
  webhooks: z.array(Webhook).default([]),
  /** The database, where it is not to lie in the home; from the home, if it is relative. */
  db: z.string().min(1).optional(),
  /** The rules of the constitution, where they do not lie in the home. */
  policy: z.string().min(1).optional(),
  /** The prose of the constitution, where it does not lie in the home. */
  constitution: z.string().min(1).optional(),
  /** How many minutes an agent runs on that nobody uses; its sessions stay, and the next prompt starts it. */
  agent_idle: z.number().positive().max(MAX_TTL_MINUTES).optional(),
  /** How many seconds an agent may take to end a turn that was cancelled; then its process is ended. */
  cancel_grace: z.number().positive().max(MAX_CANCEL_GRACE_SECONDS).optional(),
  /** How many days the messages of sessions, and approvals that ended, are kept; the ledger is for ever. */
  retention: z.number().positive().max(MAX_RETENTION_DAYS).optional(),
  /** How many minutes a session of the mode `domain` stays open that nobody uses. */
  ttl: z.number().positive().max(MAX_TTL_MINUTES).optional(),
  /** Whether standing agents have their sessions from the beginning. */
  preload_standing: z.boolean().optional(),
  /** How many seconds pass between two looks at the mail of standing agents; 0 is never. */
  heartbeat_interval: z.number().min(0).max(MAX_HEARTBEAT_SECONDS).optional(),
  /** How `/ws` is served. */
  ws: z
    .strictObject({
      /** `none`: on this machine nobody has to show a token, and who does not is a stranger. */
      auth: z.enum(["token", "none"]).default("token"),
      /** The agent behind sessions that name none. */
      backend: z.string().min(1).max(64).default("native"),
    })
    .prefault({}),
  /** Secrets of one's own, which are kept out of records beside those that are known by their form. */
  redact: z
    .strictObject({
      /** Variables of the environment whose values are secrets. */
      variables: z.array(z.string().min(1)).default([]),
      /** Files that hold secrets, one on each line. */
      files: z.array(z.string().min(1)).default([]),
      /** Forms of secrets, written as a pattern. */
      formats: z.array(z.strictObject({ name: z.string().min(1), pattern: z.string().min(1) })).default([]),
    })
    .prefault({}),
  /** What the native agent does otherwise than by default. */
  native: z
    .strictObject({
      /** Hours of the day, in local time, in which nothing is done in the background. */
      quiet_hours: z.strictObject({ from: z.int().min(0).max(23), to: z.int().min(0).max(24) }).optional(),
      /** How busy the machine may be, as load for each processor, while something is done in the background. */
      most_load: z.number().positive().optional(),
      /** How many seconds a model that is at its limit is waited for. */
      patience: z.number().min(0).max(86_400).optional(),
      /** Whether a long turn goes on without anybody being asked. */
      may_spend: z.boolean().optional(),
      /** What models cost, in dollars for a million tokens, by id or name; limits in `cost` count by it. */
      prices: z.record(z.string().min(1), Price).default({}),
    })
    .prefault({}),
  /** Agents that the operating system is to confine to their folders, by id; `*` is all. */
  confine: z.record(z.string(), z.strictObject({ network: Network.default("open") })).default({}),
});
export type Configuration = z.infer<typeof Configuration>;

/** The name of the file in a home. */
export const CONFIGURATION_FILE = "reins.yaml";

/** Reads the configuration of a home; one that is not there says nothing. */
export async function readConfiguration(home: string): Promise<Configuration> {
  const configuration = await readYamlFile(join(home, CONFIGURATION_FILE), Configuration);
  const webhooks = await Promise.all(configuration.webhooks.map((webhook) => withSecret(home, webhook)));
  return { ...configuration, webhooks };
}

/** The folders of tenants, absolute. */
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

async function withSecret(
  home: string,
  webhook: Configuration["webhooks"][number],
): Promise<Configuration["webhooks"][number]> {
  if (!webhook.secret.startsWith("@")) return webhook;
  const path = resolve(home, webhook.secret.slice(1));
  const secret = await readIfExists(path);
  if (secret === undefined)
    throw unusable(path, `it holds the secret of the webhook "${webhook.name}" and is not there`);
  return { ...webhook, secret: secret.trim() };
}

/** What a configuration says of the native agent, in the host's words. */
export function nativeSettings({
  quiet_hours,
  most_load,
  patience,
  may_spend,
  prices = {},
}: Partial<Configuration["native"]>): NonNullable<HostingOptions["native"]> {
  return {
    idle: {
      ...(quiet_hours && { quietHours: quiet_hours }),
      ...(most_load !== undefined && { mostLoad: most_load }),
    },
    patience: { ...(patience !== undefined && { mostMs: patience * 1_000 }) },
    presence: { ...(may_spend !== undefined && { maySpend: may_spend }) },
    prices: Object.fromEntries(
      Object.entries(prices).map(([model, { input, output, cache_read, cache_write }]) => [
        model,
        { input, output, cacheRead: cache_read, cacheWrite: cache_write },
      ]),
    ),
  };
}
