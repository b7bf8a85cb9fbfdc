import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { channelPair, type JsonObject, membersOf, Peer } from "@reins/acp";
import {
  Advisor,
  type ControlPort,
  commandEnvironment,
  modelConfigFrom,
  modelsFrom,
  NativeAgent,
  type Prices,
  SystemCommands,
} from "@reins/agent";
import { haakMessaging, mailTables } from "@reins/haak";
import { Hosting, hostTables } from "@reins/host";
import { type Draft, KeyFolder, Ledger, ledgerTables } from "@reins/ledger";
import { openSqlite } from "@reins/store";
import { Harness, harnessTables, writeFirstFiles } from "@reins/supervisor";

/** A client of the native agent. */
export interface NativeClient {
  ask(method: string, params: JsonObject): Promise<JsonObject>;
  /** Receives every update with its session. */
  onUpdate: (session: string, update: JsonObject) => void;
  /** Is called when a person would be asked, who allows everything once. */
  onAsked: (session: string) => void;
  readonly workspace: string;
  /** Where the harness keeps its files; empty where there is none. */
  readonly home: string;
  close(): Promise<void>;
}

/** What a client's agent is started with. */
export interface NativeClientOptions {
  /** Names the model, and holds its key; commands get the rest of it that is no key. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly prices?: Prices;
}

/** The native agent behind hub, governor, policy, ledger and store, as `reins up` has it. */
export async function governedClient({
  environment = {},
  prices = {},
}: NativeClientOptions = {}): Promise<NativeClient> {
  const { base, home, workspace } = await place();
  await writeFirstFiles(home);
  const tables = [ledgerTables, ...harnessTables, ...hostTables, mailTables];
  const store = await openSqlite({ path: join(home, "reins.db"), tables });
  const signers = new KeyFolder(join(home, "keys"));
  const ledger = await Ledger.open({ store, signers, newOrigin: () => "reins/bench" });
  const harness = await Harness.open({ home, userHome: base, store, ledger });
  const hosting = await Hosting.open({
    harness,
    messaging: haakMessaging(harness),
    environment,
    native: { prices },
    install: () => Promise.reject(new Error("nothing is installed")),
  });
  const client: NativeClient = {
    workspace,
    home,
    onUpdate: () => undefined,
    onAsked: () => undefined,
    ask: async (method, params) =>
      membersOf(await connection.request(method, params, new AbortController().signal)),
    close: async () => {
      await hosting.close();
      await harness.close();
      await store.close();
      await rm(base, { recursive: true, force: true });
    },
  };
  const connection = await hosting.hub.connect({
    principal: harness.identity.local(),
    agent: "native",
    outlet: {
      send: ({ id, method, params }) => {
        const { sessionId, update } = membersOf(params);
        if (method === "session/update") client.onUpdate(String(sessionId), membersOf(update));
        if (method !== "session/request_permission") return;
        client.onAsked(String(sessionId));
        setImmediate(() => connection.answer(String(id), ALLOWED));
      },
      failed: (error) => {
        throw error;
      },
    },
  });
  return client;
}

/** What a bare client waits for. */
interface Waits {
  readonly control?: ControlPort;
  /** Settles before a call is allowed. */
  readonly called?: () => Promise<unknown>;
}

/** The native agent by itself, with a client that allows everything. */
export async function bareClient(
  { environment = {}, prices = {} }: NativeClientOptions = {},
  { control, called = async () => undefined }: Waits = {},
): Promise<NativeClient> {
  const { base, workspace } = await place();
  const [ours, theirs, hangUp] = channelPair();
  const agent = new NativeAgent(theirs, {
    ...(control && { control }),
    models: modelsFrom(modelConfigFrom(environment), prices),
    commands: new SystemCommands(commandEnvironment(environment)),
  });
  const peer = new Peer(ours, {
    request: async () => {
      await called();
      return ALLOWED;
    },
    notification: (_, params) => {
      const { sessionId, update } = membersOf(params);
      client.onUpdate(String(sessionId), membersOf(update));
    },
  });
  const client: NativeClient = {
    workspace,
    home: "",
    onUpdate: () => undefined,
    onAsked: () => undefined,
    ask: async (method, params) => membersOf(await peer.request(method, params)),
    close: async () => {
      await agent.close();
      hangUp(new Error("the benchmark is over"));
      await rm(base, { recursive: true, force: true });
    },
  };
  return client;
}

/** The entries of a governed turn before its first words: in the first turn of a session, and in a later one. */
const [FIRST, LATER] = [10, 1];

/**
 * The native agent by itself, where first words and calls wait until as many entries of a ledger are on the disk as they
 * do in a governed turn. Nothing is decided: it is what the record alone costs.
 */
export async function recordingClient(): Promise<NativeClient> {
  const { base, home } = await place();
  const store = await openSqlite({ path: join(home, "reins.db"), tables: [ledgerTables] });
  const signers = new KeyFolder(join(home, "keys"));
  const ledger = await Ledger.open({ store, signers, newOrigin: () => "reins/bench" });
  const known = new Set<string>();
  const record = (session: string, count: number) =>
    ledger.record(Array.from({ length: count }, () => verdictOf(session)));
  const advisor = new Advisor();
  const control: ControlPort = {
    async ask(type, payload, call) {
      const { sessionId = "" } = call;
      if (type === "pre_prompt") {
        await record(sessionId, known.has(sessionId) ? LATER : FIRST);
        known.add(sessionId);
      }
      return advisor.ask(type, payload, call);
    },
    report: () => undefined,
    charge: async () => undefined,
  };
  const client = await bareClient({}, { control, called: () => record("calls", 1) });
  const { close } = client;
  // The same object: who uses it sets what it calls.
  return Object.assign(client, {
    close: async () => {
      await close();
      await ledger.close();
      await store.close();
      await rm(base, { recursive: true, force: true });
    },
  });
}

/** An entry as large as that of a verdict. */
function verdictOf(session: string): Draft {
  const hash = "0123456789abcdef".repeat(4);
  const names = { agent: "native", session, session_key: `native:acp:${session}`, user: "operator" };
  const subject = { ...names, chain: [], depth: 0, roles: ["admin"], scopes: ["*"], tenant: "default" };
  const hashes = { constitution_hash: hash, payload_commitment: hash, rules_hash: hash };
  const facts = {
    arguments: { path: "README.md" },
    effects: [{ kind: "read", path: "/workspace/README.md" }],
  };
  return {
    quality: "policy_verdict",
    actor: "native",
    target: "read_file",
    entity_id: session,
    tags: ["verdict", "allowed"],
    payload: { at: 0, ...hashes, facts, reason: "it reads something harmless", subject, verdict: "allowed" },
  };
}

const ALLOWED = { outcome: { outcome: "selected", optionId: "allow_once" } };

async function place() {
  const base = await realpath(await mkdtemp(join(tmpdir(), "native-hub-bench-")));
  const [home, workspace] = [join(base, "home"), join(base, "workspace")];
  await mkdir(home, { mode: 0o700 });
  await mkdir(workspace);
  await writeFile(join(workspace, "README.md"), "# Tea\n\nBrews tea.\n");
  await writeFile(join(workspace, "package.json"), '{"name":"tea","scripts":{"test":"true"}}');
  return { base, home, workspace };
}
