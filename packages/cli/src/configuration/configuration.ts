import { join } from "node:path";
import { z } from "zod";
import { readIfThere, readYamlFile, unusable } from "./yaml-file.ts";

/** An address that is told of every change of an approval. */
const Webhook = z.strictObject({
  /** Known by this across restarts. */
  name: z.string().min(1),
  url: z.url(),
  /** Signs what is sent. `@path` reads it from a file. */
  secret: z.string().min(1),
  tenant: z.string().optional(),
});

/** What a confined agent reaches: everything, nothing, or the hosts that are named. */
const Network = z.union([z.enum(["open", "off"]), z.strictObject({ hosts: z.array(z.string()).min(1) })]);

/** What `reins.yaml` in a home may say. */
const Configuration = z.strictObject({
  host: z.string().min(1).optional(),
  port: z.int().min(0).max(65_535).optional(),
  /** Names this machine is addressed by. */
  allow_hosts: z.array(z.string()).default([]),
  /** Folders in which agents that only speak AHP work. */
  workspaces: z.array(z.string()).default([]),
  webhooks: z.array(Webhook).default([]),
  /** Agents that the operating system is to confine to their folders, by id; `*` is all. */
  confine: z.record(z.string(), z.strictObject({ network: Network.default("open") })).default({}),
});
export type Configuration = z.infer<typeof Configuration>;

/** The name of the file in a home. */
const CONFIGURATION_FILE = "reins.yaml";

/** Reads the configuration of a home; one that is not there says nothing. */
export async function readConfiguration(home: string): Promise<Configuration> {
  const configuration = await readYamlFile(join(home, CONFIGURATION_FILE), Configuration);
  const webhooks = await Promise.all(configuration.webhooks.map(withSecret));
  return { ...configuration, webhooks };
}

async function withSecret(
  webhook: Configuration["webhooks"][number],
): Promise<Configuration["webhooks"][number]> {
  if (!webhook.secret.startsWith("@")) return webhook;
  const path = webhook.secret.slice(1);
  const secret = await readIfThere(path);
  if (secret === undefined)
    throw unusable(path, `it holds the secret of the webhook "${webhook.name}" and is not there`);
  return { ...webhook, secret: secret.trim() };
}
