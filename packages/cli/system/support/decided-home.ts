import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KeyFolder, Ledger, ledgerTables } from "@reins/ledger";
import { openSqlite } from "@reins/store";
import { type ControlEvent, type Decided, Harness, harnessTables } from "@reins/supervisor";
import { onTestFinished } from "vitest";

/** Who asks, where it differs from the usual. */
export interface Asking {
  readonly agent?: string;
  readonly session?: string;
  readonly event_type?: ControlEvent["event_type"];
}

/** A home in which a real supervisor decides, and goes on holding it open. */
export interface DecidedHome {
  readonly home: string;
  /** The folder that the sessions work in. */
  readonly workspace: string;
  readonly harness: Harness;
  /** Asks for a verdict on a call of a tool. */
  decide(tool_name: string, args?: unknown, asking?: Asking): Promise<Decided>;
  /** Writes down what is not yet. */
  settle(): Promise<void>;
}

const ROSTER = '{"session_id":"native","kind":"agent","state":"live"}\n';

/** Opens a home with these rules. It is let go of when the test is over. */
export async function openDecidedHome(rules: string): Promise<DecidedHome> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "reins-decided-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const [home, project] = [join(folder, "home"), join(folder, "project")];
  for (const path of [home, project]) await mkdir(path);
  await writeFile(join(home, "constitution.yaml"), rules);
  await writeFile(join(home, "constitution.md"), "be kind");
  await writeFile(join(home, "agent-roster.jsonl"), ROSTER);
  const store = await openSqlite({ path: join(home, "reins.db"), tables: [ledgerTables, ...harnessTables] });
  onTestFinished(() => store.close());
  const ledger = await Ledger.open({
    store,
    signers: new KeyFolder(join(home, "keys")),
    newOrigin: () => "reins/test",
  });
  const harness = await Harness.open({ home, userHome: folder, store, ledger });
  onTestFinished(() => harness.close());
  return {
    home,
    workspace: project,
    harness,
    decide(tool_name, args = {}, { agent = "native", session = "s1", event_type = "pre_action" } = {}) {
      const { identity } = harness;
      const subject = identity.subjectFor({
        principal: identity.local(),
        agent,
        session,
        enforcement: "asked",
      });
      const payload = { tool_name, arguments: args };
      const event = { event_type, session_id: session, agent_id: agent, depth: 0, payload };
      return harness.supervisor.decide(event, subject, { workspace: { cwd: project, roots: [project] } });
    },
    settle: () => harness.supervisor.close(),
  };
}
