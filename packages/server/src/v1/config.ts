import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { configOperations } from "@reins/api";
import { type FileCaller, FileFault, type FileService, type Hosting } from "@reins/host";
import { isRecord } from "@reins/kit";
import { required } from "../access/authenticator.ts";
import { parseBody } from "../gateway/request.ts";
import { callerProblems, HttpProblem } from "../problems.ts";
import type { LongPollCall, Routes } from "../routes/router.ts";
import { callerOf } from "./files.ts";

const MOST_BYTES = 4 * 1024 * 1024;
const MOST_ATTEMPTS = 8;
const DONE = { status: 204 } as const;

/** What Sandbox Agent's clients store for a folder, in files of the folder by the names that it uses. */
export function configRoutes(hosting: () => Promise<Hosting>): Routes {
  const stored = async (call: LongPollCall, kind: "mcp" | "skills", directory: string) =>
    new StoredConfigs((await required(hosting)).files, callerOf({ ...call, query: {} }), kind, directory);
  return {
    name: "config",
    mount(router) {
      const { getMcpConfig, putMcpConfig, deleteMcpConfig } = configOperations;
      const { getSkillsConfig, putSkillsConfig, deleteSkillsConfig } = configOperations;
      router.longPoll(getMcpConfig, async (call) => {
        const { directory, mcpName } = call.query;
        return callerProblems(async () => (await stored(call, "mcp", directory)).get(mcpName));
      });
      router.longPoll(getSkillsConfig, async (call) => {
        const { directory, skillName } = call.query;
        return callerProblems(async () => (await stored(call, "skills", directory)).get(skillName));
      });
      router.longPoll(putMcpConfig, async (call) => {
        const { directory, mcpName } = call.query;
        await callerProblems(async () => {
          const { folderServers } = await required(hosting);
          folderServers.expect(mcpName, call.body);
          const folder = await (await stored(call, "mcp", directory)).set(mcpName, call.body);
          await folderServers.note(call.principal, folder ?? directory, mcpName, call.body);
        });
        return DONE;
      });
      router.longPoll(putSkillsConfig, async (call) => {
        const { directory, skillName } = call.query;
        await callerProblems(async () => (await stored(call, "skills", directory)).set(skillName, call.body));
        return DONE;
      });
      router.longPoll(deleteMcpConfig, async (call) => {
        const { directory, mcpName } = call.query;
        await callerProblems(async () => {
          const folder = await (await stored(call, "mcp", directory)).set(mcpName, undefined);
          await (await required(hosting)).folderServers.note(call.principal, folder ?? directory, mcpName);
        });
        return DONE;
      });
      router.longPoll(deleteSkillsConfig, async (call) => {
        const { directory, skillName } = call.query;
        await callerProblems(async () => (await stored(call, "skills", directory)).set(skillName, undefined));
        return DONE;
      });
    },
  };
}

/** The entries of one file, by name. */
class StoredConfigs {
  readonly #files: FileService;
  readonly #caller: FileCaller;
  readonly #path: string;

  constructor(files: FileService, caller: FileCaller, kind: string, directory: string) {
    this.#files = files;
    this.#caller = caller;
    this.#path = join(directory, ".sandbox-agent", "config", `${kind}.json`);
  }

  async get(name: string): Promise<{ readonly status: 200; readonly text: string }> {
    const entry = (await this.#read()).entries.get(name);
    if (entry === undefined) throw new HttpProblem("not_found", `nothing is stored as ${name}`);
    return { status: 200, text: JSON.stringify(entry) };
  }

  /**
   * Stores an entry, or removes it: in what others have stored meanwhile, because a person may be asked about it. Returns
   * the folder if its file was written.
   */
  async set(name: string, entry: object | undefined): Promise<string | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      const { entries, version } = await this.#read();
      if (entry) entries.set(name, entry);
      else if (!entries.delete(name)) return undefined;
      const text = Buffer.from(`${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`);
      if (text.length > MOST_BYTES) throw new HttpProblem("too_large", `${this.#path} would be too large`);
      const precondition = (found: string | undefined) => found === version;
      try {
        const { path } = await this.#files.write(this.#caller, this.#path, Readable.from([text]), {
          ...{ bytes: text.length, precondition },
        });
        return dirname(dirname(dirname(path)));
      } catch (error) {
        const isChanged = error instanceof FileFault && error.code === "precondition_failed";
        if (!isChanged) throw error;
        if (attempt === MOST_ATTEMPTS) throw new HttpProblem("conflict", error.message, { cause: error });
      }
    }
  }

  async #read(): Promise<{ readonly entries: Map<string, unknown>; readonly version?: string }> {
    const file = await this.#files.open(this.#caller, this.#path).catch((error: unknown) => {
      if (error instanceof FileFault && error.code === "not_found") return undefined;
      throw error;
    });
    if (!file) return { entries: new Map() };
    const { size, version } = file;
    if (size === 0 || size > MOST_BYTES) await file.close();
    if (size === 0) return { entries: new Map(), version };
    const chunks: Buffer[] = size > MOST_BYTES ? [] : await file.stream(0, size - 1).toArray();
    const entries = entriesIn(Buffer.concat(chunks));
    // What others have written there is not replaced.
    if (!entries)
      throw new HttpProblem("conflict", `${this.#path} is too large, or no object of JSON; remove it`);
    return { entries, version };
  }
}

function entriesIn(bytes: Buffer): Map<string, unknown> | undefined {
  try {
    const value = parseBody(bytes.toString());
    return isRecord(value) ? new Map(Object.entries(value)) : undefined;
  } catch (error) {
    if (error instanceof HttpProblem) return undefined;
    throw error;
  }
}
