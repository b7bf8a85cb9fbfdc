// The hook of an agent in a terminal: reads one event of the agent on standard input, has the running Reins decide it by
// AHP over its socket, and answers in the agent's own form. Copied to <home>/hooks by `reins hooks install`, so it depends
// on nothing but Node. What Reins has not allowed is blocked: no server, no answer in time, or an answer that is none.
import { connect } from "node:net";

const PROTOCOL = "2.4";
const MAX_INPUT = 16 * 1024 * 1024;
/** What one message to Reins may take, with room for the envelope. */
const MAX_ARGUMENTS = 1_900_000;
const MAX_REPORTED = 32_000;
const POLL_MS = 250;
const ANSWER_MS = 30_000;
/** How long after its deadline the hook still waits for an answer: less than after which the agent goes on without it. */
const LAST_MS = 5_000;

const [agent = "", ...flags] = process.argv.slice(2);
const flag = (name, usual) => (flags.includes(name) ? flags[flags.indexOf(name) + 1] : usual);
const home = flag("--home", "");
const reads = flag("--reads", "block");
const deadline = performance.now() + 1_000 * Number(flag("--wait", "45"));
const START = `Start Reins (reins up${process.env.REINS_HOME === home ? "" : ` --home ${home}`}) and try again`;

/** The events of all agents, as AHP has them; those without a row are none of Reins's. */
const EVENTS = {
  PreToolUse: "pre_action",
  BeforeTool: "pre_action",
  PostToolUse: "post_action",
  PostToolUseFailure: "post_action",
  AfterTool: "post_action",
  UserPromptSubmit: "pre_prompt",
  BeforeAgent: "pre_prompt",
  Stop: "post_response",
  AfterAgent: "post_response",
  SubagentStart: "heartbeat",
  SubagentStop: "heartbeat",
  SessionStart: "session_start",
  SessionEnd: "session_end",
  preToolUse: "pre_action",
  postToolUse: "post_action",
  postToolUseFailure: "post_action",
  agentStop: "post_response",
  subagentStart: "heartbeat",
  subagentStop: "heartbeat",
  sessionStart: "session_start",
  sessionEnd: "session_end",
};

/** Tools that only read, by agent: with `--reads allow` the agent's own gate decides about them while Reins is away. */
const READ_ONLY = {
  claude: ["Read", "Glob", "Grep", "LS", "NotebookRead", "TodoWrite"],
  codex: [],
  copilot: ["view", "grep", "glob", "rg"],
  gemini: ["read_file", "read_many_files", "list_directory", "glob", "grep_search", "search_file_content"],
  opencode: ["read", "list", "glob", "grep"],
  qwen: ["read_file", "read_many_files", "list_directory", "glob", "grep_search", "search_file_content"],
};

/** Agents that take other arguments from a hook in place of their own. */
const MODIFIES = new Set(["claude", "copilot", "opencode", "qwen"]);

/** Says no in the agent's own form. */
class Refusal extends Error {}
/** Reins cannot be reached, or did not say anything that counts. */
class Unreachable extends Refusal {}

/** Numbers stay as they are written, in both directions, so that what is decided is what is done. */
const exact = (_, value, { source }) =>
  typeof value === "number" && String(value) !== source ? JSON.rawJSON(source) : value;
const text = (value) => (typeof value === "string" ? value : "");
const cut = (value) => {
  const whole = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return whole.length > MAX_REPORTED ? `${whole.slice(0, MAX_REPORTED)} [cut]`.toWellFormed() : whole;
};

async function readInput() {
  const chunks = [];
  let size = 0;
  for await (const chunk of process.stdin) {
    size += chunk.length;
    if (size > MAX_INPUT) throw new Refusal("the agent's hook sent more than Reins takes");
    chunks.push(chunk);
  }
  const input = JSON.parse(Buffer.concat(chunks).toString("utf8"), exact);
  if (typeof input !== "object" || input === null) throw new Refusal("the agent's hook sent no object");
  return input;
}

/**
 * An event of Copilot in the words of the other agents, which it uses for some itself. In its own it does not say which
 * event it is, so its settings do.
 */
function renamed({ sessionId, toolName, toolArgs, toolResult, agentId, agentType, parentAgentId, ...input }) {
  if (input.hook_event_name !== undefined) return input;
  return {
    ...input,
    hook_event_name: flag("--event", ""),
    session_id: sessionId,
    tool_name: toolName,
    tool_input: typeof toolArgs === "string" ? JSON.parse(toolArgs, exact) : toolArgs,
    tool_response: toolResult?.textResultForLlm ?? toolResult,
    last_assistant_message: input.response,
    agent_id: agentId,
    agent_type: agentType,
    parent_agent_id: parentAgentId,
  };
}

/** What a call is, for an agent that gives its calls no names. */
const digestOf = (tool, given) =>
  process.getBuiltinModule("node:crypto").hash("sha256", JSON.stringify([tool, given ?? {}]));

