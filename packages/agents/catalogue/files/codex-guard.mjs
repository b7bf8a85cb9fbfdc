// Loaded into codex-acp before its own code. The adapter calls every folder it is opened in a trusted project, which
// makes Codex heed that folder's configuration, command rules, hooks and MCP servers; and in most of its modes Codex
// runs commands unasked inside its own sandbox. Both are corrected here, on the way from the adapter to Codex.
import child from "node:child_process";
import { syncBuiltinESMExports } from "node:module";

const THREADS = new Set(["thread/start", "thread/resume", "thread/fork"]);
const ASKING = { approvalPolicy: "untrusted", approvalsReviewer: "user" };

const { spawn } = child;
child.spawn = (command, args, options) => {
  const started = spawn(command, args, options);
  if (Array.isArray(args) && args.includes("app-server")) guard(started.stdin);
  return started;
};
syncBuiltinESMExports();

function guard(input) {
  const write = input.write.bind(input);
  input.write = (chunk, ...rest) => write(String(chunk).split("\n").map(guardedLine).join("\n"), ...rest);
}

function guardedLine(line) {
  if (line.trim() === "") return line;
  const message = JSON.parse(line);
  if (message.method === "turn/start")
    return JSON.stringify({ ...message, params: { ...message.params, ...ASKING } });
  if (!THREADS.has(message.method)) return line;
  const { config, cwd } = message.params;
  const folders = new Set([...Object.keys(config?.projects ?? {}), ...(cwd ? [cwd] : [])]);
  const projects = Object.fromEntries([...folders].map((folder) => [folder, { trust_level: "untrusted" }]));
  return JSON.stringify({
    ...message,
    params: { ...message.params, ...ASKING, config: { ...config, projects } },
  });
}
