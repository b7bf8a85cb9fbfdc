import { z } from "zod";

const Named = z.object({ name: z.string(), value: z.string() });

const StdioServer = z.object({
  name: z.string().min(1),
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: z.array(Named).default([]),
});

const HttpServer = z.object({
  type: z.literal("http"),
  name: z.string().min(1),
  url: z.url({ protocol: /^https?$/ }),
  headers: z.array(Named).default([]),
});

/** A server of tools, as `session/new` declares it. */
export const McpServerEntry = z.union([HttpServer, StdioServer]);
export type McpServerEntry = z.infer<typeof McpServerEntry>;

/** Names and values as an object. */
export function asRecord(pairs: readonly z.infer<typeof Named>[]): Record<string, string> {
  return Object.fromEntries(pairs.map(({ name, value }) => [name, value]));
}
