import { Worker } from "node:worker_threads";
import type { ConstitutionText, PolicyFault } from "../constitution/load.ts";
import type { TestOutcome } from "../constitution/run-tests.ts";
import type { PolicyHashes } from "../decision/verdict.ts";
import type { BacktestReport, CoverageReport } from "./backtest.ts";

/** What a thread is started to find out about a draft. */
export type StudyJob =
  | {
      readonly kind: "check";
      readonly text: ConstitutionText;
      /** The rules in force, that the draft is compared with. */
      readonly inForce: string | undefined;
    }
  | {
      readonly kind: "backtest";
      readonly text: ConstitutionText;
      readonly tenant: string;
      /** The rules that were in force. */
      readonly known: readonly string[];
      readonly examples: number | undefined;
    }
  | { readonly kind: "coverage"; readonly text: ConstitutionText; readonly tenant: string };

/** What is said to a thread that holds a draft against the past. */
export type StudyMessage =
  | {
      readonly kind: "add";
      /** Payloads as JSON, because numbers with more digits than JavaScript holds do not pass between threads. */
      readonly verdicts: readonly { readonly cid: string; readonly payload: string }[];
    }
  | { readonly kind: "report" };

/** What there is to say about a draft, as plain data. */
export interface CheckedDraft {
  readonly faults: readonly PolicyFault[];
  readonly remarks: readonly PolicyFault[];
  readonly tests: readonly TestOutcome[];
  /** Of the policy that it makes, if it makes one. */
  readonly made:
    | {
        readonly hashes: PolicyHashes;
        readonly rules: number;
        readonly limits: number;
        /** Whether it can be seen to let nothing more through than what is in force. */
        readonly noLooser: boolean | undefined;
      }
    | undefined;
}

/** Where the code of the thread is, whether it runs from source or was built. */
const CODE = import.meta.url.endsWith(".ts")
  ? new URL("./study-thread.ts", import.meta.url)
  : new URL("./study-thread.js", import.meta.url);

const HEAP_MB = 512;

/** A draft took longer than it may, and the thread that studied it was ended. */
export class StudyTimeout extends Error {
  override readonly name = "StudyTimeout";
}

/** How a draft is studied. */
export interface StudyOptions {
  /** How long it may take, in milliseconds; then the thread is ended. */
  readonly deadlineMs: number;
}

type Verdicts = AsyncIterable<{ readonly cid: string; readonly payload: unknown }>;

/** Checks and tests a draft in a thread of its own. */
export function checkDraft(
  text: ConstitutionText,
  inForce: string | undefined,
  options: StudyOptions,
): Promise<CheckedDraft> {
  return inThread({ kind: "check", text, inForce }, undefined, options);
}

/** Holds a draft against verdicts of the past in a thread of its own. */
export function backtestDraft(
  job: Omit<StudyJob & { kind: "backtest" }, "kind">,
  past: Verdicts,
  options: StudyOptions,
): Promise<BacktestReport> {
  return inThread({ kind: "backtest", ...job }, past, options);
}

/** Finds out in a thread of its own what of the past a draft names. */
export function coverDraft(
  job: Omit<StudyJob & { kind: "coverage" }, "kind">,
  past: Verdicts,
  options: StudyOptions,
): Promise<CoverageReport> {
  return inThread({ kind: "coverage", ...job }, past, options);
}

const BATCH = 200;

async function inThread<Answer>(
  job: StudyJob,
  past: Verdicts | undefined,
  { deadlineMs }: StudyOptions,
): Promise<Answer> {
  const worker = new Worker(CODE, {
    workerData: job,
    stdin: false,
    name: `study ${job.kind}`,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
  });
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const seconds = Math.round(deadlineMs / 100) / 10;
  const late = () =>
    reject(new StudyTimeout(`the draft was given up after ${seconds} s; it asks for too much`));
  const timer = setTimeout(late, deadlineMs);
  worker.on("message", resolve);
  worker.on("error", reject);
  worker.on("exit", (code) => reject(new Error(`the thread that studied the draft ended with code ${code}`)));
  // The caller gets the rejection; the feeding below must not reject a second time.
  promise.catch(() => undefined);
  try {
    if (past) await Promise.race([promise, feed(worker, past)]);
    return await promise;
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
}

async function feed(worker: Worker, past: Verdicts): Promise<void> {
  const send = (message: StudyMessage) => worker.postMessage(message);
  let verdicts: { cid: string; payload: string }[] = [];
  for await (const { cid, payload } of past) {
    verdicts.push({ cid, payload: JSON.stringify(payload) });
    if (verdicts.length < BATCH) continue;
    send({ kind: "add", verdicts });
    verdicts = [];
  }
  send({ kind: "add", verdicts });
  send({ kind: "report" });
}