/** The event of AHP that an event of the agent stands for. */
function eventOf(input, type) {
  const { cwd, tool_name: tool, tool_input: given, tool_use_id: call, agent_id: child } = input;
  const { CLAUDE_PROJECT_DIR, GEMINI_PROJECT_DIR, QWEN_PROJECT_DIR } = process.env;
  // A sub-agent of Copilot has a session of its own, named after it.
  const session = text(input.parent_agent_id ?? input.session_id);
  if (session === "") throw new Refusal("the agent's hook names no session");
  const root = { claude: CLAUDE_PROJECT_DIR, gemini: GEMINI_PROJECT_DIR, qwen: QWEN_PROJECT_DIR }[agent];
  const failed = /Failure$/.test(input.hook_event_name) || Boolean(input.tool_response?.error);
  const payloads = {
    pre_action: () => ({ tool_name: text(tool), arguments: given ?? {} }),
    post_action: () => ({
      tool_name: text(tool),
      result: { success: !failed, output: cut(input.tool_response ?? input.error) },
    }),
    pre_prompt: () => ({ prompt: text(input.prompt) }),
    heartbeat: () => (input.last_assistant_message ? { response: cut(input.last_assistant_message) } : {}),
    post_response: () => ({ response: cut(input.last_assistant_message ?? input.prompt_response) }),
  };
  return {
    event_type: type,
    session_id: `${agent}-${session}`,
    agent_id: agent,
    timestamp: new Date().toISOString(),
    depth: child === undefined ? 0 : 1,
    payload: payloads[type]?.() ?? {},
    metadata: {
      hook: {
        event: input.hook_event_name,
        cwd: text(cwd) || process.cwd(),
        root: root || text(cwd) || process.cwd(),
        ...(typeof call === "string"
          ? { call }
          : type.endsWith("_action") && { digest: digestOf(tool, given) }),
        ...(typeof input.prompt_id === "string" && { prompt: input.prompt_id }),
        ...(child !== undefined && { subagent: text(child), subagent_type: text(input.agent_type) }),
      },
    },
  };
}

/** One connection to Reins. Requests are answered in any order; every one within its time, or none is. */
function dial() {
  const socket = connect(`${home}/ahp.sock`);
  const waiting = new Map();
  let rest = "";
  let count = 0;
  const fail = (why) => {
    for (const { reject } of waiting.values()) reject(new Unreachable(why));
    waiting.clear();
    socket.destroy();
  };
  socket.setEncoding("utf8");
  socket.on("data", (chunk) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      let message;
      try {
        message = JSON.parse(line, exact);
      } catch {
        return fail("Reins sent something that is no message");
      }
      const { resolve, reject } = waiting.get(message?.id) ?? {};
      waiting.delete(message?.id);
      if (message?.error) reject?.(new Refusal(text(message.error.message) || "Reins refused the event"));
      else resolve?.(message?.result);
    }
  });
  socket.on("error", (error) => fail(`Reins does not answer on its socket (${error.code ?? error.message})`));
  socket.on("close", () => fail("Reins closed the connection without an answer"));
  return {
    request(method, params) {
      const { promise, resolve, reject } = Promise.withResolvers();
      const id = String(++count);
      const left = Math.max(POLL_MS, deadline + LAST_MS - performance.now());
      const timer = setTimeout(() => fail("Reins did not answer in time"), Math.min(ANSWER_MS, left));
      promise.catch(() => {}).finally(() => clearTimeout(timer));
      waiting.set(id, { resolve, reject });
      if (socket.destroyed) fail("Reins closed the connection without an answer");
      else socket.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
      return promise;
    },
    close: () => socket.destroy(),
  };
}

/** Sends one request after a handshake, which goes with it: an answer of another protocol counts for nothing. */
async function ask(method, params, { session_id, agent_id }) {
  const connection = dial();
  try {
    const agent_info = { framework: "reins-hook", version: PROTOCOL, capabilities: [] };
    const hello = { protocol_version: PROTOCOL, agent_info, session_id, agent_id };
    const greeted = connection.request("ahp/handshake", hello);
    const answered = connection.request(method, params);
    const { protocol_version: version, harness_info: by } = (await greeted) ?? {};
    if (by?.name !== "reins" || text(version).split(".")[0] !== PROTOCOL.split(".")[0])
      throw new Unreachable(
        `what answers on ${home}/ahp.sock is no Reins of this version; reinstall the hooks`,
      );
    return await answered;
  } finally {
    connection.close();
  }
}

const SHELL = /^\d+ \((?:a|ba|da|k|z)?sh\) \S (\d+) /;

/** Who started this hook, and where that is a shell, who started the shell: it changes when the agent is gone. */
function startedBy() {
  let agent = "";
  try {
    const { readFileSync } = process.getBuiltinModule("node:fs");
    [, agent = ""] = SHELL.exec(readFileSync(`/proc/${process.ppid}/stat`, "latin1")) ?? [];
  } catch {
    // Not shown here, or the shell is gone, and so its number has changed.
  }
  return `${process.ppid} ${agent}`;
}

