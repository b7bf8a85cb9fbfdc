import { homedir } from "node:os";
import { type AhpEvent, AhpServer } from "@reins/ahp";
import {
  type Access,
  agentDialects,
  Gateway,
  HaakDialect,
  hostDialects,
  type OperatorDesk,
} from "@reins/server";
import { readConfiguration } from "../../configuration/configuration.ts";
import { requirePolicyFiles } from "../../configuration/policy-files.ts";
import { errorMessage } from "../../errors.ts";
import { requireFolder } from "../../files.ts";
import { HarnessDoor } from "../../harness/harness-door.ts";
import { HomeStore } from "../../harness/home-store.ts";
import { homeFolder, openHome, operatorSocketIn, socketIn } from "../../home.ts";
import { inspectorFolder, version } from "../../installation.ts";
import { type Log, logLevel, openLog } from "../../log.ts";
import { isLoopback, refuseOpenServer } from "../../serving/address.ts";
import { openAccess, serveGateway, serveOperator } from "../../serving/gateway.ts";
import { greet } from "../../serving/greeting.ts";
import { type Opened, serveUntilStopped, startAll } from "../../serving/listen.ts";
import { operatorDesk } from "../../serving/operator-desk.ts";
import { serveSocket } from "../../serving/socket.ts";
import { outliveFullDisk, watchForStop } from "../../serving/stop.ts";
import { readTls, type TlsPair } from "../../serving/tls.ts";
import { CAPABILITIES } from "./capabilities.ts";
import { placeDatabase } from "./database.ts";
import { ahpHarness, type Witness } from "./harness.ts";
import { settleUp, type UpFlags, type UpSettings } from "./settings.ts";
import { sessionWorkspace, workspaceSource } from "./workspace.ts";

/** Serves the agents of this machine until asked to stop. */
export async function up(flags: UpFlags): Promise<void> {
  const settings = settleUp(flags, process.env, await readConfiguration(homeFolder(flags.home, process.env)));
  refuseOpenServer(settings.host, settings.tokens);
  const log = await openLog(process.stdout, logLevel(flags.verbose, process.env));
  const tls = readTls(settings.tls);
  await openHome(settings.home, (message) => log.warn(message));
  await requirePolicyFiles(settings.policyFiles);
  for (const folder of settings.workspaces) await requireFolder(folder, workspaceSource(flags));
  for (const folder of Object.values(settings.tenants).flat())
    await requireFolder(folder, "A folder under tenants in reins.yaml");
  if (settings.database !== undefined) await placeDatabase(settings.home, settings.database);
  const store = await HomeStore.prepare(settings.home, { acceptLoss: flags.acceptLoss ?? false });
  const giveUp = outliveFullDisk(log);
  try {
    await serve(flags, { settings, log, tls, store });
  } finally {
    await store.close();
    giveUp();
  }
}

async function serve(flags: UpFlags, ready: ReadyHome): Promise<void> {
  const { settings, log, tls, store } = ready;
  const workspace = await sessionWorkspace(settings.home, settings.workspaces, process.cwd());
  const stop = watchForStop();
  const desk = operatorDesk(settings.home, () => door.hosting());
  const door: HarnessDoor = doorTo(settings, { workspace, flags, desk, log, store });
  const access = await openAccess({ home: settings.home, tokens: settings.tokens });
  const opened = await open(settings, { tls, door, desk, access, log });
  const ownToken = settings.tokens.length === 0;
  const mayOpen = flags.open ?? true;
  await greet({ opened, access, home: settings.home, workspace, ownToken, mayOpen, log });
  warn(settings, tls !== undefined, log);
  door.start();
  desk.start();
  await serveUntilStopped(opened, stop, log, door);
}

/** A home that is ready to be served. */
interface ReadyHome {
  readonly settings: UpSettings;
  readonly log: Log;
  readonly tls: TlsPair | undefined;
  readonly store: HomeStore;
}

