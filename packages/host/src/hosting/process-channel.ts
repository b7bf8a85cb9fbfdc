import type { Channel } from "../acp/channel.ts";
import { CODE, RpcError } from "../acp/rpc-error.ts";
import type { AgentProcess, Exit } from "../process/agent-process.ts";

/** The way to an agent's process. When it ends, whatever waits for it learns how, and what it complained of. */
export function processChannel(process: AgentProcess): Channel {
  return {
    send: (message) => process.send(message),
    onMessage: (listener) => process.onMessage(listener),
    closed: process.exited.then((exit) => endOf(process.label, exit)),
  };
}

function endOf(label: string, { code, signal, stderr }: Exit): RpcError {
  const how = signal ? `was ended by ${signal}` : `ended with code ${code}`;
  const said = (stderr.tail || stderr.head).trim().split("\n").at(-1);
  const message = `${label} ${how}${said ? `: ${said}` : ""}`;
  return new RpcError(CODE.internal, message, { exit_code: code, signal, stderr });
}
