import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type HostingOptions, loginHeader, SealedLogins } from "@reins/host";
import { DEFAULT_TENANT, Vault } from "@reins/supervisor";
import { z } from "zod";
import { CliError } from "../errors.ts";
import { keysIn } from "../home.ts";

/** Values by name. A value `@path` is read from a file, relative to the home. */
const Values = z.record(z.string().min(1), z.string()).default({});

const Audience = {
  /** The agents that get it, by id; all when absent. */
  agents: z.array(z.string().min(1)).optional(),
  /** The tenants whose sessions get it; by default the first one alone. */
  tenants: z.array(z.string().min(1)).default([DEFAULT_TENANT]),
};

/** An MCP server of `reins.yaml`. */
const Server = z.union([
  z.strictObject({
    ...Audience,
    command: z.string().min(1),
    args: z.array(z.string()).default([]),
    env: Values,
  }),
  z.strictObject({
    ...Audience,
    url: z.url({ protocol: /^https?$/ }),
    type: z.enum(["http", "sse"]).default("http"),
    headers: Values,
    /** Whether the login of `reins mcp login` is used. */
    login: z.boolean().default(false),
  }),
]);

/** The MCP servers that sessions get beside those that their clients name. */
export const McpSettings = z
  .strictObject({ servers: z.record(z.string().regex(/^[\w.-]{1,64}$/), Server).default({}) })
  .prefault({});

/** Reads the secrets of configured servers, and maps them to the option of the host. */
export async function mcpServersFor(
  home: string,
  { servers }: z.infer<typeof McpSettings>,
): Promise<NonNullable<HostingOptions["serversFor"]>> {
  const all = await Promise.all(
    Object.entries(servers).map(async ([name, { agents, tenants, ...server }]) => {
      if (!("url" in server))
        return {
          agents,
          tenants,
          declared: { ...server, name, env: await valuesOf(home, name, server.env) },
        };
      const { login, ...reached } = server;
      const headers = await valuesOf(home, name, server.headers);
      if (login) headers.push(await loginHeader(await loginsOf(home), server.url));
      return { agents, tenants, declared: { ...reached, name, headers } };
    }),
  );
  return (agent, tenant) =>
    all.flatMap(({ agents, tenants, declared }) =>
      tenants.includes(tenant) && agents?.includes(agent) !== false ? [declared] : [],
    );
}

/** The logins to MCP servers that a home keeps. */
export async function loginsOf(home: string): Promise<SealedLogins> {
  return new SealedLogins(home, await Vault.open(keysIn(home)));
}

function valuesOf(home: string, server: string, given: Readonly<Record<string, string>>) {
  return Promise.all(
    Object.entries(given).map(async ([name, value]) => {
      if (!value.startsWith("@")) return { name, value };
      const path = resolve(home, value.slice(1));
      const secret = await readFile(path, "utf8").catch((cause: unknown) => {
        throw new CliError(`${path} holds ${name} of the MCP server "${server}" and cannot be read.`, {
          next: "Write it, or name another file in reins.yaml.",
          cause,
        });
      });
      return { name, value: secret.trim() };
    }),
  );
}
