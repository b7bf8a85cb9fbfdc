import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Channel, CODE, isObject, type JsonObject, membersOf, Peer, RpcError } from "@reins/acp";
import { errorMessage, MessageError, readJsonFile, replaceFile, settlesWithin } from "@reins/kit";
import { AgentProcess, type KeptText, Owner, PrivateHome, type ProcessExit } from "@reins/runner";
import { ScriptedModel } from "@reins/scripted-model";
import { z } from "zod";
import type { AgentEntry } from "./agent-entry.ts";
import { AgentError } from "./agent-error.ts";
import { type AgentLaunch, launchOf, sessionMeta, settingsHash } from "./agent-launch.ts";
import type { InstalledAgent } from "./install/installer.ts";

const Probed = z.object({
  agent: z.string(),
  version: z.string(),
  /** The hash of the settings it was probed with. */
  settings: z.string(),
  probedAt: z.string(),
  /** What it answered to `initialize`. */
  initialized: z.record(z.string(), z.unknown()),
  /** What it answered to `session/new`: modes and options; absent when it would not open one. */
  session: z.record(z.string(), z.unknown()).optional(),
  /** Why it would not open a session, such as a login that is missing. */
  refused: z.object({ code: z.number(), message: z.string() }).optional(),
});

/** What an agent said of itself when it was asked. */
export type Probed = z.infer<typeof Probed>;

/** What a probe needs. */
interface ProbeOptions {
  readonly entry: AgentEntry;
  readonly version: string;
  readonly launch: Pick<AgentLaunch, "meta" | "strip">;
  /** An agent that was just started with that launch. */
  readonly channel: Channel;
  /** An empty folder to open a session in. */
  readonly cwd: string;
  readonly now: () => Date;
  readonly signal: AbortSignal;
}

/** Asks a running agent what it can do: by `initialize`, and by opening a session that is never used. */
export async function probe(options: ProbeOptions): Promise<Probed> {
  const { entry, version, launch, cwd, now, signal } = options;
  const peer = new Peer(options.channel, {
    request: async (method) => {
      throw new RpcError(CODE.methodNotFound, `${method} is not served to a probe`);
    },
    notification: () => undefined,
  });
  const ask = (method: string, params: JsonObject) => answerOf(entry, peer, method, params, signal);
  const initialized = await ask("initialize", {
    protocolVersion: 1,
    clientInfo: { name: "reins", title: "Reins", version },
    clientCapabilities: {},
  });
  const about = { agent: entry.id, version, settings: settingsHash(entry), probedAt: now().toISOString() };
  try {
    const { meta: _meta } = sessionMeta(launch);
    const { sessionId: _, ...session } = await ask("session/new", { cwd, mcpServers: [], _meta });
    return { ...about, initialized, session };
  } catch (error) {
    const { cause } = error instanceof AgentError ? error : { cause: error };
    if (!(cause instanceof RpcError) || peer.signal.aborted) throw error;
    return { ...about, initialized, refused: { code: cause.code, message: cause.message } };
  }
}

/** What was learnt by probes, kept by agent, version and settings. */
export class ProbeCache {
  readonly #folder: string;

