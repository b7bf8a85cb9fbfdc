// Runs ten agents at once, shows what each does and what they are denied, and cancels all of them after a deadline.
// node examples/sdk-supervisor.ts [agent] [task]; REINS_URL and REINS_TOKEN name the server.
import { connect, InterruptedError, type Session } from "@reins/sdk";

const { REINS_URL: url = "http://127.0.0.1:18789", REINS_TOKEN: token } = process.env;
const [agent, task = "what is in this folder"] = process.argv.slice(2);
const deadline = AbortSignal.timeout(10 * 60_000);

const reins = await connect(url, {
  token,
  // The policy decides what needs a person; of that, nothing is allowed here.
  onPermission: ({ sessionId, call }) => {
    console.log(`${sessionId.slice(0, 8)} denied: ${call.title}`);
    return "deny";
  },
});

/** Runs the task; a turn that was cut off, by a restart of Reins or the end of its agent, is tried once more. */
async function work(session: Session, tries = 2): Promise<string> {
  const name = session.id.slice(0, 8);
  try {
    let calls = 0;
    let said = "";
    for await (const event of session.prompt(task, { signal: deadline })) {
      if (event.type === "text") said += event.text;
      if (event.type === "tool" && event.verdict) calls += 1;
      if (event.type === "end")
        return `${name} ${event.stopReason}: ${calls} verdicts, ${said.length} characters`;
    }
    return `${name} has no end`;
  } catch (error) {
    if (!(error instanceof InterruptedError) || tries <= 1) throw error;
    return work(session, tries - 1);
  }
}

const sessions = await Promise.all(Array.from({ length: 10 }, () => reins.sessions.create({ agent })));
const outcomes = await Promise.allSettled(sessions.map((session) => work(session)));
for (const outcome of outcomes)
  console.log(outcome.status === "fulfilled" ? outcome.value : `failed: ${outcome.reason}`);
await Promise.all(sessions.map((session) => session.close()));
await reins.close();
process.exitCode = outcomes.every(({ status }) => status === "fulfilled") ? 0 : 1;
