import { createHash } from "node:crypto";
import type { HostingOptions } from "@reins/host";
import { isLoopback } from "@reins/kit";
import type { RestateSettings } from "@reins/restate";
import { z } from "zod";
import { isWithoutPassword } from "./exports.ts";

const ExecutorName = z.string().regex(/^[A-Za-z0-9][\w.-]{0,127}$/);
const Capabilities = z.array(z.string().min(1)).default([]);

/** A pipeline of action graphs. */
const Pipeline = z.strictObject({
  description: z.string().min(1),
  capabilities: Capabilities,
  /** Native tools with their input; `{ $ref: "input:<member>" }` stands for a member of the action's input. */
  steps: z
    .array(
      z.strictObject({
        /** What people and records call it: a name for files and addresses. */
        name: z
          .string()
          .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/)
          .optional(),
        tool: z.string().min(1),
        input: z.record(z.string(), z.unknown()).default({}),
      }),
    )
    .min(1)
    .max(100),
});

/** A service of action graphs. */
const Service = z.strictObject({
  description: z.string().min(1),
  capabilities: Capabilities,
  /** The address below which it may be called, and nowhere else. */
  url: z.url({ protocol: /^https?$/ }),
  methods: z
    .array(z.enum(["GET", "POST", "PUT", "PATCH", "DELETE"]))
    .min(1)
    .default(["GET"]),
  /** Sent with every request. A value `@path` is read from a file, relative to the home. */
  headers: z.record(z.string(), z.string()).default({}),
  /** Whether requests with the same Idempotency-Key have one effect, so that one is repeated after a crash. */
  idempotent: z.boolean().optional(),
  /** Seconds until it is given up. */
  timeout: z.number().positive().max(3_600).optional(),
  /** The largest response, in bytes. */
  max_bytes: z.int().positive().max(67_108_864).optional(),
});

/** Where Restate finds Reins where nothing else is configured. */
const LISTEN = "127.0.0.1:9080";

const Address = z
  .url({ protocol: /^https?$/ })
  .refine(isWithoutPassword, "an address has no password: a token goes into token");

/** The Restate server that carries durable runs, and where it calls Reins. */
const Restate = z
  .strictObject({
    /** Its ingress. */
    address: Address.default("http://127.0.0.1:8080"),
    /** Its admin API; by default port 9070 of the same host. */
    admin: Address.optional(),
    /** Sent to both, where a proxy in front of them wants one. `@path` reads it from a file, relative to the home. */
    token: z.string().min(1).optional(),
    /** Where Reins listens for it: by default at port 9080 of this machine, a node at any free one. */
    listen: z
      .string()
      .regex(/^.+:\d{1,5}$/, "listen is host:port")
      .optional(),
    /** How it reaches Reins, where that is not the address that Reins listens on, or of a node the host of `node.advertise`. */
    advertise: Address.optional(),
    /** Its public keys: with them, every other caller is refused. */
    identity_keys: z
      .array(z.string().regex(/^publickeyv1_\w+$/, "Restate writes its key as publickeyv1_… when it starts"))
      .default([]),
  })
  .refine(
    ({ listen, identity_keys }) => identity_keys.length > 0 || isLoopback(hostAndPort(listen ?? LISTEN).host),
    "without identity_keys, listen has to be on this machine: any caller that reaches it could have runs continued",
  )
  .prefault({});

/** The schema of `graphs` in `reins.yaml`. */
export const GraphsSettings = z
  .strictObject({
    /** The most actions of a run that are executed at once. */
    parallel: z.int().min(1).max(100).optional(),
    /** The most runs of a user that are under way. */
    open: z.int().min(1).max(10_000).optional(),
    /** The most attempts at actions of one run. */
    calls: z.int().min(1).max(1_000_000).optional(),
    /** Sums up results that are too long for a model: an agent without tools. */
    summarizer: z
      .strictObject({
        agent: z.string().min(1).optional(),
        /** The most tokens of one summary. */
        max_tokens: z.int().min(1_000).max(1_000_000).optional(),
      })
      .optional(),
    /** Steps that are executed one after the other, by name; each is decided like any other call. */
    pipelines: z.record(ExecutorName, Pipeline).default({}),
    /** Services that are called over HTTP, by name. */
    services: z.record(ExecutorName, Service).default({}),
    /** What carries durable runs. */
    engine: z.enum(["embedded", "restate"]).default("embedded"),
    restate: Restate,
  })
  .prefault({});
export type GraphsSettings = z.infer<typeof GraphsSettings>;

/** Maps the configuration of action graphs to the options of the host. */
export function graphSettings({
  parallel,
  open,
  calls,
  summarizer,
  pipelines = {},
  services = {},
}: Partial<GraphsSettings>): NonNullable<HostingOptions["graphs"]> {
  return {
    ...{ parallel, open, calls, pipelines },
    ...(summarizer && { summarizer: { agent: summarizer.agent, maxTokens: summarizer.max_tokens } }),
    services: Object.fromEntries(
      Object.entries(services).map(([name, { timeout, max_bytes: maxBytes, ...service }]) => [
        name,
        { ...service, maxBytes, timeoutMs: timeout === undefined ? undefined : timeout * 1_000 },
      ]),
    ),
  };
}

/** Where Restate is and how it calls Reins; `undefined` where it is not used. */
export function restateSettings({ engine, restate }: EngineSettings): RestateSettings | undefined {
  if (engine !== "restate") return undefined;
  const { address, admin, token, listen, advertise, identity_keys: identityKeys } = restate;
  const beside = new URL(address);
  beside.port = "9070";
  return {
    ...{ ingress: address, admin: admin ?? beside.origin, token, advertise, identityKeys },
    ...hostAndPort(listen ?? LISTEN),
  };
}

export type EngineSettings = Pick<GraphsSettings, "engine" | "restate">;

/** What opens the engine of durable runs, loaded where it is not the embedded one. Others may reach a node at a host. */
export async function durableEngine(
  settings: EngineSettings,
  nodeHost?: string,
): Promise<NonNullable<HostingOptions["graphs"]>["openDurable"]> {
  const configured = restateSettings(settings);
  if (!configured) return undefined;
  const { host, port, advertise } = configured;
  // What listens on all of its addresses is reached at none that it knows.
  const isReached = advertise !== undefined || nodeHost === undefined || isLoopback(host) || port === 0;
  const restate = isReached ? configured : { ...configured, advertise: `http://${nodeHost}:${port}` };
  const { Endpoint, RestateEngine } = await import("@reins/restate");
  // Each node says where it listens when it comes to serve a tenant with durable runs, which may be late.
  const endpoint = new Endpoint({ ...restate, ...(settings.restate.listen === undefined && { port: 0 }) });
  if (settings.restate.listen !== undefined) await endpoint.check();
  return ({ origin, tenant, ...parts }) => {
    // Several homes may use one Restate.
    const own = tenant === undefined ? origin : `${origin} ${tenant}`;
    const name = `Reins${createHash("sha256").update(own).digest("hex").slice(0, 12)}`;
    return new RestateEngine({
      ...{ ...parts, name, settings: restate },
      ...(tenant !== undefined && { endpoint }),
    });
  };
}

function hostAndPort(listen: string): { readonly host: string; readonly port: number } {
  const at = listen.lastIndexOf(":");
  return { host: listen.slice(0, at).replace(/^\[(.*)\]$/, "$1"), port: Number(listen.slice(at + 1)) };
}
