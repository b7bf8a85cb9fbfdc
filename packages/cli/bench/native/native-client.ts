import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { channelPair, type JsonObject, membersOf, Peer } from "@reins/acp";
import { NativeAgent } from "@reins/agent";
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
  readonly workspace: string;
  /** Where the harness keeps its files; empty where there is none. */
  readonly home: string;
  close(): Promise<void>;
}

/** The native agent behind hub, governor, policy, ledger and store, as `reins up` has it. */
export async function governedClient(): Promise<NativeClient> {
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
    environment: {},
    install: () => Promise.reject(new Error("nothing is installed")),
  });
  const client: NativeClient = {
    workspace,
    home,
    onUpdate: () => undefined,
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
      send: ({ method, params }) => {
        const { sessionId, update } = membersOf(params);
        if (method === "session/update") client.onUpdate(String(sessionId), membersOf(update));
      },
      failed: (error) => {
        throw error;
      },
    },
  });
  return client;
}

/** The native agent by itself, with a client that allows everything. */
export async function bareClient(): Promise<NativeClient> {
  const { base, workspace } = await place();
  const [ours, theirs, hangUp] = channelPair();
  const agent = new NativeAgent(theirs);
  const peer = new Peer(ours, {
    request: async () => ({ outcome: { outcome: "selected", optionId: "allow_once" } }),
    notification: (_, params) => {
      const { sessionId, update } = membersOf(params);
      client.onUpdate(String(sessionId), membersOf(update));
    },
  });
  const client: NativeClient = {
    workspace,
    home: "",
    onUpdate: () => undefined,
    ask: async (method, params) => membersOf(await peer.request(method, params)),
    close: async () => {
      await agent.close();
      hangUp(new Error("the benchmark is over"));
      await rm(base, { recursive: true, force: true });
    },
  };
  return client;
}

async function place() {
  const base = await realpath(await mkdtemp(join(tmpdir(), "native-hub-bench-")));
  const [home, workspace] = [join(base, "home"), join(base, "workspace")];
  await mkdir(home, { mode: 0o700 });
  await mkdir(workspace);
  await writeFile(join(workspace, "README.md"), "# Tea\n\nBrews tea.\n");
  await writeFile(join(workspace, "package.json"), '{"name":"tea","scripts":{"test":"true"}}');
  return { base, home, workspace };
}
