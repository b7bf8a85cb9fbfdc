import { parentPort, workerData } from "node:worker_threads";
import { readJson, spelledNumber } from "@reins/kit";
import { isNoLooser } from "../constitution/difference.ts";
import { Policy } from "../decision/policy.ts";
import { Backtest, Coverage } from "./backtest.ts";
import { checkConstitution, readPolicy } from "./check.ts";
import type { CheckedDraft, StudyJob, StudyMessage } from "./study-port.ts";

// The code of a thread that studies one draft. Whatever the draft makes it do, the main thread goes on, and may end it.
const job: StudyJob = workerData;
/** Arguments may be nested as deep as a message, and a payload has levels around them. */
const DEEPEST_PAYLOAD = 1_024;
const port = parentPort;
if (!port) throw new Error("a study is started as a thread");

const reply = (value: unknown) => port.postMessage(value);

if (job.kind === "check") reply(await check(job));
else {
  const trial = trialOf(job);
  port.on("message", (message: StudyMessage) => {
    if (message.kind === "add")
      for (const { cid, payload } of message.verdicts)
        trial.add(cid, readJson(payload, spelledNumber, DEEPEST_PAYLOAD).value);
    else reply(trial.report());
  });
}

async function check({ text, inForce }: StudyJob & { kind: "check" }): Promise<CheckedDraft> {
  const { policy, faults, remarks, tests } = await checkConstitution(text);
  const before = inForce === undefined ? undefined : readPolicy({ ...text, rules: inForce }).policy;
  return {
    faults,
    remarks,
    tests,
    made: policy && {
      hashes: policy.hashes,
      rules: policy.rules.length,
      limits: policy.limits.length,
      noLooser: before && isNoLooser(policy.file, before.file),
    },
  };
}

function trialOf({ text, tenant, ...rest }: Exclude<StudyJob, { kind: "check" }>): Backtest | Coverage {
  const { policy } = readPolicy(text);
  if (!(policy instanceof Policy)) throw new Error("the draft cannot be read");
  if (rest.kind === "coverage") return new Coverage(policy, { tenant });
  const known = rest.known.flatMap((rules) => readPolicy({ ...text, rules }).policy ?? []);
  return new Backtest(policy, {
    tenant,
    known,
    ...(rest.examples !== undefined && { examples: rest.examples }),
  });
}