const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** What Reins decides, after a person has answered where a rule asks. */
async function decide(event) {
  for (;;) {
    const decided = await ask("ahp/event", event, event);
    if (decided?.decision === "allow") return decided;
    if (decided?.decision === "modify" && decided.modified_payload !== undefined) {
      if (event.event_type === "pre_action" && MODIFIES.has(agent)) return decided;
      throw new Refusal(
        `a rule would change it, which this hook cannot do (${text(decided.metadata?.reason)})`,
      );
    }
    if (decided?.decision === "escalate") await answered(event, decided);
    else if (decided?.decision === "defer") {
      const ms = Math.max(POLL_MS, Number(decided.retry_after_ms) || 0);
      if (performance.now() + ms > deadline) throw new Refusal(`${text(decided.reason)}; try again later`);
      await rest(ms);
    } else throw new Refusal(text(decided?.reason) || "Reins gave no decision that counts");
  }
}

/** Waits until an approval is answered, also by a Reins that was restarted meanwhile; then the same event is sent again. */
async function answered(event, { reason, escalation_target: target }) {
  const id = text(target).replace("approval:", "");
  if (id === "") throw new Refusal(text(reason) || "a person has to decide, and none can be asked");
  const { session_id, agent_id } = event;
  const question = { session_id, agent_id, query_type: "approval", payload: { approval: id } };
  const by = startedBy();
  while (performance.now() + POLL_MS < deadline) {
    await rest(POLL_MS);
    // An approval is left to an agent that is there to make use of it.
    if (startedBy() !== by) throw new Refusal(`${text(reason)}, and the agent that asked is gone`);
    const { answer } = (await ask("ahp/query", question, event).catch(unlessGone)) ?? {};
    if (answer === undefined || answer?.state === "pending") continue;
    if (answer?.state === "approved") return;
    const note = text(answer?.note);
    throw new Refusal(
      `${text(reason)}: a person said no, or the question has expired${note && ` (${note})`}`,
    );
  }
  const how = `reins approvals approve ${id}`;
  throw new Refusal(
    `${text(reason)}. No person answered in time; the approval stays open: answer it (${how}), then try again`,
  );
}

function unlessGone(error) {
  if (!(error instanceof Unreachable)) throw error;
}

/** Answers in the form of the agent. Anything but exit code 0 with such an answer blocks, by the command in its settings. */
function answer(name, type, verdict, reason) {
  if (type === "pre_prompt") return verdict.decision === "allow" ? undefined : { decision: "block", reason };
  if (agent === "gemini")
    return verdict.decision === "allow" ? { decision: "allow" } : { decision: "deny", reason };
  const permissionDecision = verdict.decision === "block" ? "deny" : "allow";
  if (agent === "copilot") {
    const modifiedArgs = verdict.decision === "modify" ? verdict.modified_payload : undefined;
    return { permissionDecision, permissionDecisionReason: reason, modifiedArgs };
  }
  const updated = verdict.decision === "modify" && { updatedInput: verdict.modified_payload };
  const output = { hookEventName: name, permissionDecision, permissionDecisionReason: reason, ...updated };
  return { hookSpecificOutput: output };
}

async function main() {
  const read = await readInput();
  const input = agent === "copilot" ? renamed(read) : read;
  const name = text(input.hook_event_name);
  const type = EVENTS[name];
  const isDecided = type === "pre_action" || type === "pre_prompt";
  if (!isDecided && flags.includes("--decide")) throw new Refusal(`the hook does not know the event ${name}`);
  if (type === undefined) return undefined;
  // The prompt of a sub-agent was decided as the call that begins it, and its end is reported as that of the sub-agent.
  if (input.parent_agent_id !== undefined && (type === "pre_prompt" || type === "post_response"))
    return undefined;
  try {
    const event = eventOf(input, type);
    if (isDecided && JSON.stringify(event).length > MAX_ARGUMENTS)
      throw new Refusal("it is too large to be decided: send less at once");
    if (!isDecided) return void (await ask("ahp/batch", { events: [event] }, event));
    const verdict = await decide(event);
    return answer(name, type, verdict, `Reins: ${text(verdict.metadata?.reason) || "allowed"}`);
  } catch (error) {
    if (!isDecided) return undefined;
    const isAway = error instanceof Unreachable;
    const isRead = type === "pre_prompt" || READ_ONLY[agent]?.includes(input.tool_name);
    if (isAway && reads === "allow" && isRead) return undefined;
    const why = error instanceof Refusal ? error.message : `the hook failed (${error?.message})`;
    return answer(name, type, { decision: "block" }, `Blocked by Reins: ${why}${isAway ? `. ${START}` : ""}`);
  }
}

main().then(
  (output) => {
    if (output !== undefined) process.stdout.write(`${JSON.stringify(output)}\n`);
  },
  (error) => {
    process.stderr.write(`Blocked by Reins: ${error?.message}\n`);
    process.exitCode = 2;
  },
);
