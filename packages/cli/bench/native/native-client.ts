import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { channelPair, type JsonObject, membersOf, Peer } from "@reins/acp";
import {
  commandEnvironment,
  modelConfigFrom,
  modelsFrom,
  NativeAgent,
  type Prices,
  SystemCommands,
} from "@reins/agent";
import { haakMessaging, mailTables } from "@reins/haak";
import { Hosting, hostTables } from "@reins/host";
import { KeyFolder, Ledger, ledgerTables } from "@reins/ledger";
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

/** The native agent by itself, with a client that allows everything. */
export async function bareClient({
  environment = {},
  prices = {},
}: NativeClientOptions = {}): Promise<NativeClient> {
  const { base, workspace } = await place();
  const [ours, theirs, hangUp] = channelPair();
  const agent = new NativeAgent(theirs, {
    models: modelsFrom(modelConfigFrom(environment), prices),
    commands: new SystemCommands(commandEnvironment(environment)),
  });
  const peer = new Peer(ours, {
    request: async () => ALLOWED,
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
