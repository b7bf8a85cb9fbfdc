import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { errorCode, JsonError, readJsonFile, replaceFile, SerialQueue } from "@reins/kit";
import { parseStored } from "@reins/store";
import type { Principal } from "@reins/supervisor";
import { z } from "zod";
import { FileFault } from "../files/file-fault.ts";
import { realPlace } from "../governor/text-file.ts";

const Pairs = z.record(z.string(), z.string());
const Common = { enabled: z.boolean().optional() };
/** Entries as Sandbox Agent's clients store them, in the form of ACP. */
const StoredServer = z.union([
  z.looseObject({
    ...Common,
    type: z.enum(["local", "stdio"]),
    command: z.union([z.string(), z.array(z.string()).min(1)]),
    args: z.array(z.string()).optional(),
    env: Pairs.optional(),
  }),
  z.looseObject({
    ...Common,
    type: z.enum(["remote", "http"]),
    url: z.string(),
    transport: z.enum(["http", "sse"]).nullish(),
    headers: Pairs.optional(),
  }),
]);
/** What changes what a server is, and cannot be applied: ACP has no such member. */
const NOT_APPLIED = ["cwd", "bearerTokenEnvVar", "envHeaders", "oauth"] as const;

const Noted = z.object({
  tenant: z.string(),
  user: z.string(),
  folder: z.string(),
  name: z.string(),
  digest: z.string(),
});
type Noted = Readonly<z.infer<typeof Noted>>;
const NotedFile = z.object({ servers: z.array(Noted) });

const MOST_OF_USER = 1_000;
const MOST_BYTES = 4 * 1024 * 1024;

/**
 * The MCP servers that users stored for folders through the API. They lie in a file of the folder, where agents and
 * repositories can write, too: one counts only as its user stored it, and only in sessions of that user.
 */
export class FolderServers {
  readonly #path: string;
  readonly #writes = new SerialQueue();
  #noted: readonly Noted[];

  private constructor(path: string, noted: readonly Noted[]) {
    this.#path = path;
    this.#noted = noted;
  }

  static async open(home: string): Promise<FolderServers> {
    const path = join(home, "folder-servers.json");
    const { servers } = (await readJsonFile(path, NotedFile)) ?? { servers: [] };
    return new FolderServers(path, servers);
  }

  /** The file of a folder that holds its servers. */
  static file(folder: string): string {
    return join(folder, ".sandbox-agent", "config", "mcp.json");
  }

  /** Throws if an entry could not be applied. */
  expect(name: string, entry: object): void {
    const other = NOT_APPLIED.filter((member) => Object.hasOwn(entry, member));
    if (other.length > 0)
      throw new FileFault(
        "invalid",
        `${name} has ${other.join(", ")}, which sessions of Reins cannot be given`,
      );
    if (!StoredServer.safeParse(entry).success)
      throw new FileFault(
        "invalid",
        `${name} is neither a command with args and env, nor a url with headers`,
      );
  }

  /** Notes that a user stored an entry, or removed it. */
  async note({ tenant, user }: Principal, folder: string, name: string, entry?: object): Promise<void> {
    const real = await realPlace(folder);
    await this.#writes.run(async () => {
      const others = this.#noted.filter(
        (one) => one.tenant !== tenant || one.user !== user || one.folder !== real || one.name !== name,
      );
      const isFull =
        others.filter((one) => one.tenant === tenant && one.user === user).length >= MOST_OF_USER;
      if (entry && isFull)
        throw new FileFault("conflict", `you have ${MOST_OF_USER} servers stored; remove one`);
      const own = entry ? [{ tenant, user, folder: real, name, digest: digestOf(entry) }] : [];
      const servers = [...others, ...own];
      if (servers.length === this.#noted.length && !entry) return;
      await replaceFile(this.#path, `${JSON.stringify({ servers })}\n`);
      this.#noted = servers;
    });
  }

  /** The servers of a user's sessions in a folder, in the form of ACP. */
  async serversFor({ tenant, user }: Principal, folder: unknown): Promise<readonly object[]> {
    if (typeof folder !== "string" || this.#noted.length === 0) return [];
    const real = await realPlace(folder);
    const noted = this.#noted.filter(
      (one) => one.tenant === tenant && one.user === user && one.folder === real,
    );
    if (noted.length === 0) return [];
    const stored = await readStored(FolderServers.file(real));
    return noted.flatMap(({ name, digest }) => {
      const entry = stored.get(name);
      return entry !== undefined && digestOf(entry) === digest ? serverOf(name, entry) : [];
    });
  }
}

/** Names an entry as it is read back from its file. */
function digestOf(entry: unknown): string {
  const read: unknown = JSON.parse(JSON.stringify(entry));
  return createHash("sha256").update(JSON.stringify(read)).digest("hex");
}

/** What a file holds by name; nothing if it is no plain file, too large or malformed. What is noted tells the rest. */
async function readStored(path: string): Promise<ReadonlyMap<string, unknown>> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags).catch((error: unknown) => {
    if (errorCode(error) !== undefined) return undefined;
    throw error;
  });
  if (!file) return new Map();
  try {
    const stats = await file.stat();
    if (!stats.isFile() || stats.size > MOST_BYTES) return new Map();
    const value = parseStored(await file.readFile("utf8"));
    return new Map(Object.entries(z.record(z.string(), z.unknown()).parse(value)));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof JsonError || error instanceof z.ZodError)
      return new Map();
    throw error;
  } finally {
    await file.close();
  }
}

function serverOf(name: string, entry: unknown): readonly object[] {
  const { data } = StoredServer.safeParse(entry);
  if (!data || data.enabled === false) return [];
  const pairs = (given: Readonly<Record<string, string>> = {}) =>
    Object.entries(given).map(([key, value]) => ({ name: key, value }));
  if ("url" in data && (data.type === "remote" || data.type === "http"))
    return [{ type: data.transport ?? "http", name, url: data.url, headers: pairs(data.headers) }];
  if (data.type !== "local" && data.type !== "stdio") return [];
  const [command = "", ...first] = [data.command].flat();
  return [{ name, command, args: [...first, ...(data.args ?? [])], env: pairs(data.env) }];
}
