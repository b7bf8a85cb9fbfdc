import { isUtf8 } from "node:buffer";
import { basename, resolve } from "node:path";
import type { JsonObject } from "@reins/acp";
import { opencodeOperations } from "@reins/api";
import type { Hosting } from "@reins/host";
import { HttpProblem } from "../problems.ts";
import type { AuthorizedCall, Router } from "../routes/router.ts";
import { callerOf } from "../v1/files.ts";
import type { OpenCodeContext } from "./opencode-routes.ts";
import { OPENCODE_VERSION, PROJECT, SHOWN_MODEL } from "./shapes.ts";

const SCHEMA = "https://opencode.ai/config.json";
const MOST_BYTES = 16 * 1024 * 1024;
const MOST_ENTRIES = 10_000;

/** The one model that clients are offered: an agent chooses its own. */
const MODEL = {
  id: SHOWN_MODEL.modelID,
  providerID: SHOWN_MODEL.providerID,
  api: { id: SHOWN_MODEL.modelID, url: "", npm: "" },
  name: "The agent's own model",
  capabilities: {
    ...{ temperature: false, reasoning: true, attachment: true, toolcall: true, interleaved: false },
    input: { text: true, audio: false, image: true, video: false, pdf: false },
    output: { text: true, audio: false, image: false, video: false, pdf: false },
  },
  cost: { input: 0, output: 0, cache: { read: 0, write: 0 } },
  limit: { context: 0, output: 0 },
  ...{ status: "active", options: {}, headers: {}, release_date: "", variants: {} },
};
const PROVIDER = {
  ...{ id: SHOWN_MODEL.providerID, name: "Reins", source: "custom", env: [], options: {} },
  models: { [MODEL.id]: MODEL },
};
const DEFAULTS = { [SHOWN_MODEL.providerID]: MODEL.id };

interface Asked extends OpenCodeContext {
  readonly call: AuthorizedCall;
}

type Answer = (asked: Asked) => Promise<unknown> | unknown;

const noItems: Answer = () => [];
const noMembers: Answer = () => ({});

/** What clients ask for at their start, by its path. What is not here is not mapped. */
const ANSWERS: Readonly<Record<string, Answer>> = {
  agent: agentsOf,
  command: noItems,
  config: configOf,
  "config/providers": () => ({ providers: [PROVIDER], default: DEFAULTS }),
  "experimental/capabilities": noMembers,
  "experimental/console": () => ({ consoleManagedProviders: [], switchableOrgCount: 0 }),
  "experimental/resource": noMembers,
  "experimental/workspace": noItems,
  "file/status": noItems,
  formatter: noItems,
  "global/config": configOf,
  "global/health": () => ({ healthy: true, version: OPENCODE_VERSION }),
  lsp: noItems,
  mcp: noMembers,
  path: pathOf,
  project: async (asked) => [await projectOf(asked)],
  "project/current": projectOf,
  provider: () => ({ all: [PROVIDER], default: DEFAULTS, connected: [PROVIDER.id] }),
  "provider/auth": noMembers,
  question: noItems,
  skill: noItems,
  vcs: noMembers,
};

const { about, aboutMore, listFiles, readFile } = opencodeOperations;

/** Mounts what describes the server, its agents and their folders, and the files of callers, read-only. */
export function mountDescription(router: Router, context: OpenCodeContext): void {
  const answer = async (name: string, call: AuthorizedCall): Promise<unknown> => {
    const made = Object.hasOwn(ANSWERS, name) ? ANSWERS[name] : undefined;
    if (!made) throw new HttpProblem("not_implemented", `Reins does not map GET /${name} of OpenCode's API`);
    return made({ ...context, call });
  };
  router.handle(about, (call) => answer(call.params.part, call));
  router.handle(aboutMore, (call) => answer(`${call.params.part}/${call.params.detail}`, call));
  router.transfer(listFiles, async (call) => {
    const [{ files }, folder] = await Promise.all([context.hosting(), context.folderOf(call)]);
    const entries: JsonObject[] = [];
    for await (const { name, path, entryType } of files.list(
      callerOf(call),
      resolve(folder, call.query.path),
    )) {
      if (entries.length >= MOST_ENTRIES) break;
      const shown = `${call.query.path.replace(/^\.?\/*$/, "")}`;
      const inside = [shown, name].filter((part) => part !== "").join("/");
      const isFolder = entryType === "directory";
      const type = isFolder ? "directory" : "file";
      entries.push({ name, path: isFolder ? `${inside}/` : inside, absolute: path, type, ignored: false });
    }
    return { status: 200, headers: JSON_TYPE, body: entries };
  });
  router.transfer(readFile, async (call) => {
    const [{ files }, folder] = await Promise.all([context.hosting(), context.folderOf(call)]);
    const file = await files.open(callerOf(call), resolve(folder, call.query.path));
    if (file.size > MOST_BYTES) {
      await file.close();
      throw new HttpProblem("too_large", `${basename(file.path)} has more than ${MOST_BYTES} bytes`);
    }
    const bytes = await bytesOf(file);
    const body = isUtf8(bytes)
      ? { type: "text", content: bytes.toString() }
      : { type: "binary", content: bytes.toString("base64"), encoding: "base64" };
    return { status: 200, headers: JSON_TYPE, body };
  });
}

const JSON_TYPE = { "content-type": "application/json; charset=utf-8" };

async function bytesOf(file: Awaited<ReturnType<Hosting["files"]["open"]>>): Promise<Buffer> {
  if (file.size === 0) {
    await file.close();
    return Buffer.alloc(0);
  }
  const chunks: Buffer[] = await file.stream(0, file.size - 1).toArray();
  return Buffer.concat(chunks);
}

/** The agents of the catalogue. Clients offer the default one and those built in; the others can be named. */
async function agentsOf({ hosting, defaultAgent }: Asked): Promise<readonly object[]> {
  const { catalogue } = await hosting();
  const agents = catalogue.entries.map(({ id, name, builtIn }) => ({
    name: id,
    description: name,
    mode: "primary",
    native: builtIn,
    hidden: !builtIn && id !== defaultAgent,
    permission: [{ permission: "*", pattern: "*", action: "ask" }],
    model: SHOWN_MODEL,
    options: {},
  }));
  return agents.toSorted(
    (one, other) => Number(other.name === defaultAgent) - Number(one.name === defaultAgent),
  );
}

function configOf({ defaultAgent }: Asked): object {
  return {
    $schema: SCHEMA,
    model: `${SHOWN_MODEL.providerID}/${SHOWN_MODEL.modelID}`,
    default_agent: defaultAgent,
    ...{ share: "disabled", autoupdate: false, username: "reins" },
    ...{ command: {}, plugin: [], mode: {}, agent: {} },
  };
}

async function pathOf({ call, folderOf }: Asked): Promise<object> {
  const directory = await folderOf(call);
  return { home: "", state: "", config: "", worktree: directory, directory };
}

async function projectOf({ call, folderOf }: Asked): Promise<object> {
  const worktree = await folderOf(call);
  return { id: PROJECT, worktree, time: { created: 0, updated: 0 }, sandboxes: [] };
}
