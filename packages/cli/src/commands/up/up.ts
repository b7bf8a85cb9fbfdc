import { AhpServer } from "@reins/ahp";
import { openHome, socketIn } from "../../home.ts";
import { logLevel } from "../../log/level.ts";
import { type Log, openLog } from "../../log/logger.ts";
import { announce } from "../../serving/announce.ts";
import { serveUntilStopped, startAll } from "../../serving/listen.ts";
import { isLoopback, refuseOpenServer } from "../../serving/loopback.ts";
import { serveSocket } from "../../serving/socket.ts";
import { watchForStop } from "../../serving/stop.ts";
import { serveWeb } from "../../serving/web.ts";
import { version } from "../../version.ts";
import { CAPABILITIES } from "./capabilities.ts";
import { NO_POLICY, type Witness, withoutPolicy } from "./no-policy.ts";
import { Recorder } from "./record/recorder.ts";
import { settleUp, type UpFlags, type UpSettings } from "./settings.ts";

/** Serves the agents of this machine until asked to stop. */
export async function up(flags: UpFlags): Promise<void> {
  const settings = settleUp(flags, process.env);
  refuseOpenServer(settings.host, settings.tokens);
  const log = await openLog(process.stdout, logLevel(flags.verbose, process.env));
  const { othersMayWrite } = await openHome(settings.home);
  const stop = watchForStop();
  const recorder = recorderOf(settings, log);
  const opened = await open(settings, recorder, log);
  announce(opened, log);
  recorder.start();
  log.info({ version: version(), home: settings.home }, `reins ${version()} is up; Ctrl-C stops it`);
  warn(settings, othersMayWrite, log);
  await serveUntilStopped(opened, stop, log, recorder);
}

/** The ledger is loaded and opened while this Reins listens already. */
function recorderOf({ home }: UpSettings, log: Log): Recorder {
  const open = async () => {
    const { OpenRecord } = await import("./record/open-record.ts");
    return OpenRecord.open(home, log);
  };
  return new Recorder({ open, log, now: () => performance.now() });
}

/** The socket comes first: it tells whether a Reins runs on this home, whatever port that one has. */
function open({ host, port, home, tokens, allowHosts }: UpSettings, recorder: Recorder, log: Log) {
  const server = new AhpServer(withoutPolicy(recorder, witnessOf(log)), {
    info: { name: "reins", version: version(), capabilities: [...CAPABILITIES] },
    onDropped: (reason, text) => log.debug({ reason, length: text.length }, "dropped a message"),
  });
  const protocols = ["http", "websocket"] as const;
  const place = { host, port, path: "/ahp", protocols, tokens, allowHosts, command: "reins up" };
  return startAll([
    () => serveSocket(server, socketIn(home), alreadyRunning(home)),
    () => serveWeb(server, place),
  ]);
}

function alreadyRunning(home: string) {
  return {
    message: `Reins is already running on ${home}: it answers on ${socketIn(home)}.`,
    next: "Use that one, stop it first, or start this one on another home: reins up --home <folder> --port <port>",
  };
}

function warn({ host, home }: UpSettings, othersMayWrite: boolean, log: Log): void {
  log.warn(NO_POLICY);
  if (!isLoopback(host))
    log.warn("tokens and events travel unencrypted: put a TLS proxy in front of this port");
  if (othersMayWrite) log.warn({ home }, "other users may write to the home folder; run: chmod 700 <home>");
}

function witnessOf(log: Log): Witness {
  return ({ event_type, session_id, agent_id, depth }, decision) => {
    const fields = { event_type, session_id, agent_id, depth, decision };
    if (decision === undefined) log.debug(fields, "noted");
    else log.info(fields, "decided");
  };
}