/** The harness is loaded and opened while this Reins listens already. */
function doorTo({ home, runner }: UpSettings, parts: DoorParts): HarnessDoor {
  const { workspace, flags, desk, log, store } = parts;
  const openStore = () => store.open();
  const open = async (report: (error: unknown) => void) => {
    store.begin();
    const { OpenRunner } = await import("../../hosting/open-runner.ts");
    const parts = { home, log, report, flags, openStore, workspace, settings: runner };
    const losses = { acceptLoss: flags.acceptLoss, losses: () => store.losses };
    const opened = await OpenRunner.open({ ...parts, ...losses, tap: desk.tap });
    desk.attend(opened.harness, opened.hosting);
    return opened;
  };
  return new HarnessDoor({ open, log, now: () => performance.now() });
}

interface DoorParts {
  readonly workspace: string;
  readonly flags: UpFlags;
  readonly desk: OperatorDesk;
  readonly log: Log;
  readonly store: HomeStore;
}

interface ServedParts {
  readonly tls: TlsPair | undefined;
  readonly door: HarnessDoor;
  readonly desk: OperatorDesk;
  readonly access: Access;
  readonly log: Log;
}

/** The sockets come first: they tell whether a Reins runs on this home, whatever port that one has. */
async function open(settings: UpSettings, parts: ServedParts): Promise<Opened[]> {
  const { tls, door, desk, access, log } = parts;
  const { host, port, home, allowHosts, workspaces, auth, native } = settings;
  const workplace = { cwd: workspaces[0] ?? homedir(), roots: workspaces };
  const told = { witness: witnessOf(log), onRefused: refusalOf(log) };
  const handlers = ahpHarness({ harness: door.harness, workplace, native, ...told });
  const server = new AhpServer(desk.tapped(handlers), {
    info: { name: "reins", version: version(), capabilities: [...CAPABILITIES] },
    onDropped: (reason, text) => log.debug({ reason, length: text.length }, "dropped a message"),
  });
  const gateway = await Gateway.create({
    harness: door.harness,
    ahp: server,
    access,
    version: version(),
    log,
    ui: inspectorFolder(),
    workspaceFor: async (principal) => (await door.hosting()).host.folders.defaultFor(principal),
    onAnswered: desk.answered,
    stalls: desk.stalls,
    dialects: [
      ...agentDialects({ harness: door.harness, hosting: door.hosting, log, defaultAgent: "native" }),
      new HaakDialect({ harness: door.harness, runner: door.runner, auth, log }),
      ...hostDialects,
      ...desk.dialects,
    ],
  });
  return startAll([
    () => serveSocket(server, socketIn(home), alreadyRunning(home)),
    () => serveOperator(gateway, operatorSocketIn(home), heldByCommand(home)),
    () => serveGateway(gateway, { host, port, allowHosts, tls, command: "reins up" }),
  ]);
}

function heldByCommand(home: string) {
  return {
    message: `${home} is in use by a command that runs agents in it, such as reins acp of an editor or reins run.`,
    next: "End that first (close the editor's agent), then start Reins; editors that start after it go through it.",
  };
}

function alreadyRunning(home: string) {
  return {
    message: `Reins is already running on ${home}: it answers on ${socketIn(home)}.`,
    next: "Use that one, stop it first, or start this one on another home: reins up --home <folder> --port <port>",
  };
}

function warn({ host, auth }: UpSettings, encrypted: boolean, log: Log): void {
  if (auth === "none") log.warn("whoever is on this machine may come to /ws without a token, as a stranger");
  if (!isLoopback(host) && !encrypted)
    log.warn("tokens and events travel unencrypted: name a certificate, or put a TLS proxy in front");
}

function refusalOf(log: Log): (event: AhpEvent, error: unknown) => void {
  return ({ event_type, session_id, agent_id }, error) =>
    log.warn({ event_type, session_id, agent_id, error: errorMessage(error) }, "not taken");
}

function witnessOf(log: Log): Witness {
  return ({ event_type, session_id, agent_id, depth }, decision) => {
    const fields = { event_type, session_id, agent_id, depth, decision };
    if (decision === undefined) log.debug(fields, "noted");
    else log.info(fields, "decided");
  };
}
