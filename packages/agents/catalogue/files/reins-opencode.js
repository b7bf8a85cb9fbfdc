// The plugin of OpenCode by which it asks the hook of Reins, whose place and flags stand above, before each tool call and
// each prompt. What the hook does not allow is not done: the plugin throws, and OpenCode gives the reason to the model.
import { spawn } from "node:child_process";

const CANNOT = `Blocked: the hook of Reins cannot run. See reins hooks status ${reins.agent}`;
/** The sessions of sub-agents: the session that the person began, and who the sub-agent is. */
const children = new Map();
/** The calls that were allowed, until they end. */
const allowed = new Set();
/** Reports go one after the other, and before what is decided next. */
let reported = Promise.resolve();

/** Runs the hook for an event, and gives what it prints; rejects where it cannot run. */
function hook(event, ...flags) {
  const { promise, resolve, reject } = Promise.withResolvers();
  const child = spawn(reins.node, [reins.program, reins.agent, ...reins.flags, ...flags], {
    env: { PATH: process.env.PATH ?? "" },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"])
    child[name].setEncoding("utf8").on("data", (text) => {
      output[name] += text;
    });
  child.stdin.on("error", () => {});
  child.on("error", () => reject(new Error(CANNOT)));
  child.on("close", (code) =>
    code === 0
      ? resolve(output.stdout.trim())
      : reject(new Error(code === 2 ? output.stderr.trim() : CANNOT)),
  );
  child.stdin.end(JSON.stringify(event));
  return promise;
}

export const Reins = async ({ directory }) => {
  /** The members that every event of a session has. */
  const from = (sessionID) => {
    const { root = sessionID, id, type } = children.get(sessionID) ?? {};
    return { session_id: root, cwd: directory, ...(id !== undefined && { agent_id: id, agent_type: type }) };
  };
  const report = (sessionID, hook_event_name, members = {}) => {
    const event = { ...from(sessionID), hook_event_name, ...members };
    reported = reported.then(() => hook(event)).catch(() => {});
    return reported;
  };
  const decide = async (sessionID, hook_event_name, members) => {
    await reported;
    const said = await hook({ ...from(sessionID), hook_event_name, ...members }, "--decide");
    return said === "" ? undefined : JSON.parse(said);
  };
  return {
    async "tool.execute.before"({ tool, sessionID, callID }, output) {
      const call = { tool_name: tool, tool_input: output.args, tool_use_id: callID };
      const said = await decide(sessionID, "PreToolUse", call);
      // The hook says nothing where it leaves a read to OpenCode.
      if (said === undefined && reins.flags.includes("--reads")) return;
      const { permissionDecision, permissionDecisionReason, updatedInput } = said?.hookSpecificOutput ?? {};
      if (permissionDecision !== "allow") throw new Error(permissionDecisionReason ?? CANNOT);
      allowed.add(callID);
      if (updatedInput === undefined) return;
      for (const name of Object.keys(output.args)) delete output.args[name];
      Object.assign(output.args, updatedInput);
    },
    async "tool.execute.after"({ tool, sessionID, callID, args }, { output }) {
      allowed.delete(callID);
      const call = { tool_name: tool, tool_input: args, tool_use_id: callID };
      await report(sessionID, "PostToolUse", { ...call, tool_response: output });
    },
    async "chat.message"({ sessionID }, { parts }) {
      // The prompt of a sub-agent was decided as the call that begins it.
      if (children.has(sessionID)) return;
      const texts = parts.flatMap((part) => (part.type === "text" && !part.synthetic ? [part.text] : []));
      const files = parts.flatMap((part) =>
        part.type === "file" ? [`@"${part.source?.path ?? part.url}"`] : [],
      );
      const said = await decide(sessionID, "UserPromptSubmit", { prompt: [...texts, ...files].join("\n") });
      if (said?.decision === "block") throw new Error(said.reason);
    },
    async event({ event: { type, properties } }) {
      const { sessionID, info, part } = properties ?? {};
      if (type === "session.created" && info?.parentID) {
        const root = children.get(info.parentID)?.root ?? info.parentID;
        children.set(info.id, { root, id: info.id, type: info.agent ?? "" });
        await report(info.id, "SubagentStart");
      } else if (type === "session.created" && info) await report(info.id, "SessionStart");
      else if (type === "session.idle")
        await report(sessionID, children.has(sessionID) ? "SubagentStop" : "Stop");
      else if (type === "session.deleted" && info && !children.has(info.id))
        await report(info.id, "SessionEnd");
      else if (
        type === "message.part.updated" &&
        part?.state?.status === "error" &&
        allowed.delete(part.callID)
      ) {
        const call = { tool_name: part.tool, tool_input: part.state.input, tool_use_id: part.callID };
        await report(part.sessionID, "PostToolUseFailure", { ...call, error: part.state.error });
      }
    },
  };
};
