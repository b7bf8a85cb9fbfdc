// The watchdog's thread: detects stalls of the main thread and writes reports without it.
import { appendFileSync, rmSync, statSync, writeSync } from "node:fs";
import { Session } from "node:inspector";
import { parentPort, workerData } from "node:worker_threads";
import type { StallReport, WatchdogData } from "./watchdog.ts";

const { beat, limitMs, file }: WatchdogData = workerData;
const beats = new BigInt64Array(beat);
const LOOK_MS = 250;
/** The timeout for a stack of the main thread; native code gives none. */
const CAPTURE_MS = 2_000;
const MOST_FRAMES = 20;
const MAX_FILE_BYTES = 1024 * 1024;
const STDERR = 2;

let looked = Date.now();
let stalledSince: number | undefined;

setInterval(() => {
  const now = Date.now();
  const slept = now - looked > limitMs;
  looked = now;
  const last = Number(Atomics.load(beats, 0));
  // After a suspend, or when this thread was not scheduled either, a late beat means nothing.
  if (slept) return;
  if (stalledSince === undefined && now - last >= limitMs) {
    stalledSince = last;
    void capture().then((where) => report({ kind: "stalled", at: iso(last), ms: Date.now() - last, where }));
  } else if (stalledSince !== undefined && last > stalledSince) {
    report({ kind: "over", at: iso(stalledSince), ms: last - stalledSince, where: [] });
    stalledSince = undefined;
  }
}, LOOK_MS);

/** The stack of the main thread, innermost first; empty in native code. */
function capture(): Promise<readonly string[]> {
  const { promise, resolve } = Promise.withResolvers<readonly string[]>();
  const scripts = new Map<string, string>();
  const session = new Session();
  const timer = setTimeout(() => resolve([]), CAPTURE_MS);
  try {
    session.connectToMainThread();
    session.on("Debugger.scriptParsed", ({ params }) => void scripts.set(params.scriptId, params.url));
    session.on("Debugger.paused", ({ params }) => {
      session.post("Debugger.resume");
      const frames = params.callFrames.slice(0, MOST_FRAMES).map(({ functionName, location }) => {
        const { scriptId, lineNumber, columnNumber = 0 } = location;
        return `${functionName || "(anonymous)"} (${scripts.get(scriptId) ?? "unknown"}:${lineNumber + 1}:${columnNumber + 1})`;
      });
      resolve(frames);
    });
    session.post("Debugger.enable");
    session.post("Debugger.pause");
  } catch {
    resolve([]);
  }
  return promise.finally(() => {
    clearTimeout(timer);
    session.post("Debugger.resume", () => undefined);
    session.post("Debugger.disable", () => session.disconnect());
  });
}

/** Writes a report to standard error and the file, and sends it to the main thread. */
function report(stall: StallReport): void {
  const msg = stall.kind === "stalled" ? "the main thread stalls" : "the main thread continues";
  const line = `${JSON.stringify({ level: stall.kind === "stalled" ? "error" : "warn", ...stall, msg })}\n`;
  try {
    writeSync(STDERR, line);
  } catch {
    // Standard error may be closed; the file has the report.
  }
  try {
    if (file !== undefined) keep(file, line);
  } catch {
    // The disk may be full; standard error has the report.
  }
  parentPort?.postMessage(stall);
}

function keep(path: string, line: string): void {
  const { size = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {};
  if (size > MAX_FILE_BYTES) rmSync(path);
  appendFileSync(path, line, { mode: 0o600 });
}

function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