  /** @param folder the one that holds a folder for each agent */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** What is known of an agent in this version under the settings of its entry; undefined when it has to be asked. */
  find(entry: AgentEntry, version: string): Promise<Probed | undefined> {
    return readJsonFile(this.#file(entry, version), Probed);
  }

  /** Remembers what an agent said. */
  async keep(entry: AgentEntry, probed: Probed): Promise<void> {
    const file = this.#file(entry, probed.version);
    await replaceFile(file, `${JSON.stringify(probed, undefined, 2)}\n`);
  }

  #file(entry: AgentEntry, version: string): string {
    const name = `${version.replaceAll(/[^\w.+-]/g, "_")}-${settingsHash(entry).slice(0, 16)}.json`;
    return join(this.#folder, `${entry.id}.probes`, name);
  }
}

async function answerOf(
  { name }: AgentEntry,
  peer: Peer,
  method: string,
  params: JsonObject,
  signal: AbortSignal,
): Promise<JsonObject> {
  try {
    const gone = new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    const answer = await Promise.race([peer.request(method, params, { signal }), gone]);
    if (isObject(answer)) return membersOf(answer);
    throw new Error("it was no object");
  } catch (cause) {
    const reason = errorMessage(cause);
    throw new AgentError("probe_failed", `${name} did not answer ${method}: ${reason}`, { cause });
  }
}

/** Whom to ask what it can do. */
export interface ProbeAgentOptions {
  readonly entry: AgentEntry;
  readonly installed: InstalledAgent;
  /** Where PATH and language come from. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Applied to what the agent writes on stderr. */
  readonly redactor: TextRedactor;
  readonly now: () => Date;
  readonly signal: AbortSignal;
}

/**
 * Starts an agent only to read its capabilities: in a home that is thrown away, with no credentials, and with a model that
 * says nothing where the agent can be given one.
 */
export async function probeAgent(options: ProbeAgentOptions): Promise<Probed> {
  const base = await realpath(await mkdtemp(join(tmpdir(), "reins-probe-")));
  try {
    if (!options.entry.endpoint) return await probeIn(base, options);
    const script = () => ({ kind: "reply" as const, parts: [], stop: "end" as const });
    await using model = await ScriptedModel.listen({ script });
    return await probeIn(base, options, model);
  } finally {
    await rm(base, { recursive: true, force: true });
  }
}

async function probeIn(
  base: string,
  { entry, installed, environment, redactor, now, signal }: ProbeAgentOptions,
  model?: ScriptedModel,
): Promise<Probed> {
  const [folder, cwd] = [join(base, "home"), join(base, "workspace")];
  await mkdir(cwd);
  const launch = launchOf(entry, {
    folders: { home: join(folder, "home"), temporary: join(folder, "tmp") },
    install: installed.folder,
    environment,
    node: process.execPath,
    platform: `${process.platform}-${process.arch}`,
    ...(model && { model: model.endpoint }),
  });
  const files = Object.entries(launch.files).map(([path, text]) => ({ path, text }));
  const { home } = await PrivateHome.prepare({ folder, credentials: [], files });
  const owner = new Owner(base);
  const agent = await AgentProcess.start(
    { ...launch, cwd: home, label: entry.name },
    { owner, onFault: () => undefined },
  );
  try {
    const { version } = installed;
    return await probe({
      entry,
      version,
      launch,
      channel: processChannel(agent, redactor),
      cwd,
      now,
      signal,
    });
  } finally {
    await agent.stop();
  }
}

/** How long a process whose input is closed is given to end. */
const ENDING_MS = 1_000;

/** Takes secrets out of what an agent wrote; "cut" says that the text may end in the middle of one. */
export interface TextRedactor {
  text(text: string, end?: "cut"): string;
}

/** The way to an agent's process. When it ends, whatever waits for it learns how, and what it complained of. */
export function processChannel(process: AgentProcess, redactor: TextRedactor): Channel {
  const closed = process.exited.then((exit) => endOf(process.label, exit, redactor));
  const send = (message: JsonObject) =>
    process.send(message).catch(async (error: unknown) => {
      const isGone = error instanceof MessageError && error.code === "gone";
      // A pipe breaks before it is known that the process has ended, and how says more.
      throw isGone && (await settlesWithin(closed, ENDING_MS)) ? await closed : error;
    });
  return { send, onMessage: (listener) => process.onMessage(listener), closed };
}

function endOf(
  label: string,
  { code, signal, stderr: written }: ProcessExit,
  redactor: TextRedactor,
): RpcError {
  const stderr = shownOf(written, redactor);
  const how = signal ? `was ended by ${signal}` : `ended with code ${code}`;
  const lines = (stderr.tail || stderr.head).trim().split("\n");
  // A program that dies of an error says after it where it was, and what runs it.
  const said = lines.findLast((line) => THROWN.test(line)) ?? lines.at(-1);
  const message = `${label} ${how}${said ? `: ${said}` : ""}`;
  return new RpcError(CODE.internal, message, { exit_code: code, signal, stderr });
}

const THROWN = /^\s*(?:Uncaught )?[A-Z]\w*(?:Error|Exception)\b/;

/** What is kept of an output, without its secrets. Where something was left out, either side may be half of one. */
function shownOf({ head, tail, omitted }: KeptText, redactor: TextRedactor): KeptText {
  if (omitted === 0) return { head: redactor.text(head + tail), tail: "", omitted };
  const whole = tail.slice(tail.search(/\s|$/));
  return { head: redactor.text(head, "cut"), tail: redactor.text(whole), omitted };
}
